import type { Pushed } from "../api/answers";
import { ask, askJson } from "../api/client";
import type { Operations } from "../api/operations";
import { pieces } from "./pieces";

type Media = keyof Operations["POST /v1/streams/{name}"]["body"];

const MEDIA: Readonly<Record<string, Media>> = {
  nq: "application/n-quads",
  nt: "application/n-triples",
  ttl: "text/turtle",
  trig: "application/trig",
  jsonld: "application/ld+json",
  ndjsonld: "application/x-ndjson-ld",
  ndjson: "application/x-ndjson",
  jelly: "application/x-jelly-rdf",
  csv: "text/csv",
};

/** The suffixes of files that can be pushed. */
export const SUFFIXES = Object.keys(MEDIA).flatMap((suffix) => [`.${suffix}`, `.${suffix}.gz`]);

/** Push the events of a file; says in words what came of it. Throws Refused, and an Error for an unknown suffix. */
export async function pushFile(stream: string, file: File): Promise<string> {
  const words = file.name.toLowerCase().split(".");
  const zipped = words.at(-1) === "gz";
  const media = MEDIA[words.at(zipped ? -2 : -1) ?? ""];
  if (media === undefined) throw new Error(`${file.name}: its suffix is none of ${SUFFIXES.join(" ")}`);
  const headers = zipped ? { "Content-Encoding": "gzip" } : {};
  const found: Pushed[] = [];
  for await (const value of media === "application/n-quads" && !zipped ? pieces(file) : [file]) {
    const body = { media, value };
    found.push(await askJson("POST /v1/streams/{name}", { path: { name: stream }, body, headers }));
  }
  return `${file.name}: ${inWords(found)}`;
}

/** Promise that nothing earlier will come. */
export async function advance(stream: string, time: string): Promise<void> {
  const body = { media: "application/json", value: { time } } as const;
  await ask("POST /v1/streams/{name}/advance", { path: { name: stream }, body });
}

function inWords(pushed: readonly Pushed[]): string {
  const sum = (count: (each: Pushed) => number) => pushed.reduce((total, each) => total + count(each), 0);
  const [late, known, rejected] = [sum((each) => each.late), sum((each) => each.duplicates), sum((each) => each.rejected.length)];
  const first = pushed.flatMap((each) => each.rejected)[0];
  const parts = [`${sum((each) => each.accepted).toLocaleString("en")} accepted`];
  if (late > 0) parts.push(`${late} late`);
  if (known > 0) parts.push(`${known} known already`);
  if (first) parts.push(`${rejected} rejected, the first: ${first.reason}`);
  return parts.join(", ");
}
