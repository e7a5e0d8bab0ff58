"""Negated groups: whether one has a match among some solutions (LANGUAGE 3.2, `!`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from automata.nfa import Automaton, build_automaton
from automata.program import Host, Program, Selector, Skip, Window
from automata.runs.core import Core
from automata.runs.iteration import Series
from automata.runs.steps import StepTable
from automata.runs.table import NONE

_ENDLESS = Window(size=1 << 61, in_events=False, sliding=True)


class NegatedGroups:
    """The searcher for the negated groups of one program; see `automata.runs.absence.GroupSearch`."""

    def __init__(self, program: Program, automaton: Automaton, host: Host) -> None:
        self._program = program
        self._automaton = automaton
        self._host = host
        self._groups: dict[int, Automaton] = {}

    def __call__(
        self,
        absence: int,
        registers: NDArray[np.int64],
        prior: Mapping[int, Series],
        tables: dict[int, StepTable],
        partition: int,
    ) -> bool:
        """Whether a negated group has a match among these solutions, starting from these registers and iterations."""
        if absence not in self._groups:
            self._groups[absence] = build_automaton(self._automaton.absences[absence].expression)
        program = replace(
            self._program,
            expression=self._automaton.absences[absence].expression,
            window=_ENDLESS,
            partition=(),
            selector=Selector.ALL,
            skip=Skip.NO_SKIP,
            outputs=(),
        )
        core = Core(program, self._groups[absence], self._host, registers, prior)
        ended = core.grow({symbol: _in_one_partition(table, partition) for symbol, table in tables.items()})
        return bool(ended)


def _in_one_partition(table: StepTable, partition: int) -> StepTable:
    """The table as a negated group sees it from a match of that partition."""
    inside = (table.partitions == partition) | (table.partitions == NONE)
    table = table.take(inside)
    zeros = np.zeros(len(table), dtype=np.int64)
    return replace(table, partitions=zeros, windows=zeros, cache={})
