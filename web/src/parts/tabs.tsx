import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export interface Tab {
  key: string;
  title: string;
  content: () => ComponentChildren;
}

/** Tabs by the pattern of WAI-ARIA: arrows move between them, the content of one is there. */
export function Tabs({ label, tabs, shown, show }: {
  label: string;
  tabs: readonly Tab[];
  shown: string;
  show: (key: string) => void;
}) {
  const id = useId();
  const index = Math.max(0, tabs.findIndex((tab) => tab.key === shown));
  const moved = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = tabs[(index + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    event.preventDefault();
    show(next.key);
    document.getElementById(`${id}-${next.key}`)?.focus();
  };
  const current = tabs[index];
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={moved}>
        {tabs.map((tab) => (
          <button
            type="button"
            role="tab"
            key={tab.key}
            id={`${id}-${tab.key}`}
            aria-selected={tab === current}
            aria-controls={tab === current ? `${id}-panel` : undefined}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => show(tab.key)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" class="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current?.key}`}>
        {current?.content()}
      </div>
    </div>
  );
}
