import { useEffect, useState } from "preact/hooks";
import type { Query, State, WaitingRun } from "../api/answers";
import { askJson } from "../api/client";
import { kindly } from "../model/kindly";
import { clock, Names } from "../model/terms";
import { inWords } from "./why";

const SHOWN_MAX = 50;

/** The partial matches that wait at a state, the newest first; asked for again with each description. */
export function WaitingAt({ query, state }: { query: Query; state: State }) {
  const [waiting, setWaiting] = useState<WaitingRun[]>([]);
  const [trouble, setTrouble] = useState("");
  const names = new Names(query.text);
  useEffect(() => {
    if (typeof state.runs !== "number") return;
    let isWanted = true;
    askJson("GET /v1/queries/{name}/runs", { path: { name: query.name }, query: { state: state.id, limit: SHOWN_MAX } })
      .then((found) => isWanted && (setWaiting(found), setTrouble("")))
      .catch((error: unknown) => isWanted && (setWaiting([]), setTrouble(kindly(error, "partial matches"))));
    return () => {
      isWanted = false;
    };
  }, [query.name, query.text, state]);
  const hidden = Math.max(0, (state.runs ?? 0) - waiting.length);
  return (
    <div class="waiting">
      {trouble !== "" && <p class="faint">{trouble}</p>}
      {waiting.length > 0 && (
        <ol class="reasons" aria-label="Partial matches, the newest first">
          {waiting.map((run, index) => (
            <li key={index}>
              {Object.entries(run.events).map(([step, graphs]) => (
                <span key={step}><b>{step}</b> = {graphs.map((graph) => names.iri(graph)).join(", ")} </span>
              ))}
              <span class="faint">{inWords(run.bindings, names)}</span>
              {run.until !== null && <div>until {clock(run.until)}</div>}
            </li>
          ))}
        </ol>
      )}
      {waiting.length > 0 && hidden > 0 && <p class="faint">and {hidden.toLocaleString("en")} older ones</p>}
    </div>
  );
}
