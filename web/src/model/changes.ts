import { ask, askJson } from "../api/client";
import { attempt } from "./notices";
import { select } from "./selection";
import { refresh, streams } from "./service";

/** What a new text begins with: nothing, or the state that the retained events of its windows give. */
export type Since = "now" | "window";

/** A stream that a query text reads. */
export interface DeclaredStream {
  name: string;
  iri: string;
}

const STREAM = /\bFROM\s+STREAM\s+([A-Za-z_]\w*)\s+(?:<([^>\s]*)>|([\w.-]*):([\w.-]*))/gi;
const PREFIX = /\bPREFIX\s+([\w.-]*):\s*<([^>\s]*)>/gi;

/** Register a text, or replace that of a query. Throws Refused. */
export async function putQuery(name: string, text: string, since: Since): Promise<void> {
  const body = { media: "application/x-spaseq", value: text } as const;
  await ask("PUT /v1/queries/{name}", { path: { name }, query: { since }, body });
  await refresh();
}

/** A text in the one format. Throws Refused for one that cannot be read. */
export async function formatted(text: string): Promise<string> {
  const body = { media: "application/x-spaseq", value: text } as const;
  return (await askJson("POST /v1/format", { body })).text;
}

export async function changeState(name: string, change: "pause" | "resume"): Promise<void> {
  await attempt(`${name} is ${change}d`, () => ask(`POST /v1/queries/{name}/${change}`, { path: { name } }));
  await refresh();
}

export async function removeQuery(name: string): Promise<void> {
  if (!confirm(`Delete the query ${name} and its rows?`)) return;
  const done = await attempt(`${name} is deleted`, () => ask("DELETE /v1/queries/{name}", { path: { name } }));
  if (done) select({ kind: "new" });
  await refresh();
}

/** The streams that a text reads and nobody has declared. */
export function undeclared(text: string): DeclaredStream[] {
  const prefixes = new Map([...text.matchAll(PREFIX)].map((found) => [found[1] ?? "", found[2] ?? ""]));
  const known = new Set(streams.value.map((stream) => stream.iri));
  return [...text.matchAll(STREAM)]
    .map(([, name, iri, prefix, local]) => ({
      name: name ?? "",
      iri: iri ?? (prefixes.get(prefix ?? "") ?? "") + (local ?? ""),
    }))
    .filter(({ iri }) => iri !== "" && !known.has(iri));
}

/** Declare streams by the names that the text gives them; a name that is taken gets a number. */
export async function declare(wanted: readonly DeclaredStream[]): Promise<void> {
  const taken = new Set(streams.value.map((stream) => stream.name));
  for (const { name, iri } of wanted) {
    let free = name;
    for (let number = 2; taken.has(free); number += 1) free = `${name}${number}`;
    taken.add(free);
    const body = { media: "application/json", value: { iri } } as const;
    await attempt(`stream ${free} is declared`, () => ask("PUT /v1/streams/{name}", { path: { name: free }, body }));
  }
  await refresh();
}
