import { useEffect, useState } from "preact/hooks";
import type { Query, Validation } from "../api/answers";
import { Refused } from "../api/client";
import { changeState, formatted, putQuery, removeQuery, type Since } from "../model/changes";
import { attempt } from "../model/notices";
import { rateText } from "../model/rates";
import { select } from "../model/selection";
import { counter, queries, standing } from "../model/service";
import { sizeText } from "../model/sizes";
import { Facts } from "../parts/facts";
import { EditorPane } from "./editor_pane";
import { Examples } from "./examples";
import { Problems } from "./problems";
import { Results } from "./results";

const NOTHING: Validation = { problems: [], warnings: [] };

/** A query: its text, what can be done with it, and what it finds; null: one that is not there yet. */
export function QueryView({ name }: { name: string | null }) {
  const query = queries.value.find((each) => each.name === name);
  const [text, setText] = useState(query?.text ?? "");
  const [given, setGiven] = useState({ text });
  const [found, setFound] = useState(NOTHING);
  const [newName, setNewName] = useState("");
  const [since, setSince] = useState<Since>("window");
  const stored = query?.text;
  useEffect(() => {
    if (stored !== undefined) setGiven({ text: stored });
  }, [stored]);
  if (name !== null && query === undefined) {
    return <p class="faint">{standing.value === "ready" ? `There is no query ${name}.` : "…"}</p>;
  }
  const wanted = name ?? newName.trim();

  const save = () =>
    attempt(`${wanted} ${name === null ? "runs" : "is replaced"}`, async () => {
      if (wanted === "") throw new Error("the query needs a name");
      try {
        await putQuery(wanted, text, name === null ? "now" : since);
      } catch (error) {
        if (error instanceof Refused && error.problems.length > 0) setFound({ ...found, problems: error.problems });
        throw error;
      }
      if (name === null) select({ kind: "query", name: wanted });
    });

  const format = () => attempt("", async () => setGiven({ text: await formatted(text) }));

  return (
    <section class="fill" aria-labelledby="query-title">
      <div class="title-row">
        {name === null
          ? (
            <>
              <h2 id="query-title">New query</h2>
              <label>
                Query name{" "}
                <input value={newName} onInput={(event) => setNewName(event.currentTarget.value)} required size={16} />
              </label>
              <Examples open={(example) => (setGiven(example), setNewName(newName || example.name))} />
            </>
          )
          : <h2 id="query-title">{name}</h2>}
        {query && <State query={query} />}
        {query && <Counts query={query} />}
        <span class="grow" />
        <button type="button" onClick={() => void format()}>Format</button>
        {query && <Changes query={query} />}
        {query && text !== query.text && (
          <label>
            Its state{" "}
            <select value={since} onChange={(event) => setSince(event.currentTarget.value as Since)}>
              <option value="window">is made from the open windows</option>
              <option value="now">begins anew</option>
            </select>
          </label>
        )}
        <button type="button" class="primary" onClick={() => void save()} title="Ctrl-Enter">
          {name === null ? "Run" : "Replace"}
        </button>
      </div>
      {query?.error && <p class="bad">{query.error.detail ?? query.error.title}</p>}
      <EditorPane given={given} changed={setText} checked={setFound} submitted={() => void save()} />
      <Problems found={found} text={text} />
      {query && <Results query={query} />}
    </section>
  );
}

function State({ query }: { query: Query }) {
  return <span class={`badge ${query.state}`}>{query.state}</span>;
}

/** Rows, how fast they come, and what the query holds. */
function Counts({ query }: { query: Query }) {
  const memory = query.memory === null ? "not measured yet" : sizeText(query.memory);
  return (
    <Facts
      facts={[
        ["rows", query.rows.toLocaleString("en")],
        ["rows a second", rateText(counter("query", query.name).rate)],
        ["memory", memory],
      ]}
    />
  );
}

function Changes({ query }: { query: Query }) {
  const { name } = query;
  const isPaused = query.state === "paused";
  return (
    <>
      <button type="button" onClick={() => void changeState(name, isPaused ? "resume" : "pause")}>
        {isPaused ? "Resume" : "Pause"}
      </button>
      <button type="button" class="danger" onClick={() => void removeQuery(name)}>Delete</button>
    </>
  );
}
