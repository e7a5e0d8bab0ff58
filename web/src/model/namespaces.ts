import type { Vocabulary } from "../api/answers";
import { PREFIXES } from "./prefixes";
import { declared } from "./terms";

const SEEN_MAX = 30;
const USUAL = new Map(Object.entries(PREFIXES).map(([prefix, iri]) => [iri, prefix]));

/** A namespace that a text does not declare, with the prefix that it would have there. */
export interface Namespace {
  prefix: string;
  iri: string;
  /** Events, streams or knowledge bases have IRIs of it. */
  seen: boolean;
}

/** The namespaces that have been seen, the most frequent first, then those of well-known vocabularies. */
export function undeclared(text: string, vocabulary: Vocabulary): Namespace[] {
  const known = declared(text);
  const namespaces = new Set(known.map(([iri]) => iri));
  const taken = new Set(known.map(([, prefix]) => prefix));
  const found: Namespace[] = [];
  const add = (iri: string, prefix: string, seen: boolean) => {
    if (namespaces.has(iri)) return;
    namespaces.add(iri);
    taken.add(prefix);
    found.push({ prefix, iri, seen });
  };
  const usual = Object.entries(PREFIXES).filter(([prefix]) => !taken.has(prefix));
  for (const iri of seenIn(vocabulary)) {
    const prefix = USUAL.get(iri);
    add(iri, prefix !== undefined && !taken.has(prefix) ? prefix : free(iri, taken), true);
  }
  for (const [prefix, iri] of usual) if (!taken.has(prefix)) add(iri, prefix, false);
  return found;
}

/** The declaration of a namespace, and where it goes in a text: below those that there are. */
export function declaration(text: string, { prefix, iri }: Namespace): { from: number; insert: string } {
  const last = [...text.matchAll(/^[ \t]*(?:PREFIX\s+[^\s:]*:|BASE)\s*<[^>\s]*>[^\n]*(?:\n|$)/gim)].at(-1);
  const from = last === undefined ? 0 : last.index + last[0].length;
  const begin = last !== undefined && !last[0].endsWith("\n") ? "\n" : "";
  return { from, insert: `${begin}PREFIX ${prefix}: <${iri}>\n` };
}

/** The namespaces of the IRIs that have been seen. */
function seenIn({ properties, classes, resources, graphs, streams }: Vocabulary): string[] {
  const counts = new Map<string, number>();
  for (const iri of [...properties, ...classes, ...resources, ...graphs, ...streams]) {
    const namespace = namespaceOf(iri);
    if (namespace !== null) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one).slice(0, SEEN_MAX).map(([iri]) => iri);
}

/** The part of an IRI before its local name; null where the rest is no name, or nothing but the scheme is before it. */
function namespaceOf(iri: string): string | null {
  const [, namespace] = /^([A-Za-z][\w+.-]*:.*[^/#:][/#:])[\p{L}_][\p{L}\p{N}_-]*$/u.exec(iri) ?? [];
  return namespace ?? null;
}

/** A prefix that the text does not have: the last word of the namespace. */
function free(iri: string, taken: ReadonlySet<string>): string {
  const words = iri.match(/[A-Za-z]+/g) ?? [];
  const word = words.at(-1)?.toLowerCase() ?? "ns";
  for (let number = 1; ; number += 1) {
    const prefix = number === 1 ? word : `${word}${number}`;
    if (!taken.has(prefix) && !(prefix in PREFIXES)) return prefix;
  }
}
