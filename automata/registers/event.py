"""A slice of events, and the intermediate results for the event that is being evaluated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from automata.registers.tables import EVERY, NONE, Shape
from automata.values import Ids

EDGE, RUN, SYMBOL, SOLUTION, PARTITION, ENDS, GOES_ON, LIST = range(8)
"""Columns of a candidate: the edge; the run that takes it; symbol and row of the solution; the partition; 1 if it ends
a match that is needed; 1 if it becomes a run; its place in `Scratch.lists`."""
POSITION, TIME, STREAM, IN_PARTITION, IN_WINDOW, FOUND, VISITED, OWN, TAKEN = range(9)
"""Columns of `Scratch.now`: the event; its partition and its window there; candidates found; runs visited so far; the
symbol whose values are in `Scratch.own`; from TAKEN on for each edge, how often a run has taken it so far."""
SIGNATURE = 4
"""Columns of a signature before the counts of iterations and the values of variables."""


class Slice(NamedTuple):
    """A slice of the merged order and its solutions, symbol by symbol.

    times, streams      of each event
    events              of each solution, ascending for each symbol: index into the slice
    values              int64[solutions, most variables of a symbol], in the order of the symbol's scope
    ends                for each symbol: the solution after its last one
    cursors             for each symbol: the next solution
    progress            the next event
    position            of the first event
    numbers             of each solution in its event
    """

    times: Ids
    streams: Ids
    events: Ids
    values: Ids
    ends: Ids
    cursors: Ids
    progress: Ids
    position: int
    numbers: Ids


class Scratch(NamedTuple):
    """Intermediate results for one event.

    own, merged     registers: of the solution alone, and of the run once it has taken it
    key             of the partition
    candidates      int64[capacity, 8]
    signatures      int64[capacity or 0, width]: the part of each candidate's state that later events can read
    lists           int64[a power of two or 0]: the best candidate of each signature, by its hash
    """

    now: Ids
    own: Ids
    merged: Ids
    key: Ids
    candidates: Ids
    signatures: Ids
    lists: Ids


def new_scratch(shape: Shape, edges: int, candidates: int) -> Scratch:
    """Empty arrays with room for so many candidates, of a plan with so many edges."""
    variables = np.zeros(shape.variables, dtype=np.int64)
    compared = candidates if shape.demand != EVERY else 0
    width = SIGNATURE + shape.repetitions + shape.variables * (1 + shape.repetitions)
    return Scratch(
        np.zeros(TAKEN + edges, dtype=np.int64),
        variables,
        variables.copy(),
        np.zeros(shape.keys, dtype=np.int64),
        np.zeros((candidates, 8), dtype=np.int64),
        np.zeros((compared, width), dtype=np.int64),
        np.full(1 << (2 * compared).bit_length() if compared else 0, NONE, dtype=np.int64),
    )
