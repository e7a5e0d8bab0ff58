import type { Query } from "../api/answers";
import { rateText } from "../model/rates";
import { counter, letters, queries } from "../model/service";
import { sizeText } from "../model/sizes";
import { Line } from "../parts/line";

/** All queries, a place for a new one, and the dead letters. */
export function Queries() {
  return (
    <section aria-labelledby="queries-title">
      <h2 id="queries-title">Queries</h2>
      <ul class="list">
        {queries.value.map((query) => <QueryLine key={query.name} query={query} />)}
        <Line to={{ kind: "new" }} isNew name="+ New query" />
      </ul>
      <h2>Left out</h2>
      <ul class="list">
        <Line to={{ kind: "letters" }} name="Dead letters" end={letters.value[0]?.n ?? 0} />
      </ul>
    </section>
  );
}

function QueryLine({ query }: { query: Query }) {
  const name = <><i class={`dot ${query.state}`} aria-hidden="true" />{query.name}</>;
  return (
    <Line to={{ kind: "query", name: query.name }} name={name} end={rateText(counter("query", query.name).rate)}>
      {query.state} · {query.rows.toLocaleString("en")} rows
      {query.runs !== null && ` · ${query.runs.toLocaleString("en")} partial matches`}
      {query.memory !== null && ` · ${sizeText(query.memory)}`}
    </Line>
  );
}
