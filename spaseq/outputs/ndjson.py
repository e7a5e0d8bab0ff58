"""Rows as NDJSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from arrays.columns import places_of
from automata.matches.match_table import START, TIME
from automata.values import UNBOUND
from spaseq.outputs.destination import Output, encoded
from spaseq.outputs.joined import Lists, Part, TermTexts, joined, objects, pieces_of
from spaseq.outputs.row_table import RowTable
from spaseq.outputs.rows import Row, quoted, term_json, time_text, to_json
from spaseq.outputs.sink import Columns, TextSink

_KINDS = _MATCH, _STEP, _EVENT = range(3)
"""An event is the first one of its match, the first one of a step, or another one."""


class NdjsonSink(TextSink):
    """One line of JSON per row."""

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        self._lines = NdjsonLines()

    def text(self, rows: Sequence[Row]) -> str:
        """The lines."""
        return "".join(to_json(row) + "\n" for row in rows)

    def table_text(self, table: RowTable) -> bytes:
        """The lines; the bytes are those of `text`."""
        return self._lines.table_text(table)


class NdjsonLines:
    """Rows as lines of JSON; the text of a term is made once for many rows."""

    def __init__(self) -> None:
        self._terms = TermTexts(term_json)

    def of(self, rows: Sequence[Row] | RowTable) -> list[str]:
        """The line of each row, as `to_json` gives it, without the line end."""
        if not isinstance(rows, RowTable):
            return list(map(to_json, rows))
        return [line for part in rows.parts() for line in self.table_text(part).decode().split("\n")[:-1]]

    def table_text(self, table: RowTable) -> bytes:
        """The lines with their ends."""
        begin = encoded(f'{{"query": {quoted(table.query)}, "time": "')
        facts = table.matches.facts
        times = pieces_of(facts[:, TIME], lambda time: b'%b%b", "start": "' % (begin, time_text(time).encode()))
        starts = pieces_of(facts[:, START], lambda time: b'%b", "bindings": {' % time_text(time).encode())
        return joined([times, starts, *self._bindings(table), _events(table), b"]}}\n"], len(table))

    def _bindings(self, table: RowTable) -> Iterator[Part]:
        """A piece for each variable, empty where it is unbound; all but the first one begin with a comma."""
        any_before = np.zeros(len(table), dtype=np.bool_)
        for name, ids in table.columns.items():
            texts, places = self._terms.of(ids, table.dictionary)
            lead = encoded(f"{quoted(name)}: ")
            first, other = (
                objects((begin + text if text else b"" for text in texts), len(texts)) for begin in (lead, b", " + lead)
            )
            if any_before.all():
                yield other[places]
            else:
                yield np.where(any_before, other[places], first[places])
                any_before |= ids != UNBOUND


def _events(table: RowTable) -> Part:
    """The events of each row, each with the text before it."""
    entries = table.by_step
    kinds = np.where(entries.begins, _STEP, _EVENT)
    kinds[table.matches.starts] = _MATCH
    leads = [lead for step in table.steps for lead in _leads(quoted(step))]
    distinct, places = places_of(entries.named)
    names = [encoded(quoted(name)) for name in table.names[distinct].tolist()]

    def piece(number: int) -> bytes:
        name, lead = divmod(number, len(leads))
        return leads[lead] + names[name]

    numbers = places * len(leads) + entries.symbols * len(_KINDS) + kinds
    return Lists(table.matches.sizes, pieces_of(numbers, piece))


def _leads(step: str) -> tuple[bytes, bytes, bytes]:
    """The text before an event of a step, by _KINDS."""
    return encoded(f'}}, "events": {{{step}: ['), encoded(f"], {step}: ["), b", "
