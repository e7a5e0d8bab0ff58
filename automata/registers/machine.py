"""One program with its runs, as arrays."""

from __future__ import annotations

from typing import NamedTuple

from arrays.jit import lean_part
from arrays.times import BEFORE_ALL, TIME_NS_MIN
from automata.registers.answers import Answers
from automata.registers.code import GuardCode
from automata.registers.partitions import Partitions
from automata.registers.pool import Columns, Pool
from automata.registers.tables import Shape
from automata.values import Ids

NOWHERE = BEFORE_ALL
"""The window of an event before STARTING AT."""


class Machine(NamedTuple):
    """One program and its runs."""

    shape: Shape
    columns: Columns
    tables: Ids
    code: GuardCode
    pool: Pool
    partitions: Partitions
    answers: Answers


@lean_part
def window_of(shape: Shape, time: int, rank: int) -> int:
    """The number of the tumbling window, NOWHERE before STARTING AT; 0 if the window slides."""
    if shape.sliding:
        return 0
    place = rank if shape.in_events else time
    number = place // shape.size - shape.periods
    if shape.into and place % shape.size < shape.into:
        number -= 1
    return NOWHERE if shape.anchored and number < 0 else int(number)


@lean_part
def is_within(first: int, time: int, size: int) -> bool:
    """True if a time is at most so long after an earlier one; int64 may not hold how long."""
    return bool(time < TIME_NS_MIN + size or time - size <= first)
