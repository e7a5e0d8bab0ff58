"""The errors that a user of SPAseq can see.

SPAseqError              everything below
├── QueryError           the text of a query is wrong; carries every Problem found
├── InputError           a stream, knowledge base or option cannot be used: what was tried, on what, the way out
└── RunError             the run failed: what was attempted, on what, what happens next
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

_PROBLEMS_MAX = 50
_ECHO_COLUMNS_MAX = 160
_MESSAGE_CHARACTERS_MAX = 1_000
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters, directions of text, line ends of other systems, what has no width, lone surrogates."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a query text.

    code            "SQ018": of the kind of problem (`spaseq problem` tells its cause); never given a second meaning
    line, column    of the first character of the offending token, counted from 1 in code points
    length          of the offending token in code points, at least 1: the carets drawn under it
    severity        "error" or "warning"
    """

    code: str
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
        if hint:
            self.add_note(f"hint: {hint}")  # tracebacks end with it, those of Spark's workers too


class QueryError(SPAseqError):
    """The text of a query is wrong; `str()` is the report of its problems, each with line, caret and hint."""

    def __init__(self, problems: Sequence[Problem], text: str, name: str) -> None:
        first = problems[0]
        super().__init__(render_problems(problems, text, name), line=first.line, column=first.column, hint=first.hint)
        self.problems = tuple(problems)


class InputError(SPAseqError):
    """A stream, a knowledge base, a file or an option cannot be used."""


class RunError(SPAseqError):
    """The run failed after it had started."""


def check_all(*checks: Callable[[], object]) -> None:
    """Runs every check; raises RunError with what each of those that fail says."""
    failed: list[RunError] = []
    for check in checks:
        try:
            check()
        except RunError as error:
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    if failed:
        message, hint = ("; ".join(getattr(error, part) for error in failed) for part in ("message", "hint"))
        raise RunError(message, hint=hint) from failed[0]


def warnings_as_errors(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """The problems, each of them an error; codes stay."""
    return tuple(replace(problem, severity="error") for problem in problems)


def render_problems(problems: Sequence[Problem], text: str, name: str) -> str:
    """Each problem as `NAME:LINE:COL: error[CODE]: …` with the line of the text, carets and a hint.

    Of more than `_PROBLEMS_MAX` the first ones, errors before warnings, and how many more there are.
    """
    shown = list(problems)
    if len(shown) > _PROBLEMS_MAX:
        kept = set(sorted(shown, key=lambda problem: problem.severity)[:_PROBLEMS_MAX])
        shown = [problem for problem in problems if problem in kept]
    lines = text.splitlines()
    rendered = [_rendered(problem, lines, name) for problem in shown]
    if len(problems) > len(shown):
        rendered.append(f"{name}: {len(problems) - len(shown):,} more problems are not shown")
    return "\n".join(rendered)


def _rendered(problem: Problem, lines: Sequence[str], name: str) -> str:
    source = lines[problem.line - 1] if problem.line <= len(lines) else ""
    start = max(0, min(problem.column - 1 - _ECHO_COLUMNS_MAX // 2, len(source) - _ECHO_COLUMNS_MAX))
    end = start + _ECHO_COLUMNS_MAX
    before, after = "…" if start else "", "…" if end < len(source) else ""
    indent = "".join("\t" if character == "\t" else " " for character in source[start : problem.column - 1])
    carets = "^" * max(1, min(problem.length, end - problem.column + 1))
    message = _on_one_line(problem.message)
    where = f"{visible(name)}:{problem.line}:{problem.column}"
    parts = [f"{where}: {problem.severity}[{problem.code}]: {message}"]
    parts += [f"  {before}{visible(source[start:end])}{after}", f"  {' ' * len(before)}{indent}{carets}"]
    if problem.hint:
        parts.append(f"  hint: {_on_one_line(problem.hint)}")
    return "\n".join(parts)


def shortened(text: str) -> str:
    """A message or hint of at most `_MESSAGE_CHARACTERS_MAX` characters, cut and with an ellipsis if it is longer."""
    return text if len(text) <= _MESSAGE_CHARACTERS_MAX else f"{text[: _MESSAGE_CHARACTERS_MAX - 1]}…"


def _on_one_line(text: str) -> str:
    return visible(shortened(text)).replace("\n", " ")


def visible(text: str) -> str:
    """The text with `�` for each character that drives a terminal or reorders what it shows; lines and tabs stay."""
    return _HIDDEN.sub("\ufffd", text)
