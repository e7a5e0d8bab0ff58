import type { Bindings, Term } from "../api/answers";
import { PREFIXES } from "./prefixes";

const PREFIX = /\bPREFIX\s+([A-Za-z][\w.-]*)?:\s*<([^>\s]*)>/gi;
const XSD = "http://www.w3.org/2001/XMLSchema#";
const PLAIN_TYPES = new Set(["string", "integer", "decimal", "double", "boolean", "float", "int", "long"]);

/** The namespaces that a text declares, with their prefixes. */
export function declared(text: string): [string, string][] {
  return [...text.matchAll(PREFIX)].map(([, prefix, iri]): [string, string] => [iri ?? "", prefix ?? ""]);
}

/** Short names of IRIs: the prefixes that a query declares, and others, by default those of well-known vocabularies. */
export class Names {
  private readonly prefixes: readonly [string, string][];

  constructor(text: string, others = Object.entries(PREFIXES).map(([prefix, iri]) => ({ prefix, iri }))) {
    const known = declared(text);
    const taken = new Set(known.map(([, prefix]) => prefix));
    const more = others.filter(({ prefix }) => !taken.has(prefix)).map(({ prefix, iri }) => [iri, prefix] as const);
    this.prefixes = [...known, ...more]
      .filter(([namespace]) => namespace !== "")
      .map(([namespace, prefix]): [string, string] => [namespace, `${prefix}:`])
      .sort(([one], [other]) => other.length - one.length);
  }

  /** An IRI as a prefixed name where that is possible, else in angle brackets. */
  iri(iri: string): string {
    for (const [namespace, prefix] of this.prefixes) {
      const local = iri.slice(namespace.length);
      if (iri.startsWith(namespace) && /^[\p{L}\p{N}_-]*$/u.test(local)) return prefix + local;
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

  /** The term that a text is in the syntax of queries. Throws for another text. */
  parsed(text: string): Term {
    const [, iri] = /^<([^<>\s]*)>$/.exec(text) ?? [];
    if (iri !== undefined) return { type: "uri", value: iri };
    if (/^[+-]?\d+$/.test(text)) return { type: "literal", value: text, datatype: `${XSD}integer` };
    if (/^[+-]?\d*\.\d+$/.test(text)) return { type: "literal", value: text, datatype: `${XSD}decimal` };
    if (/^(true|false)$/.test(text)) return { type: "literal", value: text, datatype: `${XSD}boolean` };
    const [, value, language, datatype] = /^"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^(.+))?$/.exec(text) ?? [];
    if (value !== undefined) {
      const literal: Term = { type: "literal", value: value.replace(/\\(.)/g, "$1") };
      if (language !== undefined) literal["xml:lang"] = language;
      if (datatype !== undefined) literal.datatype = this.parsed(datatype).value;
      return literal;
    }
    const [namespace, prefix] = this.prefixes.find(([, name]) => text.startsWith(name)) ?? [];
    if (namespace === undefined || prefix === undefined) throw new Error(`${text} is no term; write <IRI>, "text", 7 or a prefixed name`);
    return { type: "uri", value: namespace + text.slice(prefix.length) };
  }

  private literal(term: Term): string {
    if (term["xml:lang"] !== undefined) return `"${term.value}"@${term["xml:lang"]}`;
    const datatype = term.datatype ?? `${XSD}string`;
    const local = datatype.startsWith(XSD) ? datatype.slice(XSD.length) : "";
    if (local === "string") return `"${term.value}"`;
    return PLAIN_TYPES.has(local) ? term.value : `"${term.value}"^^${this.iri(datatype)}`;
  }
}

/** The time of day of an xsd:dateTime, with the date where it is told. */
export function clock(time: string | null | undefined): string {
  return (time ?? "").replace("T", " ").replace(/Z$/, "");
}

/** Bindings written as `?name = term`, one a line. Throws for a line that is none. */
export function bindingsOf(lines: string, names: Names): Bindings {
  const given = lines.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(given.map((line) => {
    const [, name, term] = /^\s*[?$]?(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || term === undefined) throw new Error(`'${line}' is not of the form ?name = term`);
    return [name, names.parsed(term)];
  }));
}
