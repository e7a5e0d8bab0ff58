import type { Term } from "../api/answers";
import type { Names } from "./terms";

const TERM = /<([^>]*)>|_:([^\s]+)|"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?/g;
const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g;
const CHARACTERS: Readonly<Record<string, string>> = { t: "\t", b: "\b", n: "\n", r: "\r", f: "\f" };
const RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/** A triple as terms. */
export type Triple = readonly [Term, Term, Term];

/** The triples of lines of N-Triples; a line that is none is left out. */
export function triples(lines: readonly string[]): Triple[] {
  return lines.flatMap((line) => {
    const [subject, predicate, object] = [...line.matchAll(TERM)].map(term);
    return subject && predicate && object ? [[subject, predicate, object] as const] : [];
  });
}

/** Lines of N-Triples as Turtle: a subject once, short names. */
export function turtle(lines: readonly string[], names: Names): string {
  const found = new Map<string, string[]>();
  for (const [subject, predicate, object] of triples(lines)) {
    const said = predicate.value === RDF_TYPE ? "a" : names.term(predicate);
    const key = names.term(subject);
    found.set(key, [...(found.get(key) ?? []), `${said} ${names.term(object)}`]);
  }
  return [...found].map(([subject, parts]) => `${subject} ${parts.join(" ;\n    ")} .`).join("\n");
}

function term(found: RegExpMatchArray): Term {
  const [, iri, blank, text, language, datatype] = found;
  if (iri !== undefined) return { type: "uri", value: unescaped(iri) };
  if (blank !== undefined) return { type: "bnode", value: blank };
  const literal: Term = { type: "literal", value: unescaped(text ?? "") };
  if (language !== undefined) literal["xml:lang"] = language;
  if (datatype !== undefined) literal.datatype = unescaped(datatype);
  return literal;
}

function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, four?: string, eight?: string, character = "") => {
    const code = four ?? eight;
    return code === undefined ? (CHARACTERS[character] ?? character) : String.fromCodePoint(parseInt(code, 16));
  });
}
