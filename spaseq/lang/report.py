"""The problems of one query text, each with its line and column."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import accumulate, pairwise

from automata.plan.expression import Span
from spaseq.errors import Problem
from spaseq.lang.codes import Code

_NAMES_SHOWN_MAX = 12


class Report:
    """Every error and warning found in one text so far."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines(keepends=True)
        self._line_starts = [0, *accumulate(len(line) for line in lines)]
        if lines and lines[-1] == lines[-1].rstrip("\r\n"):
            self._line_starts.pop()
        borders = pairwise([*self._line_starts, len(text)])
        self._line_ends = [start + len(text[start:end].rstrip("\r\n")) for start, end in borders]
        self._problems: set[Problem] = set()
        self._error_offsets: list[int] = []

    def add(self, code: Code, span: Span, message: str, hint: str = "") -> None:
        """Adds a problem: its code says whether it is an error, which makes the query unusable, or a warning."""
        if code.severity == "error":
            insort(self._error_offsets, span.start)
        self._problems.add(self._problem(code, span, message, hint))

    @property
    def failed(self) -> bool:
        """True if there is an error."""
        return bool(self._error_offsets)

    def error_within(self, span: Span) -> bool:
        """True if an error starts inside the span or at its end."""
        place = bisect_left(self._error_offsets, span.start)
        return place < len(self._error_offsets) and self._error_offsets[place] <= span.end

    def problems(self) -> tuple[Problem, ...]:
        """All problems in order of position; at one position errors come first."""
        return tuple(sorted(self._problems, key=lambda p: (p.line, p.column, p.severity, p.message)))

    def _problem(self, code: Code, span: Span, message: str, hint: str) -> Problem:
        line = max(0, bisect_right(self._line_starts, span.start) - 1)
        start, line_end = self._line_starts[line], self._line_ends[line]
        length = max(1, min(span.end, line_end) - span.start)
        return Problem(code.code, message, line + 1, span.start - start + 1, length, hint, code.severity)


def listed(names: Iterable[str]) -> str:
    """`a, b, c` in alphabetical order, cut short when there are many."""
    ordered = sorted(set(names))
    shown = ", ".join(ordered[:_NAMES_SHOWN_MAX])
    return f"{shown}, …" if len(ordered) > _NAMES_SHOWN_MAX else shown


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most similar to `word`, ignoring case; None if none is similar."""
    by_folded = {candidate.casefold(): candidate for candidate in sorted(candidates)}
    close = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.7)
    return by_folded[close[0]] if close else None


def choices_hint(word: str, candidates: Iterable[str], otherwise: str) -> str:
    """A hint: the candidate most similar to `word`, else `otherwise` with the list of candidates, else nothing."""
    known = list(candidates)
    guess = nearest(word, known)
    if guess is not None:
        return f"did you mean '{guess}'?"
    return otherwise.format(listed(known)) if known else ""
