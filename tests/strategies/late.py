"""Random queries whose matches are decided late, by the end of a window: trailing negations and optional steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.strategies.query import QueryText
from tests.strategies.sequence import Context, Dice, Item, SequenceText

WINDOWS = (
    ("WITHIN 3 EVENTS", 2),
    ("WITHIN 5 EVENTS", 2),
    ("WITHIN 6 EVENTS", 1),
    ("WITHIN 4 EVENTS STARTING AT 1", 1),
    ("WITHIN 3 EVENTS SLIDING", 2),
    ("WITHIN 5 EVENTS SLIDING", 2),
    ("WITHIN 4 SECONDS", 2),
    ("WITHIN 2 SECONDS SLIDING", 1),
    ("WITHIN 4 SECONDS SLIDING", 3),
)


@dataclass(slots=True)
class LateSequence(SequenceText):
    """A SEQ whose matches may have to wait for the end of the window."""

    def whole(self, limited: int = 40) -> str:
        """See `SequenceText`."""
        context: Context = ((), ())
        self.limited = self.dice.chance(limited)
        first = self.mandatory(context, 1)
        items = [first, *(self.anything(context, 1) for _ in range(self.dice.number(0, 1))), self.ending(context)]
        return "".join([items[0].text, *(f" {self.dice.pick(':', ':', ';')} {item.text}" for item in items[1:])])

    def ending(self, context: Context) -> Item:
        """An item after which something must not happen, at least in one of its alternatives."""
        match self.dice.weighted([("never", 4), ("maybe", 3), ("branch", 1), ("both", 1)]):
            case "maybe":
                return self.maybe(context, 0)
            case "branch":
                step, other = self.step(context), self.step(context)
                return Item(f"({step} | ({other} : {self.never(context).text}))")
            case "both":
                before, first = self.never(context).text, self.step(context)
                second, after = self.step(context), self.never(context).text
                return Item(f"(({before} {self.dice.pick(':', ',', ';')} {first}) | ({second} : {after}))")
        return self.never(context)


@dataclass(slots=True)
class LateText(QueryText):
    """Draws one query."""

    PARTITIONED: ClassVar[int] = 60

    def sequence(self) -> SequenceText:
        """See `QueryText`."""
        return LateSequence(self.dice)

    def window(self) -> str:
        """Short ones, most of them of events."""
        return self.dice.weighted(WINDOWS)

    def modifiers(self) -> str:
        """AFTER MATCH and LIMIT, more often."""
        text = f"AFTER MATCH {self.dice.pick(*self.skips())}\n" if self.dice.chance(40) else ""
        return text + (f"LIMIT {self.dice.number(1, 2)}\n" if self.dice.chance(15) else "")


@st.composite
def late_queries(draw: DrawFn) -> str:
    """A random query text over streams S1 and, at times, S2."""
    return LateText(Dice(draw)).whole()
