"""Formulas of symbolic register automata: n-ary predicates over registers and the event being read (RMA Section 3).

Events are any values; what a predicate makes of them is its own affair. A formula is only evaluated where every
register that it reads has been written: the constructions see to that (RMA Section 4, trails).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

Event = object
NOW = "~"
"""The operand that stands for the event being read."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A selection formula with a name; predicates with one name are one predicate."""

    name: str
    test: Callable[..., bool] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Holds:
    """The predicate holds for the contents of these registers, in this order: a formula with its register selection."""

    predicate: Predicate
    operands: tuple[str, ...] = (NOW,)


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class Every:
    """Conjunction; that of nothing is true."""

    parts: tuple[Formula, ...] = ()


Formula = Holds | Not | Every
"""A condition over registers and the event being read."""
TRUE = Every()
"""The formula that always holds."""


def evaluate(formula: Formula, registers: Mapping[str, Event], event: Event) -> bool:
    """True if the formula holds for these registers and the event that is read; KeyError for an empty register."""
    match formula:
        case Holds(predicate, operands):
            return predicate.test(*(event if name == NOW else registers[name] for name in operands))
        case Not(inner):
            return not evaluate(inner, registers, event)
        case Every(parts):
            return all(evaluate(part, registers, event) for part in parts)
        case _:
            assert_never(formula)


def read_by(formula: Formula) -> Iterator[str]:
    """The operands, registers and NOW, as often as they are read."""
    match formula:
        case Holds(_, operands):
            yield from operands
        case Not(inner):
            yield from read_by(inner)
        case Every(parts):
            for part in parts:
                yield from read_by(part)


def renamed(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The formula over other registers; those without a new name keep theirs."""
    match formula:
        case Holds(predicate, operands):
            return Holds(predicate, tuple(names.get(name, name) for name in operands))
        case Not(inner):
            return Not(renamed(inner, names))
        case Every(parts):
            return Every(tuple(renamed(part, names) for part in parts))


def both(left: Formula, right: Formula) -> Formula:
    """Conjunction, flat and without repetition."""
    parts = [
        *(left.parts if isinstance(left, Every) else (left,)),
        *(right.parts if isinstance(right, Every) else (right,)),
    ]
    distinct = tuple(dict.fromkeys(parts))
    return distinct[0] if len(distinct) == 1 else Every(distinct)
