import type { Answers, Lines, ProblemDetails, ProblemInText } from "./answers";
import type { Operations } from "./operations";
import { token, tokenWanted } from "./session";

/** An answer that says what is wrong; `status` is 0 where there was none. */
export class Refused extends Error {
  readonly status: number;
  readonly problems: ProblemInText[];
  readonly details: ProblemDetails;

  constructor(status: number, details: ProblemDetails) {
    super(details.detail ?? details.title ?? `status ${status}`);
    this.status = status;
    this.problems = details.problems ?? [];
    this.details = details;
  }
}

type Operation = keyof Operations;
type Body<O extends Operation> = Operations[O]["body"];

/** What a request carries; the types follow from the service's OpenAPI document. */
export interface Request<O extends Operation> {
  path?: Operations[O]["path"];
  query?: Operations[O]["query"];
  body?: { [M in keyof Body<O>]: { media: M; value: Body<O>[M] } }[keyof Body<O>];
  accept?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The answer to a request; throws Refused for every status that is not 2xx, and where the service is away. */
export async function ask<O extends Operation>(operation: O, request: Request<O> = {}): Promise<Response> {
  const [method, template] = operation.split(" ") as [string, string];
  const options: RequestInit = { method, headers: headersOf(request), cache: "no-store" };
  if (request.signal) options.signal = request.signal;
  if (request.body) options.body = encoded(request.body.value);
  const answer = await fetch(address(template, request), options).catch((error: unknown) => {
    if (request.signal?.aborted) throw error;
    throw new Refused(0, { detail: "the service does not answer" });
  });
  if (answer.ok) return answer;
  if (answer.status === 401) tokenWanted.value = true;
  throw new Refused(answer.status, await details(answer));
}

/** The JSON of an answer. */
export async function askJson<O extends keyof Answers>(operation: O, request: Request<O> = {}): Promise<Answers[O]> {
  return (await (await ask(operation, request)).json()) as Answers[O];
}

/** The values of an answer that has one JSON value a line. */
export async function askLines<O extends keyof Lines>(operation: O, request: Request<O> = {}): Promise<Lines[O][]> {
  const answer = await ask(operation, { ...request, accept: "application/x-ndjson" });
  const lines = (await answer.text()).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Lines[O]);
}

function address<O extends Operation>(template: string, request: Request<O>): string {
  const names = (request.path ?? {}) as Record<string, string>;
  const path = template.replace(/{(\w+)}/g, (_, name: string) => encodeURIComponent(names[name] ?? ""));
  const members = Object.entries((request.query ?? {}) as Record<string, string | number | undefined>);
  const given = members.filter(([, value]) => value !== undefined).map(([key, value]) => [key, String(value)]);
  return given.length > 0 ? `${path}?${new URLSearchParams(given as string[][])}` : path;
}

function headersOf<O extends Operation>(request: Request<O>): Record<string, string> {
  const headers: Record<string, string> = { Accept: request.accept ?? "application/json", ...request.headers };
  if (token.value !== null) headers["Authorization"] = `Bearer ${token.value}`;
  if (request.body) headers["Content-Type"] = String(request.body.media);
  return headers;
}

function encoded(value: unknown): string | Blob {
  return typeof value === "string" || value instanceof Blob ? value : JSON.stringify(value);
}

async function details(answer: Response): Promise<ProblemDetails> {
  try {
    return (await answer.json()) as ProblemDetails;
  } catch {
    return { detail: answer.statusText || `status ${answer.status}` };
  }
}

/** What to show of an error. */
export function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
