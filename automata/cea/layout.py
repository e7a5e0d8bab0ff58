"""The columns in which a CEA keeps solutions: those of a symbol have places for its own variables only.

A pattern of twelve steps may have twelve variables, of which each solution binds one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from automata.plan.keys import key_of
from automata.plan.plan import Plan
from automata.slices.events import SymbolSolutions
from automata.values import UNBOUND, Ids


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of solutions.

    key         the variables of the key, in the first columns of every solution
    columns     by symbol: variable → column
    width       the columns of values; behind them is the number of the solution in its event
    variables   of the program
    """

    key: tuple[int, ...]
    columns: tuple[Mapping[int, int], ...]
    width: int
    variables: int

    def place(self, symbol: int, table: SymbolSolutions, numbers: Ids, values: Ids, places: Ids | slice) -> None:
        """Writes the solutions of a symbol, and their numbers in their events, to these rows."""
        columns = self.columns[symbol]
        values[places, self.width] = numbers
        for variable, column in table.values.items():
            values[places, columns[variable]] = column

    def value(self, symbol: int, variable: int, solutions: Ids) -> Ids:
        """The values that solutions of a symbol have for a variable."""
        column = self.columns[symbol].get(variable)
        return np.full(len(solutions), UNBOUND, dtype=np.int64) if column is None else solutions[:, column]

    def spread(self, symbols: Ids, solutions: Ids) -> Ids:
        """int64[n, variables]: the values of solutions of these symbols in a column for each variable."""
        found = np.full((len(solutions), self.variables), UNBOUND, dtype=np.int64)
        for symbol, columns in enumerate(self.columns):
            rows = np.flatnonzero(symbols == symbol)
            for variable, column in columns.items():
                found[rows, variable] = solutions[rows, column]
        return found

    def packed(self, symbols: Ids, values: Ids, numbers: Ids) -> Ids:
        """Solutions of which `spread` gives these values; `numbers` are theirs in their events."""
        found = np.full((len(values), self.width + 1), UNBOUND, dtype=np.int64)
        for symbol, columns in enumerate(self.columns):
            rows = np.flatnonzero(symbols == symbol)
            for variable, column in columns.items():
                found[rows, column] = values[rows, variable]
        found[:, -1] = numbers
        return found


def layout_of(plan: Plan) -> Layout:
    """That of a program to which CEA applies."""
    key = key_of(plan)
    variables: list[Sequence[int]] = [(*key, *sorted(symbol.scope.difference(key))) for symbol in plan.program.symbols]
    columns = tuple({variable: column for column, variable in enumerate(some)} for some in variables)
    return Layout(key, columns, max(map(len, variables), default=len(key)), plan.program.variables)
