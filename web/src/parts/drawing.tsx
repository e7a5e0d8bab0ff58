import { useId, useMemo } from "preact/hooks";
import { drawn, type Link, type Node, smooth } from "./layout";

/** A node or a link that has been chosen. */
export type Choice = { kind: "node" | "link"; index: number };

/** A graph as a picture; with `choose`, its parts are buttons. */
export function Drawing({ label, nodes, links, direction = "LR", chosen, choose }: {
  label: string;
  nodes: readonly Node[];
  links: readonly Link[];
  direction?: "LR" | "TB";
  chosen?: Choice | null;
  choose?: (choice: Choice) => void;
}) {
  const id = useId();
  const structure = JSON.stringify([nodes.map(({ id, label, kind }) => [id, label, kind]), links.map(({ from, to, label }) => [from, to, label])]);
  const places = useMemo(() => drawn(nodes, links, direction), [structure, direction]);
  const button = (choice: Choice, name: string) =>
    choose === undefined ? {} : {
      role: "button" as const,
      tabindex: 0,
      "aria-label": name,
      "aria-pressed": chosen?.kind === choice.kind && chosen.index === choice.index,
      onClick: () => choose(choice),
      onKeyDown: (event: KeyboardEvent) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(choice);
      },
    };
  return (
    <div class="drawing" tabIndex={choose === undefined ? 0 : undefined} role="group" aria-label={label}>
      <svg width={places.width} height={places.height} role={choose === undefined ? "img" : undefined} aria-label={label}>
        <defs>
          <marker id={id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse" markerUnits="userSpaceOnUse">
            <path d="M0,0 L8,4 L0,8 z" class="arrow" />
          </marker>
        </defs>
        {links.map((link, index) => {
          const way = places.links[index];
          if (way === undefined) return null;
          const path = smooth(way.points);
          const name = `edge ${link.label || "ε"} ${link.count ?? ""}`.trim();
          return (
            <g key={`${link.from} ${link.to} ${index}`} class="link" {...button({ kind: "link", index }, name)}>
              <path d={path} class="reach" />
              <path d={path} class="way" style={`stroke-width: ${link.width ?? 1.3}`} marker-end={`url(#${id})`} />
              <text x={way.label.x} y={way.label.y - 6}>{link.label}</text>{" "}
              {link.count && <text x={way.label.x} y={way.label.y + 15} class="count">{link.count}</text>}
            </g>
          );
        })}
        {nodes.map((node, index) => {
          const place = places.nodes[index];
          if (place === undefined) return null;
          const { x, y, width, height } = place;
          const name = `state ${node.label} ${node.count ?? ""}`.trim();
          return (
            <g key={node.id} class={`node ${node.kind}`} {...button({ kind: "node", index }, name)}>
              <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={node.kind === "literal" ? 2 : height / 2} />
              <text x={x} y={node.count ? y - 2 : y + 4}>{node.label}</text>{" "}
              {node.count && <text x={x} y={y + 13} class="count">{node.count}</text>}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
