import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { vocabulary } from "../model/vocabulary";
import { Names } from "../model/terms";
import { FUNCTIONS, KEYWORDS } from "./language";

const WORD = /(?:[?$]|[A-Za-z][\w.-]*:|:|<)?[^\s<>"'{}()[\],;|&!*+=]*$/;
const WORDS: readonly Completion[] = [...words(KEYWORDS, "keyword"), ...words(FUNCTIONS, "function")];

/** Words of the language, names of the text, and what has been seen in the streams. */
export function completions(context: CompletionContext): CompletionResult | null {
  const found = context.matchBefore(WORD);
  if (found === null || (found.text === "" && !context.explicit)) return null;
  const text = context.state.doc.toString();
  const before = text.slice(0, found.from);
  return { from: found.from, options: options(found.text, text, before), validFor: /^[?$<:]?[\w.:/#-]*$/ };
}

/** In SEQ( ) stand steps, after ON streams, and elsewhere everything. */
function options(typed: string, text: string, before: string): Completion[] {
  if (/\bSEQ\s*\((?:[^)\n]|\n(?!\s*DEFINE))*$/i.test(before)) return distinct(named(text, "GPM"), "class");
  if (/\bON\s+(?:\w+\s*,\s*)*$/i.test(before)) return distinct(named(text, "STREAM"), "class");
  if (/^[?$]/.test(typed)) return distinct(text.match(/[?$]\w+/g)?.filter((each) => each !== typed), "variable");
  if (typed.startsWith("<")) return seen((iri) => `<${iri}>`);
  const names = [...named(text, "GPM"), ...named(text, "STREAM")];
  const prefixed = new Names(text);
  const short = seen((iri) => prefixed.iri(iri));
  return [...WORDS, ...distinct(names, "class"), ...short.filter((each) => !each.label.startsWith("<"))];
}

/** The names that a text declares. */
function named(text: string, kind: "GPM" | "STREAM"): string[] {
  const declared = new RegExp(`\\b(?:DEFINE\\s+|FROM\\s+)${kind}\\s+([A-Za-z_]\\w*)`, "gi");
  return [...text.matchAll(declared)].map((each) => each[1] ?? "");
}

function seen(label: (iri: string) => string): Completion[] {
  const { properties, classes, resources, graphs, streams } = vocabulary.value;
  return [
    ...properties.map((iri): Completion => ({ label: label(iri), type: "property", detail: "property" })),
    ...classes.map((iri): Completion => ({ label: label(iri), type: "type", detail: "class" })),
    ...streams.map((iri): Completion => ({ label: label(iri), type: "namespace", detail: "stream" })),
    ...graphs.map((iri): Completion => ({ label: label(iri), type: "constant", detail: "knowledge base" })),
    ...resources.map((iri): Completion => ({ label: label(iri), type: "constant", boost: -1 })),
  ];
}

function distinct(labels: readonly string[] | undefined, type: string): Completion[] {
  return [...new Set(labels)].map((label) => ({ label, type }));
}

function words(help: Readonly<Record<string, string>>, type: string): Completion[] {
  return Object.entries(help).map(([label, info]) => (info === "" ? { label, type } : { label, type, info }));
}
