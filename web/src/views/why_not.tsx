import { useState } from "preact/hooks";
import type { Query, WhyNot } from "../api/answers";
import { askJson } from "../api/client";
import { kindly } from "../model/kindly";
import { bindingsOf, Names } from "../model/terms";
import { inWords } from "./why";

/** The question why there is no match, with bindings and a period, and the attempts that came furthest. */
export function WhyNotOf({ query }: { query: Query }) {
  const [found, setFound] = useState<WhyNot | null>(null);
  const [trouble, setTrouble] = useState("");
  const names = new Names(query.text);
  const ask = (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(given.get(name)).trim();
    setTrouble("looking…");
    setFound(null);
    answered(query, text("bindings"), text("from"), text("to"), names)
      .then((answer) => (setFound(answer), setTrouble("")))
      .catch((error: unknown) => setTrouble(kindly(error, "reasons")));
  };
  return (
    <div class="why-not">
      <form class="stack" onSubmit={ask}>
        <label>
          The match that is missing has these values, one a line; none: any match
          <textarea name="bindings" rows={2} placeholder={"?house = :H1"} />
        </label>
        <div class="row">
          <label>from <input name="from" placeholder="2026-01-01T00:00:00Z" /></label>
          <label>to <input name="to" placeholder="2026-01-01T01:00:00Z" /></label>
          <button type="submit">Why not?</button>
          <span role="status">{trouble}</span>
        </div>
      </form>
      {found && <Attempts found={found} names={names} />}
    </div>
  );
}

function answered(query: Query, lines: string, from: string, to: string, names: Names): Promise<WhyNot> {
  const value = {
    ...(lines === "" ? {} : { bindings: bindingsOf(lines, names) }),
    ...(from === "" ? {} : { from }),
    ...(to === "" ? {} : { to }),
  };
  const body = { media: "application/json", value } as const;
  return askJson("POST /v1/queries/{name}/why-not", { path: { name: query.name }, body });
}

function Attempts({ found, names }: { found: WhyNot; names: Names }) {
  return (
    <>
      <p>{found.matches === 0 ? "No match fits. The attempts that came furthest:" : `${found.matches} matches fit.`}</p>
      <ol class="reasons">
        {found.attempts.map((attempt, index) => (
          <li key={index}>
            {Object.entries(attempt.events).map(([step, graphs]) => (
              <span key={step}><b>{step}</b> = {graphs.map((graph) => names.iri(graph)).join(", ")} </span>
            ))}
            <span class="faint">{inWords(attempt.bindings, names)}</span>
            <div>
              then <b>{attempt.step}</b>
              {attempt.event && <> with <code>{names.iri(attempt.event)}</code></>}:{" "}
              <span class="bad">{[attempt.cause, ...attempt.also].join(", ")}</span>
            </div>
            <div>{attempt.repair}</div>
            <details>
              <summary>Details</summary>
              <pre>{JSON.stringify(attempt.detail, null, 2)}</pre>
            </details>
          </li>
        ))}
      </ol>
    </>
  );
}
