"""Random query texts that register automata take: conditions between steps compare numbers, nothing is negated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.strategies.query import WINDOWS, QueryText, StepText
from tests.strategies.sequence import Context, Dice, Item, SequenceText


@dataclass(slots=True)
class RegisterSequence(SequenceText):
    """Steps, repetitions, groups and choices."""

    def anything(self, context: Context, depth: int) -> Item:
        """Nothing may be left out."""
        return self.mandatory(context, depth)

    def mandatory(self, context: Context, depth: int) -> Item:
        """A step, repeated at times; a choice; a repeated group."""
        kinds = [("step", 10), ("loop", 4)] + ([("choice", 3), ("group", 1)] if depth == 0 else [])
        match self.dice.weighted(kinds):
            case "loop":
                return Item(f"{self.step(self.within(context))}{self.quantifier()}")
            case "choice":
                return self.choice(context, depth)
            case "group":
                inside = self.within(context)
                return Item(f"({self.sequence(2, inside, depth + 1).text}){self.quantifier()}")
        return Item(self.step(context))


@dataclass(slots=True)
class RegisterQuery(QueryText):
    """Conditions compare numbers, calculated ones too."""

    def whole(self) -> str:
        """The text of the query."""
        drawn = RegisterSequence(self.dice)
        sequence = drawn.whole(limited=0)
        self.streams = 2 if self.dice.chance(25) else 1
        keyed = self.dice.chance(60)
        for name in dict.fromkeys(use.name for use in drawn.uses):
            self.steps.append(self.step(name, tuple(use for use in drawn.uses if use.name == name), keyed))
        self.partition()
        defines = "\n".join(f"  {self.define(step)}" for step in self.steps)
        froms = "\n".join(f"FROM STREAM S{n} <http://ex.org/s{n}>" for n in range(1, self.streams + 1))
        clauses = f"{self.form()}\n{self.dice.weighted(WINDOWS)}\n{self.partition()}{froms}"
        return f"PREFIX : <http://ex.org/>\n{clauses}\nWHERE {{\n  SEQ({sequence})\n{defines}\n}}\n{self.modifiers()}"

    def expressions(self, variables: Sequence[str]) -> list[str]:
        """PREV, FIRST and LAST at times, no aggregates."""
        repeated = self.repeated()
        if repeated and self.dice.chance(50):
            return [f"({self.dice.pick('FIRST', 'LAST', 'PREV')}({self.dice.pick(*repeated)}) AS ?x1)"]
        return []

    def template(self, variables: Sequence[str]) -> str:
        """A template without aggregates."""
        return f":m :has {self.dice.pick(*variables)} ."

    def over_iterations(self, value: str) -> str:
        """PREV, FIRST and LAST, in the step's own condition or in a later one."""
        return self.dice.pick(
            f"!BOUND(PREV({value})) || {value} >= PREV({value})",
            f"{value} != PREV({value}) || {value} = FIRST({value})",
            f"{value} >= FIRST({value})",
            f"LAST({value}) <= 2",
            f"PREV({value}) + 1 >= LAST({value})",
        )

    def condition(self, step: StepText) -> str | None:
        """A comparison with another step's value, in SPARQL's logic at times, or over iterations."""
        if (repeated := self.repeated()) and self.dice.chance(35):
            return self.over_iterations(self.dice.pick(*repeated))
        others = [other.value for other in self.steps if other.value and other.name != step.name]
        others += self.given
        if not others or not step.value:
            return None
        other, third = self.dice.pick(*others), self.dice.pick(*others)
        compared = f"{step.value} {self.dice.pick('<', '<=', '>', '>=', '!=', '=')} {other}"
        match self.dice.pick("plain", "plain", "plain", "calculated", "both", "either", "bound", "in"):
            case "calculated":
                operator = self.dice.pick("+", "-", "*", "/")
                return f"{step.value} {operator} {other} {self.dice.pick('<=', '>', '=')} {self.dice.number(0, 3)}"
            case "both":
                return f"{compared} && !({step.value} = {third})"
            case "either":
                return f"{compared} || {third} > 1"
            case "bound":
                return f"!BOUND({other}) || {compared}"
            case "in":
                return f"{step.value} {self.dice.pick('IN', 'NOT IN')} ({other}, {self.dice.number(0, 3)})"
        return compared


@dataclass(slots=True)
class FirstQuery(RegisterQuery):
    """LIMIT 1, often with nothing projected but the time."""

    def form(self) -> str:
        """Every match counts, so that the first one is all that matters."""
        if self.dice.chance(50):
            return "SELECT (1 AS ?happened)"
        return RegisterQuery.form(self)

    def modifiers(self) -> str:
        """One row for each event that ends a match."""
        return "LIMIT 1\n"


@st.composite
def first_queries(draw: DrawFn) -> str:
    """A random query text that asks whether something has happened."""
    return FirstQuery(Dice(draw)).whole()


@st.composite
def register_queries(draw: DrawFn) -> str:
    """A random query text."""
    return RegisterQuery(Dice(draw)).whole()
