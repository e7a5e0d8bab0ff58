"""The state of a CEA: the entries in the window, which are replayed when it is restored (see automata.state).

A cell of the determinised automaton, and so a table, has meaning only in its process, and the length of a union-list
depends on history. The entries in the window determine both, and are smaller. The complex events that a replay
completes were reported before the snapshot, so they are not enumerated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from automata import layouts
from automata.cea.bit_vectors import COUNT, FIRST, POSITION, SUBSTREAM, SYMBOL
from automata.cea.core import CeaCore
from automata.state import Values, columns_of, rows_of
from automata.values import Ids


def core_state(core: CeaCore) -> dict[str, Any]:
    """Entries and solutions in the window, under their numbers; the partitions that have some, under theirs."""
    alive = set(core.entries.rows[:, SUBSTREAM].tolist())
    parts = [part for part in core.keys.parts() if part[1] in alive]
    width = len(parts[0][0]) if parts else 0
    solutions = core.solutions.rows
    values = core.layout.spread(_symbols(core.entries.rows), solutions)
    return layouts.CEA_CORE.written(
        position=core.position,
        entries=[core.entries.first, *columns_of(core.entries.rows)],
        solutions=[core.solutions.first, Values(values), solutions[:, -1]],
        keys=Values(np.array([key for key, _, _ in parts], dtype=np.int64).reshape(len(parts), width)),
        parts=np.array([part[1:] for part in parts], dtype=np.int64).reshape(-1, 2),
    )


def restore_core(core: CeaCore, state: Mapping[str, Any]) -> None:
    """Restores them, and runs the automaton over them."""
    state = layouts.CEA_CORE.read(state)
    core.position = state["position"]
    first, *columns = state["entries"]
    entries = rows_of(columns, len(columns[0]))
    core.entries.restore(first, entries)
    first_solution, values, numbers = state["solutions"]
    core.solutions.restore(first_solution, core.layout.packed(_symbols(entries), values.ids, numbers))
    partitions = [tuple(key) for key in state["keys"].ids.tolist()]
    parts = state["parts"].tolist()
    core.keys.restore([(key, *part) for key, part in zip(partitions, parts, strict=True)])
    if len(entries):
        _replay(core, entries, first, dict(parts))


def _symbols(entries: Ids) -> Ids:
    """The symbol of each solution of the entries."""
    return np.repeat(entries[:, SYMBOL], entries[:, COUNT])


def _replay(core: CeaCore, entries: Ids, first: int, consumed: Mapping[int, int]) -> None:
    """Replays all bit vectors after the last consumed event of their partition, where tables begin anew."""
    keys = core.solutions.take(entries[:, FIRST])[:, : len(core.layout.key)]
    begins = np.ones(len(entries), dtype=np.bool_)
    begins[1:] = (entries[1:, POSITION] != entries[:-1, POSITION]) | (keys[1:] != keys[:-1]).any(axis=1)
    vectors = np.flatnonzero(begins)
    bits = np.bitwise_or.reduceat(np.int64(1) << entries[:, SYMBOL], vectors)
    until = np.array([consumed.get(part, -1) for part in entries[vectors, SUBSTREAM].tolist()], dtype=np.int64)
    left = entries[vectors, POSITION] > until
    vectors, bits = vectors[left], bits[left]
    if len(vectors):
        core.replay(bits, [tuple(key) for key in keys[vectors].tolist()], first + vectors)
