import { useEffect, useState } from "preact/hooks";
import type { Query, Row, StreamEvent } from "../api/answers";
import { askJson } from "../api/client";
import type { Feed } from "../model/feed";
import { kindly } from "../model/kindly";
import { clock, Names } from "../model/terms";
import { triples, turtle } from "../model/triples";
import { Drawing } from "../parts/drawing";
import { type Mark, type Span, Timeline } from "../parts/timeline";
import { WhyOf } from "./why";

const MATCHES = "matches";
const RECENT_MAX = 200;
const DRAWN_MAX = 40;

/** A match: when its events came and what they say, what it constructs, and why it is there. */
export function Match({ query, row, feed, choose }: {
  query: Query;
  row: Row;
  feed: Feed;
  choose: (number: number) => void;
}) {
  const names = new Names(query.text);
  const { events, trouble } = useEvents(query.name, row.n);
  return (
    <section class="detail match" aria-label={`Match ${row.n}`}>
      <div class="title-row">
        <h3>Match {row.n}</h3>
        <span class="faint">{clock(row.start)} – {clock(row.time)}</span>
      </div>
      {trouble !== "" && <p class="bad">{trouble}</p>}
      <Timeline
        label={`Timeline of match ${row.n}`}
        lanes={[MATCHES, ...new Set(steps(events).map(([, event]) => event.stream))]}
        marks={marks(events, names)}
        spans={spans(feed.recent(RECENT_MAX), row)}
        chosen={row.n}
        choose={choose}
      />
      <WhyOf key={row.n} query={query} row={row} names={names} />
      {row.triples && <Graph title={`It constructs ${names.iri(row.graph ?? "")}`} lines={row.triples} names={names} />}
      {steps(events).map(([step, event]) => (
        <Graph
          key={`${step} ${event.graph}`}
          title={`${step}: ${names.iri(event.graph)} on ${event.stream} at ${clock(event.time)}`}
          lines={event.triples}
          names={names}
        />
      ))}
    </section>
  );
}

function useEvents(name: string, number: number) {
  const [events, setEvents] = useState<Record<string, StreamEvent[]>>({});
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    const ending = new AbortController();
    const request = { path: { name, number: String(number) }, signal: ending.signal };
    askJson("GET /v1/queries/{name}/matches/{number}/events", request)
      .then((found) => (setEvents(found), setTrouble("")))
      .catch((error: unknown) => ending.signal.aborted || setTrouble(kindly(error, "the events")));
    return () => ending.abort();
  }, [name, number]);
  return { events, trouble };
}

/** The events in the order of time, each with its step. */
function steps(events: Record<string, StreamEvent[]>): [string, StreamEvent][] {
  const found = Object.entries(events).flatMap(([step, taken]) =>
    taken.map((event): [string, StreamEvent] => [step, event])
  );
  return found.sort(([, one], [, other]) => Date.parse(one.time) - Date.parse(other.time));
}

function marks(events: Record<string, StreamEvent[]>, names: Names): Mark[] {
  return steps(events).map(([step, event]) => ({
    lane: event.stream,
    time: Date.parse(event.time),
    label: step,
    title: `${step}: ${names.iri(event.graph)} on ${event.stream}, ${clock(event.time)}`,
  }));
}

/** The match among those that are near it in number. */
function spans(recent: readonly Row[], row: Row): Span[] {
  const others = recent.filter((each) => each.n !== row.n && Math.abs(each.n - row.n) < RECENT_MAX / 2);
  return [...others, row].map((each) => ({
    key: each.n,
    lane: MATCHES,
    from: Date.parse(each.start),
    to: Date.parse(each.time),
    title: `match ${each.n}`,
  }));
}

/** A graph as a picture if it is small, else as Turtle. */
function Graph({ title, lines, names }: { title: string; lines: readonly string[]; names: Names }) {
  const [asText, setAsText] = useState(lines.length > DRAWN_MAX);
  const found = triples(lines);
  const nodes = new Map<string, { id: string; label: string; kind: string }>();
  const links = found.map(([subject, predicate, object], index) => {
    const isLiteral = object.type === "literal";
    const [from, to] = [names.term(subject), isLiteral ? `${index} ${names.term(object)}` : names.term(object)];
    nodes.set(from, { id: from, label: shortened(from), kind: "resource" });
    nodes.set(to, { id: to, label: shortened(names.term(object)), kind: isLiteral ? "literal" : "resource" });
    return { from, to, label: shortened(names.term(predicate)) };
  });
  return (
    <div class="event-graph">
      <div class="event-head">
        <b>{title}</b>
        {lines.length <= DRAWN_MAX && (
          <button type="button" onClick={() => setAsText(!asText)}>{asText ? "as a picture" : "as text"}</button>
        )}
      </div>
      {asText ? <pre>{turtle(lines, names)}</pre> : <Drawing label={title} nodes={[...nodes.values()]} links={links} />}
    </div>
  );
}

function shortened(text: string): string {
  const characters = [...text];
  return characters.length > 40 ? `${characters.slice(0, 24).join("")}…${characters.slice(-14).join("")}` : text;
}
