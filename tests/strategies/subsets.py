"""Random queries whose repetitions take any subset of events, and of whose matches few count."""

from __future__ import annotations

from dataclasses import dataclass

from tests.strategies.keyed import PlainSequence
from tests.strategies.query import QueryText, StepText
from tests.strategies.sequence import Context, Item, SequenceText


@dataclass(slots=True)
class SubsetSequence(PlainSequence):
    """A SEQ of steps, choices, conjunctions and groups, repeated with `:`."""

    def contiguity(self) -> str:
        """`:`, most often."""
        return self.dice.weighted([(":", 12), (";", 1), (",", 1)])

    def mandatory(self, context: Context, depth: int) -> Item:
        """Repeated, more often."""
        if depth < 2 and self.dice.chance(30):
            return Item(f"{self.step(self.within(context))}{self.quantifier()}")
        return SequenceText.mandatory(self, context, depth)

    def conjunction(self, context: Context) -> Item:
        """One at times."""
        return (
            SequenceText.conjunction(self, context)
            if self.dice.chance(50)
            else PlainSequence.conjunction(self, context)
        )


@dataclass(slots=True)
class SubsetText(QueryText):
    """Draws one query with a selector, AFTER MATCH, DISTINCT or LIMIT."""

    def sequence(self) -> SequenceText:
        """See `QueryText`."""
        return SubsetSequence(self.dice)

    def condition(self, step: StepText) -> str | None:
        """A filter at times."""
        return QueryText.condition(self, step) if self.dice.chance(40) else None

    def form(self) -> str:
        """SELECT or CONSTRUCT, with a selector more often than not."""
        selector = self.dice.weighted([("", 6), ("STRICT ", 1), ("NEXT ", 2), ("LAST ", 2), ("MAX ", 3)])
        drawn = QueryText.form(self)
        for known in ("ALL ", "STRICT ", "NEXT ", "LAST ", "MAX "):
            drawn = drawn.replace(f"SELECT {known}", "SELECT ").replace(f"CONSTRUCT {known}", "CONSTRUCT ")
        return drawn.replace("SELECT ", f"SELECT {selector}").replace("CONSTRUCT ", f"CONSTRUCT {selector}")

    def modifiers(self) -> str:
        """AFTER MATCH and LIMIT, more often."""
        text = f"AFTER MATCH {self.dice.pick(*self.skips())}\n" if self.dice.chance(25) else ""
        return text + (f"LIMIT {self.dice.number(1, 3)}\n" if self.dice.chance(60) else "")
