"""Temporal pattern expressions: what a sequence asks for, with every default made explicit.

A *symbol* is a number that stands for one kind of event; what makes an event of that kind is not
known here. The nodes are values; `automata.plan.automaton` turns them into an automaton.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Contiguity(Enum):
    """What may lie between two events that follow each other (G Definitions 10-12)."""

    STRICT = ","
    NEXT = ";"
    ANY = ":"


@dataclass(frozen=True, slots=True)
class Take:
    """One event per symbol, all at one time; several symbols are a conjunction (G Definition 8)."""

    symbols: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """`items[0] operators[0] items[1] …`."""

    items: tuple[Expression, ...]
    operators: tuple[Contiguity, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of the branches; for skip-till-next their first steps are one step (G Definition 9)."""

    branches: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """Every member, in any order, on distinct events (K Sections 4.2-4.3)."""

    members: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Iterate:
    """`inner` from `at_least` (1 or more) to `at_most` (None: unbounded) times (G Definitions 13-14)."""

    inner: Expression
    at_least: int
    at_most: int | None
    contiguity: Contiguity


@dataclass(frozen=True, slots=True)
class Maybe:
    """The union of two patterns: one with `inner`, one with `Absent(inner)` in its place (G Appendix B)."""

    inner: Expression


@dataclass(frozen=True, slots=True)
class Absent:
    """No match of `inner` between the neighbouring steps (G Appendix B, K Section 4.4)."""

    inner: Expression


Expression = Take | Chain | Either | AnyOrder | Iterate | Maybe | Absent
