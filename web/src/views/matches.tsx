import { useState } from "preact/hooks";
import type { Query, Row } from "../api/answers";
import type { Feed } from "../model/feed";
import { rateText } from "../model/rates";
import { counter } from "../model/service";
import { clock, Names } from "../model/terms";
import { Grid } from "../parts/grid";
import { Match } from "./match";

/** The rows of a query as they come; the chosen one is shown closely. */
export function Matches({ query, feed }: { query: Query; feed: Feed }) {
  const [chosen, choose] = useState<number | null>(null);
  const [follow, setFollow] = useState(true);
  feed.version.value;
  const names = new Names(query.text);
  const variables = feed.variables.value;
  const columns = ["n", "time", ...(variables.length > 0 ? variables.map((name) => `?${name}`) : ["row"])];
  const { first, count } = feed;
  const row = chosen === null ? undefined : feed.row(chosen);
  return (
    <div class="matches">
      <div class="row">
        <span>
          {count.toLocaleString("en")} rows, {rateText(counter("query", query.name).rate)}
        </span>
        <label>
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} /> follow
        </label>
        {feed.trouble.value !== "" && <span class="bad">{feed.trouble.value}; trying again</span>}
      </div>
      <Grid
        label={`Rows of ${query.name}`}
        columns={columns}
        count={count}
        cells={(index) => {
          const row = feed.row(first + index);
          return row === undefined ? null : [row.n, clock(row.time), ...cells(row, variables, names)];
        }}
        chosen={chosen === null ? null : chosen - first}
        choose={(index) => (setFollow(false), choose(first + index))}
        follow={follow}
      />
      {row && <Match query={query} row={row} feed={feed} choose={choose} />}
    </div>
  );
}

function cells(row: Row, variables: readonly string[], names: Names): string[] {
  if (row.bindings === undefined) return [`${names.iri(row.graph ?? "")}: ${row.triples?.length ?? 0} triples`];
  return variables.map((name) => {
    const term = row.bindings?.[name];
    return term === undefined ? "" : names.term(term);
  });
}
