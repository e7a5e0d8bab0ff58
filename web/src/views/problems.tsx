import type { ProblemInText, Validation } from "../api/answers";
import { declare, undeclared } from "../model/changes";

/** What is wrong with a text and what is doubtful, in words; the editor underlines it. */
export function Problems({ found, text }: { found: Validation; text: string }) {
  const missing = undeclared(text);
  return (
    <div class="problems" aria-live="polite">
      <ul>
        {found.problems.map((problem, index) => <Line key={index} problem={problem} kind="error" />)}
        {found.warnings.map((problem, index) => <Line key={`w${index}`} problem={problem} kind="warning" />)}
      </ul>
      {missing.length > 0 && (
        <button type="button" onClick={() => void declare(missing)}>
          Declare {missing.length === 1 ? `the stream ${missing[0]?.name}` : `${missing.length} streams`}
        </button>
      )}
    </div>
  );
}

function Line({ problem, kind }: { problem: ProblemInText; kind: "error" | "warning" }) {
  return (
    <li class={kind}>
      <b>{problem.line}:{problem.column}</b> {problem.code} {problem.message}
      {problem.hint !== "" && <span class="faint"> — {problem.hint}</span>}
    </li>
  );
}
