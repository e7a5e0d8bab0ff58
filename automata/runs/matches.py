"""Reading whole matches off the rows of runs."""

from __future__ import annotations

import numpy as np

from automata.program import Host, Ids, Match, Program
from automata.runs.checks import standing_references
from automata.runs.core import Core
from automata.runs.table import FIRST, FIRST_TIME, HIGH, HIGH_TIME, NONE, PARTITION, POSITION, SOLUTION, SYMBOL
from automata.runs.walk import visits


class Reader:
    """Turns rows into matches."""

    def __init__(self, core: Core, program: Program, host: Host) -> None:
        self._core = core
        self._program = program
        self._host = host

    def read(self, rows: Ids) -> list[Match]:
        """One match for each row that a match ends at."""
        entries = self._entries(rows)
        runs, layout = self._core.runs, self._core.layout
        registers = runs.registers(rows).tolist()
        outputs = self._outputs(rows)
        columns = (FIRST, HIGH, FIRST_TIME, HIGH_TIME, PARTITION)
        facts = runs.table[rows][:, columns].tolist()
        assert layout.variables == self._program.variables
        return [
            Match(tuple(sorted(own, key=_by_position)), tuple(values), extra, *fact)
            for own, values, extra, fact in zip(entries, registers, outputs, facts, strict=True)
        ]

    def _outputs(self, rows: Ids) -> list[tuple[int, ...]]:
        references = self._program.outputs
        if not references:
            return [()] * len(rows)
        core = self._core
        columns = standing_references(core.tracks, references, core.runs, core.layout, self._host, rows)
        table = np.column_stack([columns[reference] for reference in references])
        return [tuple(values) for values in table.tolist()]

    def _entries(self, rows: Ids) -> list[list[tuple[int, int, int]]]:
        """(symbol, position, solution) of every step of each run: all chains are followed at once, step by step."""
        found: list[list[tuple[int, int, int]]] = [[] for _ in rows]
        for visit in visits(self._core.runs, self._core.layout, rows):
            here = self._core.runs.table[visit.rows]
            taken = here[:, SYMBOL] != NONE
            entries = here[taken][:, (SYMBOL, POSITION, SOLUTION)].tolist()
            for number, entry in zip(visit.which[taken].tolist(), entries, strict=True):
                found[number].append((entry[0], entry[1], entry[2]))
        return found


def _by_position(entry: tuple[int, int, int]) -> tuple[int, int, int]:
    return entry[1], entry[0], entry[2]
