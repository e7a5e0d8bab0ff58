import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from "@codemirror/language";
import { forceLinting, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import type { Validation } from "../api/answers";
import { completions } from "./completion";
import { spaseq } from "./language";
import { diagnostics, validated } from "./problems";
import { theme } from "./theme";

const TYPING_MS = 250;

/** What an editor tells. */
export interface Listener {
  changed(text: string): void;
  checked(found: Validation): void;
  /** Ctrl-Enter. */
  submitted(): void;
}

/**
 * An editor of queries in a shadow root, where its styles are adopted style sheets: the page's policy allows no others.
 */
export function queryEditor(host: HTMLElement, text: string, listener: Listener): EditorView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const state = EditorState.create({ doc: text, extensions: extensions(listener) });
  return new EditorView({ state, parent: root, root });
}

/** Replace the whole text, which can be undone. */
export function setText(view: EditorView, text: string): void {
  if (view.state.doc.toString() !== text) {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }
}

/** Ask for the problems again: what the service knows has changed. */
export function recheck(view: EditorView): void {
  forceLinting(view);
}

function extensions(listener: Listener): Extension[] {
  const submit = { key: "Mod-Enter", run: () => (listener.submitted(), true) };
  return [
    keymap.of([submit]),
    lineNumbers(),
    lintGutter(),
    foldGutter(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    spaseq,
    theme,
    autocompletion({ override: [completions] }),
    linter((view) => lint(view, listener), { delay: TYPING_MS }),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap]),
    keymap.of([...completionKeymap, ...lintKeymap]),
    EditorView.contentAttributes.of({ "aria-label": "Query text" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) listener.changed(update.state.doc.toString());
    }),
  ];
}

async function lint(view: EditorView, listener: Listener) {
  const { doc } = view.state;
  if (doc.toString().trim() === "") return [];
  const found = await validated(doc.toString()).catch((): Validation => ({ problems: [], warnings: [] }));
  listener.checked(found);
  return diagnostics(found, doc);
}
