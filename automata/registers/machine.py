"""The data of the kernel: one program with its runs, and the scratch space for one event."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrays.jit import lean_kernel
from automata.registers.answers import Answers
from automata.registers.code import GuardCode
from automata.registers.places import Places
from automata.registers.pool import Columns, Pool
from automata.registers.tables import EVERY, NONE, Shape
from automata.values import Ids

EDGE, RUN, LETTER, PLACE, ENDS, GOES_ON, LIST = range(7)
"""Of a candidate: the edge, the run that takes it, the row of the solution, the partition; whether a match that is
wanted ends, whether a run that is wanted goes on; its place in `Step.lists`."""

POSITION_NOW, TIME_NOW, STREAM_NOW, PLACE_NOW, WINDOW_NOW, FOUND, VISITED = range(7)
"""Of `Step.now`: the event, the partition looked at and the window there; candidates found; runs met so far."""
KIND = 4
"""How many numbers tell kinds of candidates apart besides counts of iterations and values of variables."""
NOWHERE = np.iinfo(np.int64).min
"""The window of an event before STARTING AT."""


class Step(NamedTuple):
    """The scratch space of the kernel for one event.

    own, merged     registers: of the solution alone, and of the run once it has taken it
    key             of the partition
    candidates      int64[capacity, 7]
    kinds           int64[capacity or 0, width]: of each candidate what events to come can see of it
    lists           int64[a power of two or 0]: the best candidate of each kind, by its hash
    """

    now: Ids
    own: Ids
    merged: Ids
    key: Ids
    candidates: Ids
    kinds: Ids
    lists: Ids


class Machine(NamedTuple):
    """One program and its runs."""

    shape: Shape
    columns: Columns
    tables: Ids
    code: GuardCode
    pool: Pool
    places: Places
    answers: Answers


def new_step(shape: Shape, candidates: int) -> Step:
    """Room for so many candidates."""
    variables = np.zeros(shape.variables, dtype=np.int64)
    compared = candidates if shape.wanted != EVERY else 0
    width = KIND + shape.repetitions + shape.variables * (1 + shape.repetitions)
    return Step(
        np.zeros(7, dtype=np.int64),
        variables,
        variables.copy(),
        np.zeros(shape.keys, dtype=np.int64),
        np.zeros((candidates, 7), dtype=np.int64),
        np.zeros((compared, width), dtype=np.int64),
        np.full(1 << (2 * compared).bit_length() if compared else 0, NONE, dtype=np.int64),
    )


@lean_kernel
def window_of(shape: Shape, time: int, rank: int) -> int:
    """The number of the tumbling window, NOWHERE before STARTING AT; 0 if the window slides."""
    if shape.sliding:
        return 0
    number = ((rank if shape.in_events else time) - shape.start) // shape.size
    return NOWHERE if shape.anchored and number < 0 else int(number)
