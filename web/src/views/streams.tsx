import type { Stream } from "../api/answers";
import { ask } from "../api/client";
import { attempt } from "../model/notices";
import { rateText } from "../model/rates";
import { counter, refresh, streams } from "../model/service";
import { Line } from "../parts/line";

/** All streams: how fast events come, and what is wrong with them. */
export function Streams() {
  return (
    <section aria-labelledby="streams-title">
      <h2 id="streams-title">Streams</h2>
      {streams.value.length === 0 && <p class="faint">No stream is declared.</p>}
      <ul class="list">
        {streams.value.map((stream) => <StreamLine key={stream.name} stream={stream} />)}
      </ul>
      <Declare />
    </section>
  );
}

function StreamLine({ stream }: { stream: Stream }) {
  const faults = (stream.late ?? 0) + (stream.malformed ?? 0);
  const end = stream.derived ? "derived" : rateText(counter("stream", stream.name).rate);
  return (
    <Line to={{ kind: "stream", name: stream.name }} name={stream.name} end={end}>
      {stream.derived ? stream.iri : `${(stream.events ?? 0).toLocaleString("en")} events`}
      {faults > 0 && <span class="bad"> · {faults.toLocaleString("en")} late or malformed</span>}
      {stream.idle && " · idle"}
    </Line>
  );
}

function Declare() {
  const declare = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const given = new FormData(form);
    const name = String(given.get("name")).trim();
    const body = { media: "application/json", value: { iri: String(given.get("iri")).trim() } } as const;
    const put = () => ask("PUT /v1/streams/{name}", { path: { name }, body });
    if (await attempt(`stream ${name} is declared`, put)) form.reset();
    await refresh();
  };
  return (
    <details>
      <summary>Declare a stream</summary>
      <form class="stack" onSubmit={(event) => void declare(event)}>
        <label>Name <input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\-]*" /></label>
        <label>IRI <input name="iri" required placeholder="http://example.org/stream" /></label>
        <button type="submit">Declare</button>
      </form>
    </details>
  );
}
