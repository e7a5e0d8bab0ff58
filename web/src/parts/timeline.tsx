import { useEffect, useRef, useState } from "preact/hooks";

const LANE_PX = 34;
const LEFT_PX = 110;
const RIGHT_PX = 24;
const AXIS_PX = 26;
const DRAG_PX = 4;

/** Something at a time, on a lane. */
export interface Mark {
  lane: string;
  time: number;
  label: string;
  title: string;
}

/** Something that lasts, on a lane; one may be chosen. */
export interface Span {
  key: number;
  lane: string;
  from: number;
  to: number;
  title: string;
}

type Period = readonly [number, number];

/** Lanes over time, in milliseconds; dragging shows a part, buttons and the keys + - 0 and arrows do as well. */
export function Timeline({ label, lanes, marks, spans, chosen, choose }: {
  label: string;
  lanes: readonly string[];
  marks: readonly Mark[];
  spans: readonly Span[];
  chosen: number | null;
  choose: (key: number) => void;
}) {
  const [period, setPeriod] = useState<Period | null>(null);
  const [brush, setBrush] = useState<Period | null>(null);
  const [width, host] = useWidth();
  const whole = bounds(marks, spans);
  const [begin, end] = period ?? whole;
  const inner = Math.max(50, width - LEFT_PX - RIGHT_PX);
  const x = (time: number) => LEFT_PX + ((time - begin) / (end - begin)) * inner;
  const time = (event: PointerEvent) => begin + ((event.clientX - left(event) - LEFT_PX) / inner) * (end - begin);
  const zoom = (factor: number) => setPeriod(scaled([begin, end], factor));
  const keyed = (event: KeyboardEvent) => {
    const step = (end - begin) / 5;
    const actions: Readonly<Record<string, () => void>> = {
      "+": () => zoom(0.5),
      "-": () => zoom(2),
      "0": () => setPeriod(null),
      ArrowLeft: () => setPeriod([begin - step, end - step]),
      ArrowRight: () => setPeriod([begin + step, end + step]),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const released = () => {
    const [from, to] = brush ?? [0, 0];
    if (Math.abs(x(to) - x(from)) > DRAG_PX) setPeriod([Math.min(from, to), Math.max(from, to)]);
    setBrush(null);
  };
  const height = lanes.length * LANE_PX + AXIS_PX;
  const middle = (lane: string) => lanes.indexOf(lane) * LANE_PX + LANE_PX / 2;
  return (
    <div class="timeline" role="group" aria-label={label} ref={host}>
      <div class="row">
        <button type="button" onClick={() => zoom(0.5)} aria-label="Zoom in">+</button>
        <button type="button" onClick={() => zoom(2)} aria-label="Zoom out">−</button>
        <button type="button" onClick={() => setPeriod(null)}>Whole</button>
        <span class="faint">{clockOf(begin)} … {clockOf(end)}; drag to show a part</span>
      </div>
      <svg
        width={width}
        height={height}
        tabindex={0}
        role="img"
        aria-label={`${label}: ${marks.map((mark) => mark.title).join("; ")}`}
        onKeyDown={keyed}
        onPointerDown={(event) => setBrush([time(event), time(event)])}
        onPointerMove={(event) => brush && setBrush([brush[0], time(event)])}
        onPointerUp={released}
        onPointerLeave={() => setBrush(null)}
      >
        <svg x={LEFT_PX} width={inner + RIGHT_PX} height={height} viewBox={`${LEFT_PX} 0 ${inner + RIGHT_PX} ${height}`}>
          {brush && <rect class="brush" x={Math.min(x(brush[0]), x(brush[1]))} y={0} width={Math.abs(x(brush[1]) - x(brush[0]))} height={height} />}
          {lanes.map((lane) => <line key={lane} class="lane" x1={LEFT_PX} x2={LEFT_PX + inner} y1={middle(lane)} y2={middle(lane)} />)}
          {spans.map((span) => (
            <rect
              key={span.key}
              class={span.key === chosen ? "span chosen" : "span"}
              x={x(span.from)}
              y={middle(span.lane) - 8}
              width={Math.max(3, x(span.to) - x(span.from))}
              height={16}
              onClick={() => choose(span.key)}
            >
              <title>{span.title}</title>
            </rect>
          ))}
          <polyline class="thread" points={marks.map((mark) => `${x(mark.time)},${middle(mark.lane)}`).join(" ")} />
          {marks.map((mark, index) => (
            <g key={index} class="mark">
              <circle cx={x(mark.time)} cy={middle(mark.lane)} r={6}><title>{mark.title}</title></circle>
              <text x={x(mark.time)} y={middle(mark.lane) - 9}>{mark.label}</text>
            </g>
          ))}
          {ticks(begin, end).map((tick) => (
            <text key={tick} class="tick" x={x(tick)} y={height - 8}>{clockOf(tick).slice(11)}</text>
          ))}
        </svg>
        {lanes.map((lane) => <text key={lane} class="lane-name" x={4} y={middle(lane) + 4}>{lane}</text>)}
      </svg>
    </div>
  );
}

function useWidth() {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(700);
  useEffect(() => {
    if (host.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 700)));
    observer.observe(host.current);
    return () => observer.disconnect();
  }, []);
  return [width, host] as const;
}

/** All that there is, with a margin. */
function bounds(marks: readonly Mark[], spans: readonly Span[]): Period {
  const times = [...marks.map((mark) => mark.time), ...spans.flatMap((span) => [span.from, span.to])];
  if (times.length === 0) return [0, 1_000];
  return scaled([Math.min(...times), Math.max(...times)], 1.1);
}

function scaled([begin, end]: Period, factor: number): Period {
  const [middle, half] = [(begin + end) / 2, Math.max(0.5, ((end - begin) / 2) * factor)];
  return [middle - half, middle + half];
}

function ticks(begin: number, end: number): number[] {
  return [0.1, 0.35, 0.6, 0.85].map((part) => begin + part * (end - begin));
}

function clockOf(time: number): string {
  return new Date(time).toISOString().replace("T", " ").replace("Z", "");
}

function left(event: PointerEvent): number {
  return (event.currentTarget as Element).getBoundingClientRect().left;
}
