"""The values of variables as runs take an edge: which must agree, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from arrays.columns import compatible, merged
from automata.chains.table import RunView
from automata.plan.plan import Plan, PlannedEdge
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable
from automata.values import NONE, UNBOUND, Ids, Mask


def base(runs: RunView, edge: PlannedEdge, rows: Ids) -> NDArray[np.int64]:
    """The registers with which rows come to an edge's step: a new iteration forgets what the last one bound."""
    registers = runs.registers(rows)
    _forget(runs, edge, rows, registers)
    return registers


def before(runs: RunView, edge: PlannedEdge, rows: Ids, variable: int) -> Ids:
    """One column of `base`."""
    if variable in edge.forgets:
        return runs.written.register(_entries(runs, edge, rows), variable)
    return runs.register(rows, variable)


def bind(runs: RunView, edge: PlannedEdge, table: StepTable, pairs: Pairs, registers: NDArray[np.int64]) -> None:
    """Makes the registers of the pairs' rows into those once the edge has been taken."""
    _forget(runs, edge, pairs.rows, registers)
    for variable in edge.fresh:
        registers[:, variable] = table.value(variable)[pairs.steps]
    for variable in edge.merged:
        registers[:, variable] = merged(table.value(variable)[pairs.steps], registers[:, variable])


def bound(runs: RunView, edge: PlannedEdge, table: StepTable, pairs: Pairs) -> NDArray[np.int64]:
    """int64[pairs, variables]: the registers once the edge has been taken."""
    registers = runs.registers(pairs.rows)
    bind(runs, edge, table, pairs, registers)
    return registers


def bound_variable(runs: RunView, edge: PlannedEdge, table: StepTable, pairs: Pairs, variable: int) -> Ids:
    """One column of `bound`."""
    if variable in edge.fresh:
        return table.value(variable)[pairs.steps]
    old = before(runs, edge, pairs.rows, variable)
    return merged(table.value(variable)[pairs.steps], old) if variable in edge.merged else old


def told(plan: Plan, edge: PlannedEdge, table: StepTable, pairs: Pairs) -> dict[int, Mask]:
    """Those of `Plan.told` that the edge's step may bind → a mask of the pairs in which it does."""
    scope = plan.positions[edge.target].scope
    return {variable: table.value(variable)[pairs.steps] != UNBOUND for variable in plan.told if variable in scope}


def unify(registers: NDArray[np.int64], values: Mapping[int, Ids]) -> Mask:
    """Merges the values of variables into registers. Returns a mask of the rows whose registers agree with them."""
    fitting = np.ones(len(registers), dtype=np.bool_)
    for variable, column in values.items():
        fitting &= compatible(column, registers[:, variable])
        registers[:, variable] = merged(column, registers[:, variable])
    return fitting


def fits(runs: RunView, edge: PlannedEdge, table: StepTable, pairs: Pairs) -> Mask:
    """A mask of the pairs whose step binds nothing to another value than the run has."""
    fitting = np.ones(len(pairs), dtype=np.bool_)
    for variable in edge.shared:
        fitting &= compatible(table.value(variable)[pairs.steps], before(runs, edge, pairs.rows, variable))
    return fitting


def _forget(runs: RunView, edge: PlannedEdge, rows: Ids, registers: NDArray[np.int64]) -> None:
    if edge.forgets:
        entered = runs.written.registers(_entries(runs, edge, rows))
        registers[:, edge.forgets] = entered[:, edge.forgets]


def _entries(runs: RunView, edge: PlannedEdge, rows: Ids) -> Ids:
    """The rows from which the repetition was entered."""
    assert edge.loop != NONE, edge
    return runs.column(rows, runs.written.layout.entry(edge.loop))
