import type { Term } from "../api/answers";

const PREFIX = /\bPREFIX\s+([A-Za-z][\w.-]*)?:\s*<([^>\s]*)>/gi;
const WELL_KNOWN: readonly [string, string][] = [
  ["http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"],
  ["http://www.w3.org/2000/01/rdf-schema#", "rdfs:"],
  ["http://www.w3.org/2001/XMLSchema#", "xsd:"],
  ["http://www.w3.org/ns/prov#", "prov:"],
  ["http://www.w3.org/ns/sosa/", "sosa:"],
];
const PLAIN_TYPES = new Set(["string", "integer", "decimal", "double", "boolean", "float", "int", "long"]);

/** Short names of IRIs: the prefixes that a query declares, and some that everybody knows. */
export class Names {
  private readonly prefixes: readonly [string, string][];

  constructor(text: string) {
    const declared = [...text.matchAll(PREFIX)].map((found): [string, string] => [found[2] ?? "", `${found[1] ?? ""}:`]);
    this.prefixes = [...declared, ...WELL_KNOWN]
      .filter(([namespace]) => namespace !== "")
      .sort(([one], [other]) => other.length - one.length);
  }

  /** An IRI as a prefixed name where that is possible, else in angle brackets. */
  iri(iri: string): string {
    for (const [namespace, prefix] of this.prefixes) {
      const local = iri.slice(namespace.length);
      if (iri.startsWith(namespace) && /^[\w-]*$/.test(local)) return prefix + local;
    }
    return `<${iri}>`;
  }

  /** A term in the syntax of queries; the datatypes of numbers and strings are left out. */
  term(term: Term): string {
    switch (term.type) {
      case "uri":
        return this.iri(term.value);
      case "bnode":
        return `_:${term.value}`;
      default:
        return this.literal(term);
    }
  }

  private literal(term: Term): string {
    if (term["xml:lang"] !== undefined) return `"${term.value}"@${term["xml:lang"]}`;
    const datatype = term.datatype ?? "http://www.w3.org/2001/XMLSchema#string";
    const local = datatype.startsWith("http://www.w3.org/2001/XMLSchema#") ? datatype.slice(33) : "";
    if (local === "string") return `"${term.value}"`;
    return PLAIN_TYPES.has(local) ? term.value : `"${term.value}"^^${this.iri(datatype)}`;
  }
}

/** The time of day of an xsd:dateTime, with the date where it is told. */
export function clock(time: string | null | undefined): string {
  return (time ?? "").replace("T", " ").replace(/Z$/, "");
}
