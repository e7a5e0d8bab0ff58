import type { Pushed } from "../api/answers";
import { ask, askJson } from "../api/client";
import type { Operations } from "../api/operations";

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
  return `${file.name}: ${await push(stream, media, file, zipped ? { "Content-Encoding": "gzip" } : {})}`;
}

/** Push a body of events. */
export async function push(stream: string, media: Media, value: string | Blob, headers = {}): Promise<string> {
  const body = { media, value };
  return inWords(await askJson("POST /v1/streams/{name}", { path: { name: stream }, body, headers }));
}

/** Promise that nothing earlier will come. */
export async function advance(stream: string, time: string): Promise<void> {
  const body = { media: "application/json", value: { time } } as const;
  await ask("POST /v1/streams/{name}/advance", { path: { name: stream }, body });
}

function inWords(pushed: Pushed): string {
  const parts = [`${pushed.accepted.toLocaleString("en")} accepted`];
  if (pushed.late > 0) parts.push(`${pushed.late} late`);
  if (pushed.duplicates > 0) parts.push(`${pushed.duplicates} known already`);
  const [first] = pushed.rejected;
  if (first) parts.push(`${pushed.rejected.length} rejected, the first: ${first.reason}`);
  return parts.join(", ");
}
