import type { Query } from "../api/answers";
import { rateText } from "../model/rates";
import { select, selection } from "../model/selection";
import { counter, letters, queries } from "../model/service";
import { sizeText } from "../model/sizes";

/** All queries, a place for a new one, and the dead letters. */
export function Queries() {
  const { kind } = selection.value;
  return (
    <section aria-labelledby="queries-title">
      <h2 id="queries-title">Queries</h2>
      <ul class="list">
        {queries.value.map((query) => <Line key={query.name} query={query} />)}
        <li>
          <button
            type="button"
            class="item new"
            aria-current={kind === "new" ? "page" : undefined}
            onClick={() => select({ kind: "new" })}
          >
            <span class="item-name">+ New query</span>
          </button>
        </li>
      </ul>
      <h2>Left out</h2>
      <ul class="list">
        <li>
          <button
            type="button"
            class="item"
            aria-current={kind === "letters" ? "page" : undefined}
            onClick={() => select({ kind: "letters" })}
          >
            <span class="item-name">Dead letters</span>
            <span class="item-rate">{letters.value[0]?.n ?? 0}</span>
          </button>
        </li>
      </ul>
    </section>
  );
}

function Line({ query }: { query: Query }) {
  const chosen = selection.value.kind === "query" && selection.value.name === query.name;
  return (
    <li>
      <button
        type="button"
        class="item"
        aria-current={chosen ? "page" : undefined}
        onClick={() => select({ kind: "query", name: query.name })}
      >
        <span class="item-name"><i class={`dot ${query.state}`} aria-hidden="true" />{query.name}</span>
        <span class="item-rate">{rateText(counter("query", query.name).rate)}</span>
        <span class="item-more">
          {query.state} · {query.rows.toLocaleString("en")} rows
          {query.runs !== null && ` · ${query.runs.toLocaleString("en")} partial matches`}
          {query.memory !== null && ` · ${sizeText(query.memory)}`}
        </span>
      </button>
    </li>
  );
}
