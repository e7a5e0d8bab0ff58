import { type Completion, type CompletionContext, type CompletionResult, pickedCompletion } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { declaration, type Namespace, undeclared } from "../model/namespaces";
import { declared, Names } from "../model/terms";
import { vocabulary } from "../model/vocabulary";
import { FUNCTIONS, KEYWORDS } from "./language";

const WORD = /(?:[?$]|[A-Za-z][\w.-]*:|:|<)?[^\s<>"'{}()[\],;|&!*+=]*$/;
const PROLOGUE = /^(?:\s|#[^\n]*\n|PREFIX\s+[^\s:]*:\s*<[^>\s]*>|BASE\s*<[^>\s]*>)*$/i;
const WORDS: readonly Completion[] = [...words(KEYWORDS, "keyword"), ...words(FUNCTIONS, "function")];

/** Words of the language, names of the text, and what has been seen in the streams. */
export function completions(context: CompletionContext): CompletionResult | null {
  const found = context.matchBefore(WORD);
  if (found === null || (found.text === "" && !context.explicit)) return null;
  const text = context.state.doc.toString();
  const before = text.slice(0, found.from);
  return { from: found.from, options: options(found.text, text, before), validFor: /^[?$<:]?[\w.:/#-]*$/ };
}

/** In SEQ( ) stand steps, after ON streams, before SELECT declarations of prefixes too, and elsewhere everything. */
function options(typed: string, text: string, before: string): Completion[] {
  if (/\bSEQ\s*\((?:[^)\n]|\n(?!\s*DEFINE))*$/i.test(before)) return distinct(named(text, "GPM"), "class");
  if (/\bON\s+(?:\w+\s*,\s*)*$/i.test(before)) return distinct(named(text, "STREAM"), "class");
  if (/^[?$]/.test(typed)) return distinct(text.match(/[?$]\w+/g)?.filter((each) => each !== typed), "variable");
  if (typed.startsWith("<")) return seen((iri) => ({ label: `<${iri}>` }));
  if (/\bPREFIX\s+$/i.test(before)) return prefixes(text, "");
  if (PROLOGUE.test(before)) return [...WORDS, ...prefixes(text, "PREFIX ")];
  const names = [...named(text, "GPM"), ...named(text, "STREAM")];
  return [...WORDS, ...distinct(names, "class"), ...shortened(text).filter((each) => !each.label.startsWith("<"))];
}

/** Declarations of the namespaces that the text does not declare, those first that have been seen. */
function prefixes(text: string, start: string): Completion[] {
  return undeclared(text, vocabulary.value).map(({ prefix, iri, seen }): Completion => ({
    label: `${start}${prefix}: <${iri}>`,
    type: "namespace",
    detail: seen ? "seen" : "well-known",
    boost: seen ? 1 : 0,
  }));
}

/** What has been seen as prefixed names; one with a prefix that the text does not have declares it. */
function shortened(text: string): Completion[] {
  const missing = undeclared(text, vocabulary.value);
  const byPrefix = new Map(missing.map((each) => [each.prefix, each]));
  for (const [, prefix] of declared(text)) byPrefix.delete(prefix);
  const names = new Names(text, missing);
  return seen((iri) => {
    const label = names.iri(iri);
    const namespace = byPrefix.get(label.slice(0, label.indexOf(":")));
    return namespace === undefined ? { label } : { label, apply: declaring(namespace) };
  });
}

/** Puts a completion in its place, and the declaration of its prefix above. */
function declaring(namespace: Namespace) {
  return (view: EditorView, completion: Completion, from: number, to: number) => {
    const above = declaration(view.state.doc.toString(), namespace);
    view.dispatch({
      changes: [above, { from, to, insert: completion.label }],
      selection: { anchor: from + above.insert.length + completion.label.length },
      annotations: pickedCompletion.of(completion),
      userEvent: "input.complete",
    });
  };
}

/** The names that a text declares. */
function named(text: string, kind: "GPM" | "STREAM"): string[] {
  const declared = new RegExp(`\\b(?:DEFINE\\s+|FROM\\s+)${kind}\\s+([A-Za-z_]\\w*)`, "gi");
  return [...text.matchAll(declared)].map((each) => each[1] ?? "");
}

function seen(named: (iri: string) => Pick<Completion, "label" | "apply">): Completion[] {
  const { properties, classes, resources, graphs, streams } = vocabulary.value;
  return [
    ...properties.map((iri): Completion => ({ ...named(iri), type: "property", detail: "property" })),
    ...classes.map((iri): Completion => ({ ...named(iri), type: "type", detail: "class" })),
    ...streams.map((iri): Completion => ({ ...named(iri), type: "namespace", detail: "stream" })),
    ...graphs.map((iri): Completion => ({ ...named(iri), type: "constant", detail: "knowledge base" })),
    ...resources.map((iri): Completion => ({ ...named(iri), type: "constant", boost: -1 })),
  ];
}

function distinct(labels: readonly string[] | undefined, type: string): Completion[] {
  return [...new Set(labels)].map((label) => ({ label, type }));
}

function words(help: Readonly<Record<string, string>>, type: string): Completion[] {
  return Object.entries(help).map(([label, info]) => (info === "" ? { label, type } : { label, type, info }));
}
