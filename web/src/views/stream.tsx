import { useEffect, useState } from "preact/hooks";
import type { StreamEvent } from "../api/answers";
import { ask, askJson } from "../api/client";
import { advance, pushFile, SUFFIXES } from "../model/push";
import { attempt, tell } from "../model/notices";
import { select } from "../model/selection";
import { counter, queries, refresh, streams } from "../model/service";
import { clock, Names } from "../model/terms";
import { turtle } from "../model/triples";
import { Chart } from "../parts/chart";
import { Facts } from "../parts/facts";

const LAST = 10;
const AGAIN_MS = 2_000;

/** A stream: its counters, its newest events, and a place to drop files. */
export function StreamView({ name }: { name: string }) {
  const stream = streams.value.find((each) => each.name === name);
  if (stream === undefined) return <p class="faint">There is no stream {name}.</p>;
  if (stream.derived) {
    return (
      <section>
        <h2>{name}</h2>
        <p>The rows of the query {name} are this stream, <code>{stream.iri}</code>.</p>
        <button type="button" onClick={() => select({ kind: "query", name })}>Show the query</button>
      </section>
    );
  }
  const behind = stream.watermark ? (Date.now() - Date.parse(stream.watermark)) / 1_000 : null;
  return (
    <section class="fill" aria-labelledby="stream-title">
      <div class="title-row">
        <h2 id="stream-title">{name}</h2>
        <code class="faint">{stream.iri}</code>
        <button type="button" class="danger" onClick={() => void remove(name)}>Delete</button>
      </div>
      <Facts
        facts={[
          ["events", (stream.events ?? 0).toLocaleString("en")],
          ["watermark", stream.watermark ? clock(stream.watermark) : "none"],
          ["lag", behind === null ? "" : duration(behind)],
          ["late", String(stream.late ?? 0)],
          ["malformed", String(stream.malformed ?? 0)],
          ["duplicates", String(stream.duplicates ?? 0)],
          ["idle", stream.idle ? "yes" : "no"],
        ]}
      />
      <h3>Events a second</h3>
      <Chart label={`Events of ${name}`} series={counter("stream", name).series()} />
      <Push name={name} watermark={stream.watermark ?? null} />
      <h3>Last events</h3>
      <Newest name={name} />
    </section>
  );
}

function Push({ name, watermark }: { name: string; watermark: string | null }) {
  const [over, setOver] = useState(false);
  const pushed = async (files: FileList | null | undefined) => {
    for (const file of files ?? []) await attempt("", async () => tell(await pushFile(name, file)));
    await refresh();
  };
  const promised = (event: SubmitEvent) => {
    event.preventDefault();
    const time = String(new FormData(event.currentTarget as HTMLFormElement).get("time")).trim();
    void attempt(`nothing before ${time} will come`, () => advance(name, time));
  };
  return (
    <div
      class={over ? "drop over" : "drop"}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void pushed(event.dataTransfer?.files);
      }}
    >
      <label>
        Drop files of events here, or choose them:{" "}
        <input
          type="file"
          multiple
          accept={SUFFIXES.join(",")}
          onChange={(event) => void pushed(event.currentTarget.files)}
        />
      </label>
      <form class="row" onSubmit={promised}>
        <label>
          Nothing earlier will come than{" "}
          <input name="time" required defaultValue={watermark ?? ""} placeholder="2026-01-01T00:00:00Z" />
        </label>
        <button type="submit">Advance</button>
      </form>
    </div>
  );
}

function Newest({ name }: { name: string }) {
  const [events, setEvents] = useState<StreamEvent[]>([]);
  useEffect(() => {
    const ask = () =>
      askJson("GET /v1/streams/{name}/events", { path: { name }, query: { last: LAST } })
        .then(setEvents)
        .catch(() => undefined);
    void ask();
    const timer = setInterval(() => void ask(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [name]);
  if (events.length === 0) return <p class="faint">None yet.</p>;
  const names = new Names(queries.value.map((query) => query.text).join("\n"));
  return (
    <ol class="events" reversed>
      {[...events].reverse().map((event) => (
        <li key={event.graph}>
          <div class="event-head"><code>{names.iri(event.graph)}</code> <time>{clock(event.time)}</time></div>
          <pre>{turtle(event.triples, names)}</pre>
        </li>
      ))}
    </ol>
  );
}

async function remove(name: string): Promise<void> {
  if (!confirm(`Delete the stream ${name}?`)) return;
  await attempt(`${name} is deleted`, () => ask("DELETE /v1/streams/{name}", { path: { name } }));
  await refresh();
}

function duration(seconds: number): string {
  const units: [number, string][] = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]];
  const [size, unit] = units.find(([each]) => Math.abs(seconds) >= each) ?? [1, "s"];
  return `${(seconds / size).toFixed(1)} ${unit}`;
}
