"""Random queries whose repeated steps share variables with others, and that read them by their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.strategies.query import QueryText, StepText
from tests.strategies.sequence import Context, Item, SequenceText, Use

_STEPS_MAX = 4
_FUNCTIONS = ("COUNT", "SUM", "MIN", "MAX", "SAMPLE", "FIRST", "LAST", "PREV", "GROUP_CONCAT")


@dataclass(slots=True)
class IteratedSequence(SequenceText):
    """A SEQ of few steps and groups, most of them repeated."""

    def full(self) -> bool:
        """See `SequenceText`; the reference is exponential in repetitions above all."""
        return len(self.uses) >= _STEPS_MAX - 1

    def step(self, context: Context, negated: bool = False) -> str:
        """A step of its own: values of a match that is reached in two ways may depend on the way."""
        name = f"{'N' if negated else 'P'}{len(self.uses)}"
        self.uses.append(Use(name, *context))
        return name

    def contiguity(self) -> str:
        """`:`, seldom."""
        return self.dice.weighted([("", 4), (";", 4), (":", 1), (",", 2)])

    def mandatory(self, context: Context, depth: int) -> Item:
        """Repeated, more often; a group of repetitions or branches at times."""
        if depth < 2 and self.dice.chance(55):
            if depth == 1 or self.dice.chance(50):
                return Item(f"{self.step(self.within(context))}{self.quantifier()}")
            inside = self.within(context)
            if self.dice.chance(30):
                return Item(f"({self.step(inside)} | {self.step(inside)}){self.quantifier()}")
            group = self.sequence(2, inside, depth + 1)
            return Item(f"({group.text}){self.quantifier()}", absent=group.absent)
        return SequenceText.mandatory(self, context, depth)


@dataclass(slots=True)
class IteratedText(QueryText):
    """Draws one query."""

    def sequence(self) -> SequenceText:
        """See `QueryText`."""
        return IteratedSequence(self.dice)

    def step(self, name: str, uses: tuple[Use, ...], keyed: bool) -> StepText:
        """What a step's GPM binds: mostly variables of others, some of them in a part of its solutions only."""
        value = self.dice.weighted([("?v", 5), (f"?v{name}", 2), ("", 3)]) or None
        optional = self.dice.weighted([("", 6), ("?n", 1), ("?v", 3), ("?k", 1)]) or None
        key = self.dice.chance(25) and optional != "?k"
        time = f"?t{name}" if self.dice.chance(8) else None
        return StepText(name, uses, key, value, None if optional == value else optional, time)

    def condition(self, step: StepText) -> str | None:
        """Over iterations, more often: of the step's own variables, and of others."""
        repeated = self.repeated()
        if not repeated or self.dice.chance(35):
            return QueryText.condition(self, step)
        own = [variable for variable in (step.value, step.optional) if variable in repeated]
        value = self.dice.pick(*own, *own, *repeated)
        if value == "?k":
            return f"COUNT(?k) <= {self.dice.number(1, 3)}"
        if self.dice.chance(50):
            return self.aggregate(value)
        return self.dice.pick(self.over_iterations(value), f"!BOUND(PREV({value}))", f"FIRST({value}) = LAST({value})")

    def expressions(self, variables: Sequence[str]) -> list[str]:
        """Several values of iterations."""
        repeated = self.repeated()
        if not repeated:
            return QueryText.expressions(self, variables)
        functions = [self.dice.pick(*_FUNCTIONS) for _ in range(self.dice.number(1, 3))]
        return [f"({name}({self.dice.pick(*repeated)}) AS ?x{n})" for n, name in enumerate(functions, 4)]
