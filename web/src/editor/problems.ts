import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import type { ProblemInText, Validation } from "../api/answers";
import { askJson } from "../api/client";

const TOKEN = /^(?:<[^>\s]*>?|"[^"\n]*"?|[?$]?[\w.-]+(?::[\w.-]*)?|\S)/;

/** The problems and warnings of a text, as the service sees them. */
export function validated(text: string): Promise<Validation> {
  return askJson("POST /v1/validate", { body: { media: "application/x-spaseq", value: text } });
}

/** Problems where they stand in the text. */
export function diagnostics(found: Validation, text: Text): Diagnostic[] {
  return [
    ...found.problems.map((problem) => diagnostic(problem, "error", text)),
    ...found.warnings.map((problem) => diagnostic(problem, "warning", text)),
  ].sort((one, other) => one.from - other.from);
}

function diagnostic(problem: ProblemInText, severity: "error" | "warning", text: Text): Diagnostic {
  const line = text.line(Math.min(Math.max(1, problem.line), text.lines));
  const characters = [...line.text].slice(0, Math.max(0, problem.column - 1)).join("").length;
  const from = line.from + Math.min(characters, line.length);
  const length = TOKEN.exec(line.text.slice(from - line.from))?.[0].length ?? 0;
  const message = problem.hint === "" ? problem.message : `${problem.message}\nhint: ${problem.hint}`;
  return { from, to: Math.min(from + Math.max(1, length), text.length), severity, source: problem.code, message };
}
