"""Runs of the kernel in an order in which none reads what one before it has changed: they need no copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from automata.propagation.shared.equations import Kind, Op

_ORDERED_MAX = 256
"""Runs of one symbol that are put in order; more of them work on a copy."""


class Run(NamedTuple):
    """Terms of one kind whose targets stand beside each other; step 1: so do their sources, 0: they have one."""

    op: Op
    source: int
    step: int
    target: int
    many: int
    column: int
    greatest: bool

    @property
    def reads(self) -> tuple[Kind, int, int]:
        """The range of quantities that are its sources: kind, first, end."""
        match self.op:
            case Op.SUM:
                kind = Kind.SUM
            case Op.BEST:
                kind = Kind.BEST
            case _:
                kind = Kind.COUNT
        return kind, self.source, self.source + 1 + (self.many - 1) * self.step

    @property
    def writes(self) -> tuple[Kind, int, int]:
        """The range of its targets."""
        match self.op:
            case Op.COUNT | Op.COUNT_IF:
                kind = Kind.COUNT
            case Op.SUM | Op.PRODUCT:
                kind = Kind.SUM
            case _:
                kind = Kind.BEST
        return kind, self.target, self.target + self.many


def in_order(runs: Sequence[Run], cleared: Sequence[tuple[int, int, int]]) -> list[Run] | None:
    """The runs in such an order; None if there is none, or a run reads what is cleared: kind, first, how many.

    A run by itself reads a row before it changes it.
    """
    gone = [(Kind(kind), first, first + many) for kind, first, many in cleared]
    if len(runs) > _ORDERED_MAX or any(_meet(run.reads, each) for run in runs for each in gone):
        return None
    left, ordered = list(enumerate(runs)), []
    while left:
        reads = [(number, run.reads) for number, run in left]
        ready = [
            each
            for each in left
            if not any(number != each[0] and _meet(each[1].writes, read) for number, read in reads)
        ]
        if not ready:
            return None
        ordered += [run for _, run in ready]
        left = [each for each in left if each not in ready]
    return ordered


def _meet(one: tuple[Kind, int, int], other: tuple[Kind, int, int]) -> bool:
    return one[0] is other[0] and one[1] < other[2] and other[1] < one[2]
