"""Sinks: writers of result rows in one format to one destination."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from spaseq.outputs.columns import Columns
from spaseq.outputs.destination import Output
from spaseq.outputs.rows import Row


class Sink(ABC):
    """A sink; a format says the text of rows.

    `write` and `close` raise RunError when the output cannot be written, and OutputClosed when its reader has gone.
    Rows are visible to a reader when `write` has returned.
    """

    def __init__(self, output: Output, columns: Columns) -> None:
        self._output, self._columns = output, columns

    @abstractmethod
    def text(self, rows: Sequence[Row]) -> str:
        """The text of some rows after those before."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write rows, in this order."""
        if rows:
            self._output.write(self.text(rows))

    def close(self) -> None:
        """Close the destination; a second call does nothing."""
        self._output.close()
