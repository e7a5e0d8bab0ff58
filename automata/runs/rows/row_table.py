"""The rows of runs as lists, each made from the table of columns when it is first looked at."""

from __future__ import annotations

from automata.chains.table import Runs

Row = list[int]


class RowTable(dict[int, Row]):
    """The rows by number, those of the table among them; its length is that of all of them.

    size    the same, without a call
    """

    def __init__(self, runs: Runs) -> None:
        super().__init__()
        self._runs = runs
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def __missing__(self, number: int) -> Row:
        row: Row = self._runs.table[number].tolist()
        self[number] = row
        return row

    def append(self, row: Row) -> None:
        """One more row."""
        self[self.size] = row
        self.size += 1

    def load(self, numbers: list[int]) -> list[Row]:
        """Some rows, made together."""
        missing = [number for number in numbers if number not in self]
        if missing:
            self.update(zip(missing, self._runs.table[missing].tolist(), strict=True))
        return [self[number] for number in numbers]

    def pull(self) -> None:
        """As many rows as the table has: those that it has got since are not here yet."""
        self.size = self._runs.size

    def since(self, number: int) -> list[Row]:
        """The rows from this number on, which are all here."""
        return [self[each] for each in range(number, self.size)]
