"""Random queries OVER MATCHES: groups of matches in windows that tumble, hop and slide."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.strategies.late import LateSequence
from tests.strategies.query import QueryText
from tests.strategies.sequence import Dice, SequenceText

WINDOWS = (
    ("WITHIN 100 SECONDS", 3),
    ("WITHIN 5 SECONDS", 2),
    ("WITHIN 4 SECONDS EVERY 2 SECONDS", 4),
    ("WITHIN 5 SECONDS EVERY 2 SECONDS", 3),
    ("WITHIN 6 SECONDS EVERY 6 SECONDS", 1),
    ('WITHIN 5 SECONDS EVERY 3 SECONDS STARTING AT "2026-01-01T00:00:02Z"', 2),
    ("WITHIN 5 SECONDS SLIDING", 3),
    ("WITHIN 5 EVENTS SLIDING", 2),
    ("WITHIN 6 EVENTS", 1),
    ("WITHIN 6 EVENTS EVERY 2 EVENTS", 2),
    ("WITHIN 5 EVENTS EVERY 3 EVENTS STARTING AT 1", 2),
)
FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")


@dataclass(slots=True)
class OverText(QueryText):
    """Draws one query; `late`: its matches may be decided by the end of a window."""

    CONSTRUCTED: ClassVar[int] = 15

    late: bool = False
    grouped: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    within: str = ""

    def sequence(self) -> SequenceText:
        """See `QueryText`."""
        return LateSequence(self.dice) if self.late else SequenceText(self.dice)

    def window(self) -> str:
        """Of all kinds."""
        return self.within

    def partition(self) -> str:
        """PARTITION BY the key, but not where each partition would count the events of a window that it shares."""
        self.within = self.within or self.dice.weighted(WINDOWS)
        allowed = "EVENTS" not in self.within or "SLIDING" in self.within
        return QueryText.partition(self) if allowed else ""

    def form(self) -> str:
        """SELECT or CONSTRUCT OVER MATCHES."""
        variables = sorted({variable for step in self.positive() for variable in step.variables})
        variables += [name for name in (self.computed, self.elapsed) if name]
        construct = self.dice.chance(self.CONSTRUCTED)
        if construct:  # a blank node of GROUP BY has no name that is the same in every run
            variables = [name for name in variables if name not in self.given]
        if variables:
            self.grouped = list(dict.fromkeys(self.dice.pick(*variables) for _ in range(self.dice.number(0, 2))))
        selector = self.dice.weighted([("", 14), ("STRICT ", 1), ("NEXT ", 1), ("LAST ", 1), ("MAX ", 1)])
        aggregates = [self.over(variables) for _ in range(self.dice.number(1, 3))]
        if construct:
            parts = [f":m :k {name} ." for name in self.grouped] + [f":m :x {aggregate} ." for aggregate in aggregates]
            return f"CONSTRUCT {selector}OVER MATCHES {{ {' '.join(parts)} }}"
        shown = [name for name in self.grouped if self.dice.chance(80)]
        self.columns = [f"?x{number}" for number in range(len(aggregates))]
        shown += [f"({value} AS {name})" for value, name in zip(aggregates, self.columns, strict=True)]
        distinct = "DISTINCT " if self.dice.chance(15) else ""
        return f"SELECT {selector}OVER MATCHES {distinct}{' '.join(shown)}"

    def over(self, variables: list[str]) -> str:
        """An aggregate over matches."""
        if not variables or self.dice.chance(35):
            return "COUNT(*)"
        argument = self.dice.pick(*variables)
        values = [variable for variable in variables if variable.startswith("?v")]
        if values and self.dice.chance(60):
            argument = self.dice.pick(*values, f"{self.dice.pick(*values)} * 2", f"1 / {self.dice.pick(*values)}")
        if self.repeated() and self.dice.chance(50):
            argument = f"{self.dice.pick('COUNT', 'SUM', 'MAX', 'FIRST', 'PREV')}({self.dice.pick(*self.repeated())})"
        return f"{self.dice.pick(*FUNCTIONS)}({'DISTINCT ' if self.dice.chance(20) else ''}{argument})"

    def modifiers(self) -> str:
        """GROUP BY, HAVING, AFTER MATCH and LIMIT."""
        text = f"GROUP BY {' '.join(self.grouped)}\n" if self.grouped else ""
        if self.dice.chance(25):
            compared = self.dice.pick("COUNT(*)", *self.columns)
            text += f"HAVING ({compared} {self.dice.pick('>', '<=')} {self.dice.number(1, 3)})\n"
        text += f"AFTER MATCH {self.dice.pick(*self.skips())}\n" if self.dice.chance(20) else ""
        return text + (f"LIMIT {self.dice.number(1, 2)}\n" if self.dice.chance(12) else "")


@st.composite
def over_queries(draw: DrawFn) -> str:
    """A random query text over streams S1 and, at times, S2."""
    dice = Dice(draw)
    return OverText(dice, late=dice.chance(30)).whole()
