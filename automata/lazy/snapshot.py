"""The state of a lazy evaluator beside that of runs: buffered solutions and partial matches (see automata.state).

Both stay as they are, columns without the ids and ids. Indexes of buffers are made again when they are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from automata.lazy.buffer import Buffer
from automata.lazy.chain import LazyChain
from automata.lazy.partial import PartialLayout, Rows, Waiting
from automata.state import Values, columns_of, rows_of


def buffers_state(buffers: Mapping[int, Buffer]) -> list[Any]:
    """The buffers of all symbols."""
    return [[symbol, buffer.first, *_contents(buffer)] for symbol, buffer in buffers.items()]


def restore_buffers(buffers: Mapping[int, Buffer], state: list[Any]) -> None:
    """Put them back."""
    for symbol, first, fixed, values in state:
        buffers[symbol].go_on(first, rows_of(fixed, values.ids.shape[1]).T, values.ids)


def chain_state(chain: LazyChain) -> dict[str, Any]:
    """The partial matches of one way, by what they are bound to, and the plan."""
    waiting = [[sorted(bound), w.unit, *_partial(w.rows, chain.layout)] for bound, w in chain.states.items()]
    return {"waiting": waiting, "plan": chain.plan.snapshot(), "operations": chain.operations}


def restore_chain(chain: LazyChain, state: Mapping[str, Any]) -> None:
    """Put them back."""
    chain.plan.restore(state["plan"])
    chain.operations = state["operations"]
    for bound, unit, fixed, registers in state["waiting"]:
        waiting = chain.states[frozenset(bound)] = Waiting(chain.layout.width, unit)
        count = len(registers.ids)
        waiting.replace(np.concatenate((rows_of(fixed, count), registers.ids), axis=1))


def _contents(buffer: Buffer) -> tuple[Any, Values]:
    fixed, values = buffer.contents()
    return columns_of(fixed.T), Values(values)


def _partial(rows: Rows, layout: PartialLayout) -> tuple[Any, Values]:
    """The columns of partial matches, and the values of their variables, which come last."""
    return columns_of(rows[:, : layout.registers.start]), Values(rows[:, layout.registers])
