"""One program with its runs, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrays.jit import lean_part
from automata.registers.answers import Answers
from automata.registers.code import GuardCode
from automata.registers.partitions import Partitions
from automata.registers.pool import Columns, Pool
from automata.registers.tables import Shape
from automata.values import Ids

NOWHERE = np.iinfo(np.int64).min
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
    number = ((rank if shape.in_events else time) - shape.start) // shape.size
    return NOWHERE if shape.anchored and number < 0 else int(number)
