import { useState } from "preact/hooks";
import type { Bindings, Query, Row, Why } from "../api/answers";
import { askJson } from "../api/client";
import { kindly } from "../model/kindly";
import { clock, type Names } from "../model/terms";
import { turtle } from "../model/triples";

/** The question why a row is there, and its answer. */
export function WhyOf({ query, row, names }: { query: Query; row: Row; names: Names }) {
  const [why, setWhy] = useState<Why[] | null>(null);
  const [trouble, setTrouble] = useState("");
  const ask = () => {
    setTrouble("looking…");
    const body = { media: "application/json", value: { match: row.n } } as const;
    askJson("POST /v1/queries/{name}/why", { path: { name: query.name }, body })
      .then((found) => (setWhy("matches" in found ? found.matches : [found]), setTrouble("")))
      .catch((error: unknown) => setTrouble(kindly(error, "reasons")));
  };
  return (
    <div class="why">
      <div class="row">
        <button type="button" onClick={ask}>Why?</button>
        <span role="status">{trouble}</span>
      </div>
      {why?.map((match, index) => <Reasons key={index} why={match} names={names} />)}
    </div>
  );
}

function Reasons({ why, names }: { why: Why; names: Names }) {
  return (
    <ol class="reasons">
      {why.steps.map((step, index) => (
        <li key={index}>
          <b>{step.step}</b> took <code>{names.iri(step.event)}</code> with {inWords(step.bindings, names)}
          <pre>{turtle(step.triples, names)}</pre>
          {Object.entries(step.kb).map(([iri, lines]) => (
            <div key={iri}><span class="faint">from {names.iri(iri)}</span><pre>{turtle(lines, names)}</pre></div>
          ))}
          {step.conditions.map((each, place) => (
            <div key={place}>
              {each.holds === false ? "✗" : "✓"} <code>{each.text}</code> <span class="faint">{inWords(each.values, names)}</span>
            </div>
          ))}
        </li>
      ))}
      {why.absent.map((gap, index) => (
        <li key={`absent ${index}`}>no <b>{gap.step}</b> from {clock(gap.from)} to {clock(gap.to)}</li>
      ))}
    </ol>
  );
}

/** `?a = 1, ?b = :x` */
export function inWords(bindings: Bindings, names: Names): string {
  return Object.entries(bindings).map(([name, term]) => `?${name} = ${names.term(term)}`).join(", ");
}
