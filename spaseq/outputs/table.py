"""Rows as a table for a terminal, written as they are found."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from spaseq.outputs.destination import Output
from spaseq.outputs.row_cells import RowCells
from spaseq.outputs.rows import Row
from spaseq.outputs.sink import Columns, TextSink

_SCREENFUL_MAX = 50
"""Rows by which the widths of the columns are chosen."""
_COLUMN_GAP = "  "
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class TableSink(TextSink):
    """Aligned columns under one header; IRIs are shortened by the prefixes of the queries.

    The widths are those of the first rows, at most a screenful, so that rows are shown at once. A wider cell below
    moves the rest of its own line only. On a terminal a line is cut at its width; elsewhere nothing is cut. A run
    without rows shows nothing.
    """

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        self._texts = RowCells(columns)
        self._widths: list[int] | None = None

    def text(self, rows: Sequence[Row]) -> str:
        """One line per row; the header stands above the first."""
        lines = [self._texts.cells(row) for row in rows]
        text = ""
        if self._widths is None:
            header = self._texts.header()
            self._widths = [max(map(cell_len, column)) for column in zip(header, *lines[:_SCREENFUL_MAX], strict=True)]
            text, rule = self._line(header), self._line(["─" * width for width in self._widths])
            text = (f"{_BOLD}{text.rstrip()}{_PLAIN}\n" if self._output.styled else text) + rule
        return text + "".join(self._line(cells) for cells in lines)

    def _line(self, cells: Sequence[str]) -> str:
        assert self._widths is not None
        padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, self._widths, strict=True)]
        line = _COLUMN_GAP.join(padded).rstrip()
        if self._output.width is not None and cell_len(line) > self._output.width:
            line = set_cell_size(line, self._output.width - 1) + "…"
        return line + "\n"
