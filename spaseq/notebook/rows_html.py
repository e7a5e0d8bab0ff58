"""Rows as a table of HTML, in which every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from spaseq.outputs.row_cells import RowCells
from spaseq.outputs.rows import Row
from spaseq.outputs.sink import Columns

ROWS_SHOWN_MAX = 50
_CELL_MAX = 300
"""Characters of a cell that are shown."""


def table_html(columns: Columns, rows: Sequence[Row]) -> str:
    """The first ROWS_SHOWN_MAX rows, and how many there are beyond them."""
    texts = RowCells(columns)
    head = f"<thead><tr>{_cells('th', texts.header())}</tr></thead>"
    lines = [f"<tr>{_cells('td', texts.cells(row))}</tr>" for row in rows[:ROWS_SHOWN_MAX]]
    more = len(rows) - ROWS_SHOWN_MAX
    below = f"<p>and {more:,} more {'row' if more == 1 else 'rows'}</p>" if more > 0 else ""
    return f"<table>{head}<tbody>{''.join(lines)}</tbody></table>{below}"


def _cells(element: str, texts: Iterable[str]) -> str:
    return "".join(f"<{element}>{escape(_cut(text))}</{element}>" for text in texts)


def _cut(text: str) -> str:
    return text if len(text) <= _CELL_MAX else f"{text[: _CELL_MAX - 1]}…"
