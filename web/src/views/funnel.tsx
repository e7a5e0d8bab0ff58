import { useState } from "preact/hooks";
import type { Edge, Funnel, Query } from "../api/answers";
import { askJson } from "../api/client";
import { kindly } from "../model/kindly";

/** The funnel of an edge: what each part of its steps' patterns left over, counted when it is asked for. */
export function FunnelOf({ query, edge, from }: { query: Query; edge: Edge; from: string }) {
  const [funnel, setFunnel] = useState<Funnel | null>(null);
  const [trouble, setTrouble] = useState("");
  const count = () => {
    setTrouble("counting…");
    askJson("GET /v1/queries/{name}/funnel", { path: { name: query.name } })
      .then((found) => (setFunnel(found), setTrouble("")))
      .catch((error: unknown) => setTrouble(kindly(error, "the funnel")));
  };
  if (funnel === null) {
    return <p><button type="button" onClick={count}>Count the funnel</button> <span role="status">{trouble}</span></p>;
  }
  const names = new Set(edge.label.match(/\w+/g));
  const counted = funnel.edges.find((each) => each.from === from && names.has(each.to));
  return (
    <div>
      {funnel.steps.filter((step) => names.has(step.step)).map((step) => <Steps key={step.step} step={step} />)}
      {counted && counted.waited !== null && (
        <p>{counted.waited} partial matches waited, {counted.took} took it.</p>
      )}
      {Object.entries(counted?.lost ?? {}).map(([cause, number]) => <p key={cause}>{number} lost: {cause}</p>)}
    </div>
  );
}

function Steps({ step }: { step: Funnel["steps"][number] }) {
  const parts = [
    ...step.patterns.map((each) => ({ text: each.text, left: each.left, alone: each.alone })),
    ...step.filters.map((each) => ({ text: each.text, left: each.left, alone: null })),
    ...step.kbs.map((each) => ({ text: `knowledge base ${each.iri}`, left: each.left, alone: null })),
  ];
  const width = (count: number) => `${(100 * count) / Math.max(1, step.seen)}%`;
  return (
    <table class="funnel">
      <caption>{step.step}: {step.seen.toLocaleString("en")} events seen, {step.solutions.toLocaleString("en")} solutions</caption>
      <thead><tr><th scope="col">part</th><th scope="col">alone</th><th scope="col">left</th></tr></thead>
      <tbody>
        {parts.map((part, index) => (
          <tr key={index}>
            <td><code>{part.text}</code></td>
            <td>{part.alone ?? ""}</td>
            <td><span class="bar" style={`width: ${width(part.left)}`} />{part.left}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
