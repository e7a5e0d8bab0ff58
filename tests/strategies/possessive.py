"""Random queries with possessive repetitions: of steps and groups, in members of ALL( ), before `!` and at the end."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.strategies.query import WINDOWS, QueryText
from tests.strategies.sequence import Context, Dice, Item, SequenceText

_BRIEF = (
    ("WITHIN 3 SECONDS", 1),
    ("WITHIN 3 SECONDS SLIDING", 3),
    ("WITHIN 4 EVENTS", 1),
    ("WITHIN 4 EVENTS SLIDING", 1),
)


@dataclass(slots=True)
class PossessiveSequence(SequenceText):
    """A SEQ with possessive repetitions, one at least."""

    possessive: int = 0

    def whole(self, limited: int = 40) -> str:
        """See `SequenceText`."""
        drawn = SequenceText.whole(self, limited)
        if self.possessive:
            return drawn
        context: Context = ((), ())
        last = f"{self.step(self.within(context))}{self.dice.pick(';', ';', '')}{self.bounds()}{self.limit(40)}"
        if self.dice.chance(40):
            return f"({drawn}) : {last}"
        return f"{last} : ({drawn})"

    def quantifier(self) -> str:
        """A possessive one, more often than not."""
        if self.dice.chance(25):
            return SequenceText.quantifier(self)
        return f"{self.dice.pick(';', ';', ';', ',', '')}{self.bounds()}"

    def bounds(self) -> str:
        """Possessive bounds."""
        self.possessive += 1
        return self.dice.pick("++", "++", "++", "{2,}+", "{1,2}+", "{1,3}+", "{2}+", "{2,3}+")

    def mandatory(self, context: Context, depth: int) -> Item:
        """Repeated, more often; with an ALL( ) inside at times."""
        if depth < 2 and self.dice.chance(40):
            inside = self.within(context)
            if self.dice.chance(60):
                return Item(f"{self.step(inside)}{self.quantifier()}{self.limit(40)}")
            if self.dice.chance(8):
                both = self.any_order(inside).text
                return Item(f"({self.step(inside)} : {both} : {self.step(inside)}){self.quantifier()}")
            group = self.sequence(self.dice.number(1, 2), inside, depth + 1)
            return Item(f"({group.text}){self.quantifier()}{self.limit(30)}", absent=group.absent)
        return SequenceText.mandatory(self, context, depth)

    def maybe(self, context: Context, depth: int) -> Item:
        """`A*+` and `A{0,2}+`, too."""
        if not self.dice.chance(35):
            return SequenceText.maybe(self, context, depth)
        self.possessive += 1
        bound = self.dice.pick("*+", "*+", "{0,2}+", "{0,}+")
        return Item(f"{self.step(self.within(context))}{self.dice.pick(';', ';', ',', '')}{bound}{self.limit(30)}")

    def member(self, context: Context, percent: int) -> str:
        """Possessive, at times."""
        if self.dice.chance(50):
            return SequenceText.member(self, context, percent)
        self.possessive += 1
        return f"{self.step(self.within(context))};{self.dice.pick('++', '{1,2}+')}{self.limit(40)}"


@dataclass(slots=True)
class PossessiveText(QueryText):
    """Draws one query."""

    def sequence(self) -> SequenceText:
        """See `QueryText`."""
        return PossessiveSequence(self.dice)

    def window(self) -> str:
        """Short ones, too."""
        return self.dice.weighted((*WINDOWS, *_BRIEF))

    def modifiers(self) -> str:
        """AFTER MATCH and LIMIT, more often."""
        text = f"AFTER MATCH {self.dice.pick(*self.skips())}\n" if self.dice.chance(30) else ""
        return text + (f"LIMIT {self.dice.number(1, 2)}\n" if self.dice.chance(15) else "")


@st.composite
def possessive_queries(draw: DrawFn) -> str:
    """A random query text over streams S1 and, at times, S2."""
    return PossessiveText(Dice(draw)).whole()
