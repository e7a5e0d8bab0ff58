import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

const HEIGHT_PX = 110;

/** A line over the last minutes; `series` are seconds of the page's clock and values. */
export function Chart({ label, series }: { label: string; series: [number[], number[]] }) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = new uPlot(options(label, host.current), series, host.current);
    plot.current = made;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) made.setSize({ width: Math.max(120, entry.contentRect.width), height: HEIGHT_PX });
    });
    observer.observe(host.current);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [label]);
  useEffect(() => plot.current?.setData(series), [series]);
  const last = series[1].at(-1) ?? 0;
  return <div class="chart" ref={host} role="img" aria-label={`${label}, now ${last.toFixed(1)} a second`} />;
}

function options(label: string, host: HTMLElement): uPlot.Options {
  const colour = (name: string) => getComputedStyle(host).getPropertyValue(name).trim();
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const ago = (_: uPlot, seconds: number[]) => seconds.map((each) => `${Math.round(each - performance.now() / 1_000)} s`);
  return {
    width: Math.max(120, host.clientWidth),
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [{ ...axis, values: ago, size: 24 }, { ...axis, size: 48 }],
    series: [{}, { label, stroke: colour("--accent"), width: 2, fill: colour("--selected"), points: { show: false } }],
  };
}
