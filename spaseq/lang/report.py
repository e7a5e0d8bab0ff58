"""The problems of one query text, each with its line and column."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches

from automata.plan.expression import Span
from spaseq.errors import Problem, shortened
from spaseq.lang.codes import Code

_LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""The ends of lines as `str.splitlines` knows them: reports show the lines that it gives."""
_NAMES_SHOWN_MAX = 12
PROBLEMS_MAX = 1_000
"""Errors of one text that are kept, and warnings."""
_MORE_HINT = f"there are more than {PROBLEMS_MAX:,} of them: the others are not shown"
_CHOICES_MAX = 50
"""Hints of one text that name what would be right: as many as problems are shown."""
_COMPARED_MAX = 1_000
"""Names that a wrong one is compared with; of more, none is guessed."""
_GUESSED_CHARACTERS_MAX = 100
"""Characters of a name that is compared with others."""


class Report:
    """Every error and warning found in one text so far."""

    def __init__(self, text: str) -> None:
        self._line_starts, self._line_ends = array("q", [0]), array("q")
        for found in _LINE_END.finditer(text):
            self._line_starts.append(found.end())
            self._line_ends.append(found.start() if found[0][0] in "\r\n" else found.end())
        self._line_ends.append(len(text))
        self._problems: dict[str, set[Problem]] = {"error": set(), "warning": set()}
        self._more: set[str] = set()
        self._error_offsets: list[int] = []
        self._choices = 0

    def add(self, code: Code, span: Span, message: str, hint: str = "") -> None:
        """Adds a problem: its code says whether it is an error, which makes the query unusable, or a warning."""
        if code.severity == "error":
            insort(self._error_offsets, span.start)
        kept = self._problems[code.severity]
        if len(kept) < PROBLEMS_MAX:
            kept.add(self._problem(code, span, shortened(message), shortened(hint)))
        else:
            self._more.add(code.severity)

    @property
    def failed(self) -> bool:
        """True if there is an error."""
        return bool(self._error_offsets)

    def error_within(self, span: Span) -> bool:
        """True if an error starts inside the span or at its end."""
        place = bisect_left(self._error_offsets, span.start)
        return place < len(self._error_offsets) and self._error_offsets[place] <= span.end

    def problems(self) -> tuple[Problem, ...]:
        """The problems in order of position; at one position errors come first. The last one says if there are more."""
        kept = [problem for some in self._problems.values() for problem in some]
        kept.sort(key=lambda p: (p.line, p.column, p.severity, p.message))
        for severity in self._more:
            last = max(place for place, problem in enumerate(kept) if problem.severity == severity)
            kept[last] = replace(kept[last], hint=_MORE_HINT)
        return tuple(kept)

    def choices_hint(self, word: str, candidates: Iterable[str], otherwise: str) -> str:
        """A hint: the candidate most similar to `word`, else `otherwise` with the list of candidates, else nothing.

        After `_CHOICES_MAX` of them nothing: their cost is not that of one problem.
        """
        self._choices += 1
        if self._choices > _CHOICES_MAX:
            return ""
        known = list(candidates)
        guess = nearest(word, known)
        if guess is not None:
            return f"did you mean '{guess}'?"
        return otherwise.format(listed(known)) if known else ""

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
    """The candidate most similar to `word`, ignoring case; None if none is, or they are too long or too many."""
    if len(word) > _GUESSED_CHARACTERS_MAX:
        return None
    alike = [candidate for candidate in candidates if len(candidate) <= _GUESSED_CHARACTERS_MAX]
    if len(alike) > _COMPARED_MAX:
        return None
    by_folded = {candidate.casefold(): candidate for candidate in sorted(alike)}
    close = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.7)
    return by_folded[close[0]] if close else None
