"""The lookup tables and the last terms of a Jelly stream, in arrays that kernels and the reader in Python share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrays.words import WORD, Bytes
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table import as_bytes
from sparql_gpm.reading.jelly_rows import Rows, Table

NAMES, PREFIXES, DATATYPES = range(3)
"""Numbers of the tables."""
START, LENGTH, KEY, TERM, PLAIN = range(5)
"""Columns of a table: the place and length of an entry's text (length ABSENT: there is none); of a name the KEY of the
prefix with which it is the IRI of TERM, or UNKNOWN; of a prefix a KEY that no other entry has had; PLAIN is 1 for a
prefix and a name that are certainly a valid IRI with every other one."""
COLUMNS = 5
ABSENT, UNKNOWN = -1, -2
SUBJECT, PREDICATE, OBJECT, GRAPH, OPEN_GRAPH, PREFIX, NAME, LAST = range(8)
USED, KEYS, FIRST = range(10, 13)
"""Registers: the terms of the last statement and the graph that is open, each the id of a term, or negative the number
of a form, or DEFAULT, or 0: as the reader in Python has it, and during a scan LAZY; the last prefix and name; from LAST
on the last entry of each table; the bytes of texts used; the number of keys given; the number of the first written term
of a scan."""
REGISTERS = 13
DEFAULT = -(2**62)
"""In place of a term: the default graph."""
LAZY = -(2**61)
"""The first of the numbers, on downwards, in place of terms that have no ids, as nobody wants them yet."""
_ENTRIES = 1 << 12
"""Entries of a table for which there is room at first: its size is what a stream claims."""
_TEXT_BYTES_MIN = 1 << 16


class Lookups(NamedTuple):
    """The state of a stream as kernels take it.

    text        the texts of entries, and a word more
    names, prefixes, datatypes  int64[identifiers, COLUMNS]; entry 0 of the prefixes is the empty one; identifiers that
                are beyond are for the reader in Python
    registers   int64[REGISTERS]
    changes     int64[changes, 4]: the table, identifier, START and LENGTH before each change of a frame
    options     the row of options
    """

    text: Bytes
    names: Ids
    prefixes: Ids
    datatypes: Ids
    registers: Ids
    changes: Ids
    options: Bytes


class SharedTable(Table):
    """A table whose texts are in the arrays."""

    def __init__(self, number: int, state: SharedState, size: int, what: str) -> None:
        super().__init__(size, what)
        self._number, self._state = number, state

    @property
    def last(self) -> int:
        """The identifier entered last."""
        return int(self._state.lookups.registers[LAST + self._number])

    @last.setter
    def last(self, identifier: int) -> None:
        self._state.lookups.registers[LAST + self._number] = identifier

    def _put(self, identifier: int, text: str) -> None:
        self._state.put(self._number, identifier, text.encode())

    def _get(self, identifier: int) -> str | None:
        found = self._state.get(self._number, identifier)
        return None if found is None else found.decode()


class SharedState:
    """The arrays of one stream, which take over the tables of the reader in Python.

    lookups     the arrays; longer ones may replace them
    """

    def __init__(self, rows: Rows) -> None:
        tables = (rows.names, rows.prefixes, rows.datatypes)
        self._sizes = [table.size for table in tables]
        names, prefixes, datatypes = (_entries(min(table.size, _ENTRIES)) for table in tables)
        prefixes[0] = 0
        registers, changes = np.zeros(REGISTERS, dtype=np.int64), np.zeros((1 << 10, 4), dtype=np.int64)
        text: Bytes = np.zeros(_TEXT_BYTES_MIN, dtype=np.uint8)
        options = as_bytes(rows.options_text)
        self.lookups = Lookups(text, names, prefixes, datatypes, registers, changes, options)
        shared = [SharedTable(number, self, table.size, table.what) for number, table in enumerate(tables)]
        for old, new in zip(tables, shared, strict=True):
            for identifier in range(1, old.size + 1 if old.last else 1):
                if (found := old.find(identifier)) is not None:
                    new.enter(identifier, found)
            new.last = old.last
        rows.names, rows.prefixes, rows.datatypes = shared

    def put(self, table: int, identifier: int, text: bytes) -> None:
        """Enter a text in a table."""
        self.reserve(len(text), 0)
        self._reserve_entry(table, identifier)
        registers, entries = self.lookups.registers, self.lookups[1 + table]
        start = int(registers[USED])
        self.lookups.text[start : start + len(text)] = np.frombuffer(text, dtype=np.uint8)
        registers[USED] += len(text)
        registers[KEYS] += 1
        entries[identifier] = start, len(text), registers[KEYS] if table == PREFIXES else UNKNOWN, 0, 0

    def get(self, table: int, identifier: int) -> bytes | None:
        """The text of an identifier of a table."""
        entries = self.lookups[1 + table]
        if identifier >= len(entries):
            return None
        start, length = entries[identifier, :2].tolist()
        return None if length == ABSENT else self.lookups.text[start : start + length].tobytes()

    def reserve(self, size: int, changes: int) -> None:
        """Make room for so many bytes of texts and so many changes in a frame; texts that are no more leave."""
        lookups = self.lookups
        if changes > len(lookups.changes):
            self.lookups = lookups = lookups._replace(changes=np.zeros((changes, 4), dtype=np.int64))
        used = int(lookups.registers[USED])
        if used + size + WORD <= len(lookups.text):
            return
        tables = lookups.names, lookups.prefixes, lookups.datatypes
        live = sum(int(table[table[:, LENGTH] > 0, LENGTH].sum()) for table in tables)
        text: Bytes = np.zeros(max(_TEXT_BYTES_MIN, 2 * (live + size) + WORD), dtype=np.uint8)
        at = 0
        for table in tables:
            for identifier in np.flatnonzero(table[:, LENGTH] > 0).tolist():
                start, length = table[identifier, :2].tolist()
                text[at : at + length] = lookups.text[start : start + length]
                table[identifier, START] = at
                at += length
        lookups.registers[USED] = at
        self.lookups = lookups._replace(text=text)

    def _reserve_entry(self, table: int, identifier: int) -> None:
        """Make room for an entry of a table."""
        entries = self.lookups[1 + table]
        if identifier >= len(entries):
            tables = list(self.lookups[1:4])
            tables[table] = _entries(min(2 * identifier, self._sizes[table]))
            tables[table][: len(entries)] = entries
            self.lookups = self.lookups._replace(names=tables[0], prefixes=tables[1], datatypes=tables[2])

    def forget_terms(self) -> None:
        """Drop the ids of the IRIs that names make: they are stale."""
        self.lookups.names[:, KEY] = UNKNOWN


def _entries(size: int) -> Ids:
    """So many absent entries, and the first, which is none."""
    return np.full((size + 1, COLUMNS), ABSENT, dtype=np.int64)
