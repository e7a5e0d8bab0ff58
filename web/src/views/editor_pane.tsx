import type { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import type { Validation } from "../api/answers";
import { queryEditor, recheck, setText } from "../editor/editor";
import { streams } from "../model/service";
import { learn } from "../model/vocabulary";

/** The editor; it owns its text, which another `given` replaces. */
export function EditorPane({ given, changed, checked, submitted }: {
  given: { readonly text: string };
  changed: (text: string) => void;
  checked: (found: Validation) => void;
  submitted: () => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const listener = useRef({ changed, checked, submitted });
  listener.current = { changed, checked, submitted };
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = queryEditor(host.current, given.text, {
      changed: (typed) => listener.current.changed(typed),
      checked: (found) => listener.current.checked(found),
      submitted: () => listener.current.submitted(),
    });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    if (view.current) setText(view.current, given.text);
  }, [given]);
  const declared = streams.value.map((stream) => stream.iri).join(" ");
  useEffect(() => {
    if (view.current) recheck(view.current);
  }, [declared]);
  return <div class="editor" ref={host} onFocusIn={() => void learn()} />;
}
