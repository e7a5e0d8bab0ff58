import { useEffect, useState } from "preact/hooks";
import type { Description, Edge, Query } from "../api/answers";
import { askJson, said } from "../api/client";
import { type Choice, Drawing } from "../parts/drawing";
import { FunnelOf } from "./funnel";
import { WaitingAt } from "./waiting";

const AGAIN_MS = 1_000;

/** The automaton of a query, with the partial matches that wait and the edges that were taken. */
export function Automaton({ query }: { query: Query }) {
  const { description, trouble } = useDescription(query);
  const [chosen, choose] = useState<Choice | null>(null);
  if (description === null) return <p class={trouble === "" ? "faint" : "bad"}>{trouble || "…"}</p>;
  const most = Math.max(1, ...description.edges.map((edge) => edge.taken ?? 0));
  const nodes = description.states.map((state) => ({
    id: String(state.id),
    label: state.label,
    kind: state.kind,
    count: state.kind === "start" || state.kind === "accept" ? undefined : counted(state.runs),
  }));
  const links = description.edges.map((edge) => ({
    from: String(edge.source),
    to: String(edge.target),
    label: moveText(edge),
    count: counted(edge.taken),
    width: 1.3 + (3 * Math.log1p(edge.taken ?? 0)) / Math.log1p(most),
  }));
  return (
    <div class="automaton">
      <p>{description.sentences.join(" ")}</p>
      <p class="faint">
        At a state: partial matches that wait there now. At an edge: how often it was taken. Choose one to see more.
      </p>
      <Drawing label={`Automaton of ${query.name}`} nodes={nodes} links={links} chosen={chosen} choose={choose} />
      <div aria-live="polite">
        {chosen?.kind === "node" && <StateDetail query={query} description={description} index={chosen.index} />}
        {chosen?.kind === "link" && <EdgeDetail query={query} description={description} index={chosen.index} />}
      </div>
      <details>
        <summary>How it is run</summary>
        <p>{description.evaluator.name}: {description.evaluator.reason}</p>
        {description.evaluator.form && <p>{description.evaluator.form}: {description.evaluator.form_reason}</p>}
        <ul>
          {description.evaluator.alternatives.map((each) => (
            <li key={each.evaluator}>not {each.evaluator}: {each.why_not}</li>
          ))}
        </ul>
      </details>
    </div>
  );
}

function useDescription(query: Query): { description: Description | null; trouble: string } {
  const [description, setDescription] = useState<Description | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    const round = () =>
      askJson("GET /v1/queries/{name}/explain", { path: { name: query.name } })
        .then((found) => (setDescription(found), setTrouble("")))
        .catch((error: unknown) => setTrouble(said(error)));
    void round();
    const timer = setInterval(() => void round(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [query.name, query.text]);
  return { description, trouble };
}

function StateDetail({ query, description, index }: { query: Query; description: Description; index: number }) {
  const state = description.states[index];
  if (state === undefined) return null;
  const outgoing = description.edges.filter((edge) => edge.source === state.id);
  return (
    <section class="detail" aria-label={`State ${state.label}`}>
      <h3>{state.label}</h3>
      {typeof state.runs === "number" && <p>{state.runs.toLocaleString("en")} partial matches wait here.</p>}
      <ul>
        {outgoing.map((edge, number) => (
          <li key={number}>
            {edge.label === "" ? "They are complete" : <>They wait for <b>{moveText(edge)}</b></>}
            {edge.notes.length > 0 && ` (${edge.notes.join("; ")})`}
            {edge.label !== "" && <Plan description={description} edge={edge} />}
          </li>
        ))}
      </ul>
      {state.kind !== "start" && <WaitingAt key={state.id} query={query} state={state} />}
    </section>
  );
}

function EdgeDetail({ query, description, index }: { query: Query; description: Description; index: number }) {
  const edge = description.edges[index];
  if (edge === undefined) return null;
  const from = description.states.find((state) => state.id === edge.source)?.label ?? "";
  return (
    <section class="detail" aria-label={`Edge ${moveText(edge)}`}>
      <h3>{from} → {moveText(edge)}</h3>
      <p>{edge.notes.join("; ")}</p>
      <Plan description={description} edge={edge} />
      <FunnelOf key={index} query={query} edge={edge} from={from} />
    </section>
  );
}

/** What the steps of an edge ask of an event. */
function Plan({ description, edge }: { description: Description; edge: Edge }) {
  const names = new Set(edge.label.match(/\w+/g));
  return (
    <>
      {description.patterns.filter((pattern) => names.has(pattern.name)).map((pattern) => (
        <div key={pattern.name}>
          <span class="faint">{pattern.name} on {pattern.streams.join(", ")}</span>
          <pre>{pattern.plan.join("\n")}</pre>
          {pattern.conditions.map((each) => <div key={each.text}><code>{each.text}</code> {each.decided}</div>)}
        </div>
      ))}
    </>
  );
}

function moveText(edge: Edge): string {
  return `${edge.operator} ${edge.label}`.trim();
}

/** A number to show; undefined where it is not known. */
function counted(number: number | null | undefined): string | undefined {
  return typeof number === "number" ? number.toLocaleString("en") : undefined;
}
