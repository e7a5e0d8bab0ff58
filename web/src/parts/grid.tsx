import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const ROW_PX = 26;
const BEYOND = 8;

/**
 * A table of any length, of which only the rows in sight exist.
 *
 * Arrows, Page Up and Down, Home and End move the chosen row; `cells` gives those of a row, null while it is fetched.
 */
export function Grid({ label, columns, count, cells, chosen, choose, follow }: {
  label: string;
  columns: readonly string[];
  count: number;
  cells: (index: number) => ComponentChildren[] | null;
  chosen: number | null;
  choose: (index: number) => void;
  follow: boolean;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  useLayoutEffect(() => watchHeight(scroller.current, setHeight), []);
  useEffect(() => {
    if (follow && scroller.current) scroller.current.scrollTop = count * ROW_PX;
  }, [follow, count]);

  const first = Math.max(0, Math.floor(top / ROW_PX) - BEYOND);
  const last = Math.min(count, Math.ceil((top + height) / ROW_PX) + BEYOND);
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset);
  const template = `grid-template-columns: 5rem 13.5rem repeat(${Math.max(1, columns.length - 2)}, minmax(8rem, 1fr))`;

  const moved = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / ROW_PX) - 1);
    const wanted = target(event.key, chosen ?? -1, page, count);
    if (wanted === null || count === 0) return;
    event.preventDefault();
    choose(wanted);
    if (scroller.current) bringIntoSight(scroller.current, wanted);
  };
  return (
    <div
      class="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      tabIndex={0}
      ref={scroller}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={moved}
    >
      <div class="grid-row grid-head" role="row" aria-rowindex={1} style={template}>
        {columns.map((column) => <span role="columnheader" key={column}>{column}</span>)}
      </div>
      <div class="grid-body" role="rowgroup" style={`height: ${count * ROW_PX}px`}>
        {shown.map((index) => (
          <div
            class="grid-row"
            role="row"
            key={index}
            aria-rowindex={index + 2}
            aria-selected={index === chosen}
            style={`${template}; top: ${index * ROW_PX}px`}
            onClick={() => choose(index)}
          >
            {(cells(index) ?? columns.map(() => "…")).map((cell, column) => (
              <span role="gridcell" key={column}>{cell}</span>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function target(key: string, chosen: number, page: number, count: number): number | null {
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: chosen + 1,
    ArrowUp: chosen - 1,
    PageDown: chosen + page,
    PageUp: chosen - page,
    Home: 0,
    End: count - 1,
  };
  const wanted = moves[key];
  return wanted === undefined ? null : Math.min(count - 1, Math.max(0, wanted));
}

function bringIntoSight(scroller: HTMLElement, index: number): void {
  const [begin, end] = [index * ROW_PX, (index + 2) * ROW_PX];
  if (begin < scroller.scrollTop) scroller.scrollTop = begin;
  else if (end > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = end - scroller.clientHeight;
}

function watchHeight(element: HTMLElement | null, tell: (height: number) => void): (() => void) | undefined {
  if (element === null) return undefined;
  const observer = new ResizeObserver(() => tell(element.clientHeight));
  observer.observe(element);
  return () => observer.disconnect();
}
