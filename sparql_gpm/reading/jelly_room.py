"""Arrays that one scan of Jelly after the other writes: their pages are there already, where new ones took a fifth of
the time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrays.words import Bytes
from sparql_gpm.columns import Ids
from sparql_gpm.interning.pages import zeros
from sparql_gpm.reading.jelly_groups import GROUP_COLUMNS, Found
from sparql_gpm.reading.jelly_lookups import REGISTERS
from sparql_gpm.reading.jelly_written import WRITTEN_COLUMNS

STATEMENT_BYTES_MIN = 4
TERM_BYTES = 32
"""Bytes of a new term for which there is room at first."""
_WRITTEN_BYTES = 8
"""Bytes of input for a written term, for which there is room besides."""


class Room:
    """The arrays of one stream; what a scan has written there holds until the next scan."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def found(self, size: int, terms: int, frames: int) -> Found:
        """The output of a scan of so many bytes, with room for new terms; its rows are of this scan alone."""
        statements = size // STATEMENT_BYTES_MIN + 1
        return Found(
            np.empty((3, statements), dtype=np.int64),
            self._numbers("asides", statements, 4),
            self._numbers("groups", statements, GROUP_COLUMNS),
            self._numbers("frames", min(size, frames), 4),
            self._bytes("keys", 2 * size + terms * TERM_BYTES),
            np.empty(REGISTERS, dtype=np.int64),
        )

    def written(self, size: int, terms: int) -> Ids:
        """Room for the terms without ids of so many bytes."""
        return self._numbers("written", size // _WRITTEN_BYTES + terms, WRITTEN_COLUMNS)

    def token(self, terms: int) -> Bytes:
        """Room for the text of a term."""
        return self._bytes("token", terms * TERM_BYTES)

    def _numbers(self, name: str, rows: int, columns: int) -> Ids:
        found = self._arrays.get(name)
        if found is None or len(found) < rows:
            found = self._arrays[name] = zeros((rows, columns), np.int64)
        return found

    def _bytes(self, name: str, size: int) -> Bytes:
        found = self._arrays.get(name)
        if found is None or len(found) < size:
            found = self._arrays[name] = zeros((size,), np.uint8)
        return found
