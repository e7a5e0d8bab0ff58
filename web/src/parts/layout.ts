import { Graph, layout } from "@dagrejs/dagre";

const CHARACTER_PX = 7.4;
const LINE_PX = 17;
const PADDING_PX = 24;
const LOOP_PX = 48;

export interface Node {
  id: string;
  label: string;
  kind: string;
  /** Beside the label, changes without another layout. */
  count?: string | undefined;
}

export interface Link {
  from: string;
  to: string;
  label: string;
  count?: string | undefined;
  width?: number;
}

export interface Point {
  x: number;
  y: number;
}

/** Places of nodes and ways of links, in pixels. */
export interface Layout {
  width: number;
  height: number;
  nodes: (Point & { width: number; height: number })[];
  links: { points: Point[]; label: Point }[];
}

/** A layered drawing (dagre), in the order of `nodes` and `links`. */
export function drawn(nodes: readonly Node[], links: readonly Link[], direction: "LR" | "TB"): Layout {
  const graph = new Graph({ multigraph: true });
  const hasLoops = links.some((link) => link.from === link.to);
  graph.setGraph({ rankdir: direction, nodesep: hasLoops ? 2 * LOOP_PX : 28, ranksep: 46, edgesep: 14, marginx: 10, marginy: 10 });
  for (const node of nodes) graph.setNode(node.id, box(node));
  links.forEach((link, index) => {
    if (link.from === link.to) return;
    const size = { width: width(link.label) + 8, height: 2 * LINE_PX, labelpos: "c" as const };
    graph.setEdge(link.from, link.to, size, String(index));
  });
  layout(graph);
  const { width: whole = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width: whole,
    height: hasLoops ? height + LOOP_PX + LINE_PX : height,
    nodes: nodes.map((node) => graph.node(node.id) as Layout["nodes"][number]),
    links: links.map((link, index) => {
      if (link.from === link.to) return loop(graph.node(link.from) as Layout["nodes"][number]);
      const edge = graph.edge(link.from, link.to, String(index)) as { points: Point[]; x: number; y: number };
      return { points: edge.points, label: { x: edge.x, y: edge.y } };
    }),
  };
}

/** A way out of a node and back into it, below it. */
function loop({ x, y, height }: Layout["nodes"][number]): Layout["links"][number] {
  const [top, bottom] = [y + height / 2, y + height / 2 + LOOP_PX / 2];
  const [left, right] = [x - LOOP_PX / 2, x + LOOP_PX / 2];
  const points = [{ x: x - 12, y: top }, { x: left, y: bottom }, { x: right, y: bottom }, { x: x + 12, y: top }];
  return { points, label: { x, y: bottom + 16 } };
}

/** A smooth way through points, as the data of an SVG path. */
export function smooth(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return "";
  const parts = [`M${at(first)}`];
  rest.slice(0, -1).forEach((point, index) => {
    const next = rest[index + 1] ?? last;
    const end = index === rest.length - 2 ? last : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    parts.push(`Q${at(point)} ${at(end)}`);
  });
  return rest.length === 1 ? `${parts[0]}L${at(last)}` : parts.join("");
}

function at({ x, y }: Point): string {
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}

function box(node: Node): { width: number; height: number } {
  const height = node.kind === "literal" ? LINE_PX + 6 : 2 * LINE_PX + 6;
  return { width: Math.max(56, width(node.label) + PADDING_PX), height };
}

function width(label: string): number {
  return [...label].length * CHARACTER_PX;
}
