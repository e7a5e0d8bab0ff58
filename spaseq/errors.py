"""The errors that a user of SPAseq can see.

SPAseqError              everything below
├── QueryError           the text of a query is wrong; carries every Problem found
├── InputError           a stream, knowledge base or option cannot be used: what was tried, on what, the way out
└── RunError             the run failed: what was attempted, on what, what happens next
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a query text.

    line, column    of the first character of the offending token, counted from 1 in code points
    length          of the offending token in code points, at least 1: the carets drawn under it
    severity        "error" or "warning"
    """

    message: str
    line: int
    column: int
    length: int
    hint: str = ""
    severity: str = "error"


class SPAseqError(Exception):
    """Base of all errors meant for users. `line` and `column` are 0 where there is no text to point at."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint


class QueryError(SPAseqError):
    """The text of a query is wrong; `str()` is the report of all its problems, each with line, caret and hint."""

    def __init__(self, problems: Sequence[Problem], text: str, name: str) -> None:
        first = problems[0]
        super().__init__(
            "\n".join(render_problem(problem, text, name) for problem in problems),
            line=first.line,
            column=first.column,
            hint=first.hint,
        )
        self.problems = tuple(problems)


class InputError(SPAseqError):
    """A stream, a knowledge base, a file or an option cannot be used."""


class RunError(SPAseqError):
    """The run failed after it had started."""


def render_problem(problem: Problem, text: str, name: str) -> str:
    """`NAME:LINE:COL: error: …` with the line of the text, carets, and a hint."""
    lines = text.splitlines()
    source = lines[problem.line - 1] if problem.line <= len(lines) else ""
    shown = "".join("\t" if character == "\t" else " " for character in source[: problem.column - 1])
    parts = [f"{name}:{problem.line}:{problem.column}: {problem.severity}: {problem.message}"]
    parts += [f"  {source}", f"  {shown}{'^' * max(1, problem.length)}"]
    if problem.hint:
        parts.append(f"  hint: {problem.hint}")
    return "\n".join(parts)
