import type { ComponentChildren } from "preact";
import { type Selection, select, selection } from "../model/selection";

/** A line of the list at the side, which chooses what is shown: its name, something short at its end, more below. */
export function Line({ to, isNew = false, name, end, children }: {
  to: Selection;
  isNew?: boolean;
  name: ComponentChildren;
  end?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const chosen = selection.value.kind === to.kind && nameOf(selection.value) === nameOf(to);
  return (
    <li>
      <button
        type="button"
        class={isNew ? "item new" : "item"}
        aria-current={chosen ? "page" : undefined}
        onClick={() => select(to)}
      >
        <span class="item-name">{name}</span>
        {end !== undefined && <span class="item-rate">{end}</span>}
        {children !== undefined && <span class="item-more">{children}</span>}
      </button>
    </li>
  );
}

function nameOf(selection: Selection): string {
  return "name" in selection ? selection.name : "";
}
