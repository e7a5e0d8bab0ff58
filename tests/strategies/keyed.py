"""Random queries whose steps are related by at most one key: what complex event automata evaluate."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.strategies.query import QueryText, StepText
from tests.strategies.sequence import Context, Dice, Item, SequenceText

WINDOWS = (
    ("WITHIN 100 SECONDS", 4),
    ("WITHIN 4 SECONDS", 2),
    ("WITHIN 3 SECONDS SLIDING", 3),
    ("WITHIN 6 SECONDS SLIDING", 4),
    ('WITHIN 8 SECONDS STARTING AT "2026-01-01T00:00:01Z"', 1),
)
COUNTED = (("WITHIN 5 EVENTS", 1), ("WITHIN 4 EVENTS SLIDING", 2), ("WITHIN 5 EVENTS STARTING AT 2", 1))


@dataclass(slots=True)
class PlainSequence(SequenceText):
    """A SEQ of steps, choices, repetitions and groups."""

    def anything(self, context: Context, depth: int) -> Item:
        """Nothing is negated or optional."""
        return self.mandatory(context, depth)

    def conjunction(self, context: Context) -> Item:
        """A repetition instead."""
        return Item(f"{self.step(self.within(context))}{self.quantifier()}")

    def any_order(self, context: Context) -> Item:
        """A choice instead."""
        return self.choice(context, 1)


@dataclass(slots=True)
class KeyedText(QueryText):
    """Draws one query with a key of PARTITION BY, a variable that every step joins, or none.

    by_key      OVER MATCHES groups by the key
    """

    key: str = ""
    by_key: bool = True

    def keyed(self) -> str:
        """The text of the query."""
        drawn = PlainSequence(self.dice)
        sequence = drawn.whole(limited=0)
        key = self.key = self.dice.pick(*self.keys())
        self.by_key = self.dice.chance(60)
        for name in dict.fromkeys(use.name for use in drawn.uses):
            uses = tuple(use for use in drawn.uses if use.name == name)
            value = self.dice.weighted([(f"?v{name}", 3), ("", 2)]) if len(uses) == 1 else ""
            optional = f"?n{name}" if len(uses) == 1 and self.dice.chance(20) else None
            binds_key = key != "none" and (key != "using" or self.dice.chance(40))
            time = f"?t{name}" if len(uses) == 1 and self.dice.chance(20) else None
            self.steps.append(StepText(name, uses, binds_key, value or None, optional, time))
        defines = "\n".join(f"  {self.define(step)}" for step in self.steps)
        by = "PARTITION BY ?k\n" if key == "partition" else self.using() if key == "using" else ""
        clauses = f"{self.form()}\n{self.window()}\n{by}FROM STREAM S1 <http://ex.org/s1>"
        return f"PREFIX : <http://ex.org/>\n{clauses}\nWHERE {{\n  SEQ({sequence})\n{defines}\n}}\n{self.modifiers()}"

    def keys(self) -> tuple[str, ...]:
        """The kinds of key."""
        return "partition", "joined", "none", "using"

    def window(self) -> str:
        """Of time, or of events where no partition counts them for itself."""
        return self.dice.weighted(WINDOWS if self.key in ("partition", "using") else WINDOWS + COUNTED)

    def condition(self, step: StepText) -> str | None:
        """A filter over the step's own value."""
        return f"{step.value} {self.dice.pick('<=', '!=')} {self.dice.number(1, 3)}" if step.value else None

    def form(self) -> str:
        """SELECT with a selector more often than not."""
        selector = self.dice.weighted([("", 4), ("STRICT ", 1), ("NEXT ", 3), ("LAST ", 3), ("MAX ", 3)])
        return f"SELECT {selector}{'DISTINCT ' if self.dice.chance(10) else ''}*"


@st.composite
def keyed_queries(draw: DrawFn) -> str:
    """A random query text over stream S1, most often one to which complex event automata apply."""
    return KeyedText(Dice(draw)).keyed()
