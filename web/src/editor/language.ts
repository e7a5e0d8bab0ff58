import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { streamParser } from "../../../editors/codemirror/spaseq.js";
import table from "../../../editors/tokens.json";

const style = HighlightStyle.define([
  { tag: tags.keyword, class: "tok-keyword" },
  { tag: tags.function(tags.variableName), class: "tok-function" },
  { tag: tags.variableName, class: "tok-variable" },
  { tag: tags.className, class: "tok-name" },
  { tag: [tags.controlOperator, tags.modifier], class: "tok-sequence" },
  { tag: [tags.string, tags.meta], class: "tok-string" },
  { tag: [tags.number, tags.bool], class: "tok-number" },
  { tag: [tags.url, tags.propertyName, tags.labelName], class: "tok-iri" },
  { tag: tags.comment, class: "tok-comment" },
  { tag: tags.invalid, class: "tok-invalid" },
]);

/** The language of queries: the table of tokens that serves all editors; the theme has the colours. */
export const spaseq = [StreamLanguage.define(streamParser(table)), syntaxHighlighting(style)];

/** The words of the language, each with a line of help. */
export const KEYWORDS: Readonly<Record<string, string>> = { ...table.sparqlKeywords, ...table.keywords };
export const FUNCTIONS: Readonly<Record<string, string>> = table.functions;
