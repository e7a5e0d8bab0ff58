"""The rows of a step table that come next after each row of another with the same key: for skip-till-next.

That does not depend on windows. So for runs that have just begun, one at each row of a table, it is worked out once for
all queries over the slice that join two tables alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arrays.columns import compatible, expand, hash_columns
from automata.slices.pairs import follows
from automata.slices.step_index import StepIndex
from automata.slices.step_table import StepTable
from automata.values import Ids

_PAIRS_MAX = 1 << 20
"""More pairs are not kept for other queries."""


@dataclass(frozen=True, slots=True)
class Successors:
    """For each row of a table what follows in the index of another.

    rows, steps     pairs of a row and one in the first slot after it with its key, where values and order allow them
    groups          of the key of each row in the index
    begin, end      the range of what comes after that slot
    """

    rows: Ids
    steps: Ids
    groups: Ids
    begin: Ids
    end: Ids


def successors(
    table: StepTable, following: StepTable, index: StepIndex, key: tuple[int, ...], shared: tuple[int, ...]
) -> Successors | None:
    """The successors of each row of a table, or None if they are too many.

    index   of `following` by the key, variables that both tables always bind
    shared  variables that both may bind
    """
    columns = [column for variable in shared for column in (table.value(variable), following.value(variable))]
    about = (table.low, following.low, index, len(key), *map(table.value, key), *columns)
    return table.shared.once((successors, *about), lambda: _nearest(table, following, index, key, shared))


def _nearest(
    table: StepTable, following: StepTable, index: StepIndex, key: tuple[int, ...], shared: tuple[int, ...]
) -> Successors | None:
    hashes = hash_columns([table.value(variable) for variable in key], len(table))
    groups, begin, end = index.ranges(hashes, table.high)
    until = np.where(begin < end, np.minimum(end, index.slot_ends[np.minimum(begin, len(following) - 1)]), begin)
    if int((until - begin).sum()) > _PAIRS_MAX:
        return None
    rows, within = expand(until - begin)
    steps = index.order[begin[rows] + within]
    keep = follows(following, steps, table.times[rows], table.streams[rows], table.high[rows])
    for variable in shared:
        a, b = table.value(variable)[rows], following.value(variable)[steps]
        keep &= compatible(a, b)
    return Successors(rows[keep], steps[keep], groups, until, end)
