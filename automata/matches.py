"""Reading whole matches off the rows of runs."""

from __future__ import annotations

import numpy as np

from automata.checks import standing_references
from automata.core import Core
from automata.program import Host, Ids, Match, Program
from automata.runs import (
    FIRST,
    FIRST_TIME,
    HIGH,
    HIGH_TIME,
    NONE,
    PARENT,
    PARTITION,
    POSITION,
    SOLUTION,
    SYMBOL,
)


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
        table = self._core.runs.table
        match, row = np.arange(len(rows), dtype=np.int64), rows
        stop = np.full(len(rows), NONE, dtype=np.int64)
        while len(row):
            here = table[row]
            taken = here[:, SYMBOL] != NONE
            for number, entry in zip(
                match[taken].tolist(), here[taken][:, (SYMBOL, POSITION, SOLUTION)].tolist(), strict=True
            ):
                found[number].append((entry[0], entry[1], entry[2]))
            match, row, stop = self._onward(match, row, stop, here)
        return found

    def _onward(self, match: Ids, row: Ids, stop: Ids, here: Ids) -> tuple[Ids, Ids, Ids]:
        """Each chain's next rows: the parent, and at an ALL the last rows of its members."""
        parts = [(match, here[:, PARENT], stop)]
        for member in range(self._core.layout.members):
            inner = here[:, self._core.layout.member(member)]
            parts.append((match, inner, here[:, PARENT]))
        matches, rows, stops = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        keep = (rows != NONE) & (rows != stops)
        return matches[keep], rows[keep], stops[keep]


def _by_position(entry: tuple[int, int, int]) -> tuple[int, int, int]:
    return entry[1], entry[0], entry[2]
