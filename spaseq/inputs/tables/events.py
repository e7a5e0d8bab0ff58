"""Events of rows: a template applied to batches of rows, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from arrays.columns import offsets_of
from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from sparql_gpm.columns import UNBOUND, EventBatch, Ids, Mask, as_ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.graph_names import take
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.event_times import Triple, values_inside
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.regular_batch import RegularBatch
from sparql_gpm.terms import IRI, BlankNode, to_ntriples
from sparql_gpm.times import format_time
from spaseq.errors import InputError
from spaseq.inputs.tables.cells import RowBatch, of_rows
from spaseq.inputs.tables.options import OBJECT_ROWS_MAX
from spaseq.inputs.tables.plain import plain_terms
from spaseq.inputs.tables.regular_rows import RegularReader, RegularRows, is_regular
from spaseq.inputs.tables.slots import BAD, Column, Slots
from spaseq.inputs.tables.template import Slot, Template, paths_of

KERNEL_BYTES_MIN = 8 << 20
"""Tables from this size on repay loading the kernels of the term table."""


@dataclass(slots=True)
class _Times:
    """The least and the greatest time of each row; the greatest is less where there is none.

    bad     the reason of a row's first value that is no time
    """

    least: Ids
    greatest: Ids
    bad: dict[int, str]

    @staticmethod
    def of(rows: int) -> _Times:
        return _Times(np.full(rows, TIME_NS_MAX), np.full(rows, TIME_NS_MIN), {})

    @property
    def known(self) -> Mask:
        """Rows that have a time."""
        return self.least <= self.greatest


class TemplateReader:
    """Makes events of rows.

    Rows that give none are reported with their number; the names and graphs are those of the builder's stream.
    """

    def __init__(self, template: Template, dictionary: Dictionary, builder: EventBuilder, options: ReadOptions) -> None:
        self._template, self._dictionary, self._builder, self._options = template, dictionary, builder, options
        self._slots = Slots(dictionary, builder.new_scope)
        if _tables_pay(options):
            dictionary.table()
        self._predicates = frozenset(options.time_predicates)
        self._about_name, self._inside = self._time_slots()
        self._time = self._one_time()
        self._regular = None
        if is_regular(template):
            self._regular = RegularReader(template, dictionary, builder, self._slots)
        self._times_known: dict[int, int | str] = {}
        self._generation = -1

    def take(self, rows: RowBatch) -> Iterator[LocatedBatch]:
        """The events of a batch of rows."""
        if not len(rows.numbers):
            return
        lost: dict[int, tuple[str, str]] = {}
        regular = self._as_regular(rows)
        if regular is None:
            for part in rows.parts(OBJECT_ROWS_MAX):
                yield from self._one_by_one(part, {}, None)
            return
        names = self._names(rows, lost)
        if lost:
            yield from self._one_by_one(rows, lost, names)
            return
        events = RegularBatch(regular.times, np.zeros(len(names), dtype=np.int64), names, regular.triples)
        self._builder.admit(LocatedBatch(events, rows.numbers))
        yield from self._builder.flush()

    def _one_by_one(
        self, rows: RowBatch, lost: dict[int, tuple[str, str]], names: Sequence[str] | None
    ) -> Iterator[LocatedBatch]:
        """The events of rows some of which may give none; `names` of their graphs, where they are closed already."""
        if self._generation != self._dictionary.generation:
            self._times_known.clear()
            self._generation = self._dictionary.generation
        count = len(rows.numbers)
        scopes = [self._builder.new_scope() for _ in range(count)] if self._has_blank_nodes() else [0] * count
        columns: dict[Slot, Column] = {}
        for slot in dict.fromkeys(slot for triple in self._template.triples for slot in triple):
            columns[slot] = self._slots.column(slot, rows, scopes)
            self._lose_bad(columns[slot], lost)
        of, triples = self._triples(columns, count)
        times = self._row_times(rows, columns, scopes, of, triples, lost)
        names = self._names(rows, lost) if names is None else names
        kept = np.ones(count, dtype=np.bool_)
        for row in sorted(lost):
            kept[row] = False
            reason, kind = lost[row]
            raw = rows.shown(row).encode("utf-8", "replace")
            self._builder.report(int(rows.numbers[row]), 1, reason, raw, kind, whole_event=True)
        yield from self._admitted(rows, kept, times, names, of, triples)

    def _as_regular(self, rows: RowBatch) -> RegularRows | None:
        """The events of rows without their triples; None if they must be read one by one."""
        if self._regular is None or self._time is None:
            return None
        return self._regular.read(rows, self._time, self._options.time_rule)

    def _admitted(
        self, rows: RowBatch, kept: Mask, times: Ids, names: Sequence[str], of: Ids, triples: Ids
    ) -> Iterator[LocatedBatch]:
        taken = np.flatnonzero(kept)
        stays = kept[of]
        counts = np.bincount(of[stays], minlength=len(kept))[taken]
        columns = (np.ascontiguousarray(column) for column in triples[:, stays])
        chosen = take(names, taken)
        zeros = np.zeros(len(taken), dtype=np.int64)
        events = EventBatch(times[taken], zeros, chosen, offsets_of(counts), *columns)
        if len(taken):
            self._builder.admit(LocatedBatch(events, rows.numbers[taken]))
        yield from self._builder.flush()

    def _time_slots(self) -> tuple[list[Slot], list[Slot]]:
        """The slots of times about the name of the graph, and of others inside it."""
        template = self._template
        inside = [
            (subject, target)
            for subject, predicate, target in template.triples
            if isinstance(predicate, IRI) and predicate.value in self._predicates
        ]
        about = [target for subject, target in inside if template.graph is not None and subject == template.graph]
        return [target for _, target in template.times] + about, [target for _, target in inside]

    def _one_time(self) -> Slot | None:
        """The slot that alone states times; None if there are none, or several."""
        slots = self._about_name or self._inside
        alone = len(slots) == 1 and (self._about_name or not self._options.time_rule.paths)
        return slots[0] if alone else None

    def _has_blank_nodes(self) -> bool:
        return any(isinstance(slot, BlankNode) for triple in self._template.triples for slot in triple)

    def _triples(self, columns: dict[Slot, Column], count: int) -> tuple[Ids, Ids]:
        """The row of each triple, ascending, and int64[3, m]: its terms; triples with an empty cell are left out."""
        found = [
            _joined([columns[slot] for slot in triple], count, place)
            for place, triple in enumerate(self._template.triples)
        ]
        of = np.concatenate([rows for rows, _, _ in found])
        places = np.concatenate([place for _, place, _ in found])
        terms = np.concatenate([triple for _, _, triple in found], axis=1)
        usable: Mask = np.asarray((terms > UNBOUND).all(axis=0))
        if all(column.rows is None for column in columns.values()):
            order = np.arange(len(of)).reshape(-1, count).T.ravel()
            order = order[usable[order]]
            return of[order], terms[:, order]
        order = np.lexsort((places[usable], of[usable]))
        return of[usable][order], terms[:, usable][:, order]

    def _lose_bad(self, column: Column, lost: dict[int, tuple[str, str]]) -> None:
        for index in np.flatnonzero(column.ids == BAD).tolist():
            row = index if column.rows is None else int(column.rows[index])
            lost.setdefault(row, (column.fault(index), "syntax"))

    def _names(self, rows: RowBatch, lost: dict[int, tuple[str, str]]) -> Sequence[str]:
        """The name of each row's graph; a row whose graph has no name, or an earlier row's, is lost."""
        count, graph = len(rows.numbers), self._template.graph
        if graph is None or isinstance(graph, BlankNode):
            return self._builder.new_names(count)
        if self._regular is not None and not self._options.reopens and (series := self._regular.series(rows)):
            numbered = self._builder.close_numbered(*series)
            if numbered is not None:
                return numbered
        fresh = self._fresh_names(graph, rows)
        if len(fresh) == count:
            return fresh
        names, reasons = self._slots.texts(graph, rows)
        for row, name in enumerate(names[len(fresh) :], len(fresh)):
            if name is None:
                lost.setdefault(row, (reasons[row], "syntax"))
            elif self._builder.is_closed(f"<{name}>".encode()):
                shown = to_ntriples(IRI(name))
                lost.setdefault(row, (f"graph {shown} is that of an earlier row: each row is one event", "reopened"))
        return [name or "" for name in names]

    def _fresh_names(self, graph: Slot, rows: RowBatch) -> Sequence[str]:
        """The names of the first rows, up to one that an earlier row has, if all are plain; they are closed then."""
        paths = paths_of(graph)
        if len(paths) != 1 or not self._dictionary.has_table or self._options.reopens:
            return ()
        cells = rows.cells(paths[0])
        whole = cells.rows is None and np.array_equal(cells.codes, of_rows(len(rows.numbers)))
        if not whole or (found := plain_terms(graph, cells)) is None:
            return ()
        from sparql_gpm.interning.term_table import as_bytes  # with numba, as the table

        stops = np.cumsum(found.lengths)
        return self._builder.close_fresh(as_bytes(found.text), stops - found.lengths, stops)

    def _row_times(
        self,
        rows: RowBatch,
        columns: dict[Slot, Column],
        scopes: Sequence[int],
        of: Ids,
        triples: Ids,
        lost: dict[int, tuple[str, str]],
    ) -> Ids:
        """The time of each row; those that have none, or two, are lost."""
        count = len(rows.numbers)
        arrivals = self._builder.arrivals(count)
        if arrivals is not None:
            return arrivals
        about = self._gathered(self._about_name, rows, columns, scopes)
        for row, reason in about.bad.items():
            lost.setdefault(row, (f"the time of the row cannot be read: {reason}", "bad timestamp"))
        for row in np.flatnonzero(about.known & (about.least != about.greatest)).tolist():
            lost.setdefault(row, (_both(about, row), "two timestamps"))
        without = ~about.known
        if without.any():
            inside = self._gathered(self._inside, rows, columns, scopes)
            self._follow_paths(inside, np.flatnonzero(without), of, triples)
            self._take_inside(about, inside, without, lost)
        return about.least

    def _take_inside(self, about: _Times, inside: _Times, without: Mask, lost: dict[int, tuple[str, str]]) -> None:
        """The times inside graphs, for the rows without one about their name."""
        choice = self._options.time_rule.choice
        for row in np.flatnonzero(without).tolist():
            if row in inside.bad:
                lost.setdefault(row, (f"the time of the row cannot be read: {inside.bad[row]}", "bad timestamp"))
            elif not inside.known[row]:
                lost.setdefault(row, ("the row has no time", "no timestamp"))
            elif inside.least[row] != inside.greatest[row] and not choice:
                lost.setdefault(row, (_both(inside, row), "two timestamps"))
        about.least[without] = (inside.greatest if choice == "latest" else inside.least)[without]

    def _gathered(
        self, slots: Sequence[Slot], rows: RowBatch, columns: dict[Slot, Column], scopes: Sequence[int]
    ) -> _Times:
        """The times of some slots."""
        times = _Times.of(len(rows.numbers))
        for slot in slots:
            column = columns[slot] if slot in columns else self._slots.column(slot, rows, scopes)
            at = column.rows if column.rows is not None else of_rows(len(column.ids))
            if column.times is not None:
                stated = column.ids > UNBOUND
                np.minimum.at(times.least, at[stated], column.times[stated])
                np.maximum.at(times.greatest, at[stated], column.times[stated])
                continue
            distinct, inverse = np.unique(column.ids, return_inverse=True)
            self._enter(times, at, [self._time_of(each) for each in distinct.tolist()], inverse.reshape(-1))
        return times

    def _enter(self, times: _Times, at: Ids, known: Sequence[int | str | None], inverse: Ids) -> None:
        """Add the times of rows, each the one of `known` at its place in `inverse`."""
        stated = np.array([isinstance(each, int) for each in known], dtype=np.bool_)[inverse]
        values = np.array([each if isinstance(each, int) else 0 for each in known], dtype=np.int64)[inverse]
        np.minimum.at(times.least, at[stated], values[stated])
        np.maximum.at(times.greatest, at[stated], values[stated])
        faulty = np.array([isinstance(each, str) for each in known], dtype=np.bool_)[inverse]
        for index in np.flatnonzero(faulty).tolist():
            times.bad.setdefault(int(at[index]), str(known[int(inverse[index])]))

    def _time_of(self, identifier: int) -> int | str | None:
        """The time that a term states, or why it states none; None for no term."""
        if identifier <= UNBOUND:
            return None
        if identifier not in self._times_known:
            try:
                self._times_known[identifier] = self._options.time_rule.stated(self._dictionary.term(identifier))
            except ValueError as error:
                self._times_known[identifier] = str(error)
        return self._times_known[identifier]

    def _follow_paths(self, times: _Times, wanted: Ids, of: Ids, triples: Ids) -> None:
        """Add the times at the ends of paths, and of predicates that are cells."""
        paths = self._options.time_rule.paths
        if any(not isinstance(predicate, IRI) for _, predicate, _ in self._template.triples):
            paths = (*paths, *((predicate,) for predicate in self._options.time_predicates))
        if not paths:
            return
        begins, ends = np.searchsorted(of, wanted), np.searchsorted(of, wanted, side="right")
        for row, begin, end in zip(wanted.tolist(), begins.tolist(), ends.tolist(), strict=True):
            graph: list[Triple] = list(zip(*triples[:, begin:end].tolist(), strict=True))
            for value in values_inside(graph, paths, self._dictionary):
                self._enter(times, as_ids([row]), [self._time_of(value)], as_ids([0]))


def _tables_pay(options: ReadOptions) -> bool:
    """True if an input is so long that it repays loading the kernels that take many terms at once."""
    if options.compiled is not None or options.reopens:
        return bool(options.compiled) and not options.reopens
    return options.bytes_expected >= KERNEL_BYTES_MIN


def _joined(columns: Sequence[Column], count: int, place: int) -> tuple[Ids, Ids, Ids]:
    """Rows, places and int64[3, m] terms of the triples of three columns; those of lists go together."""
    lists = [column for column in columns if column.rows is not None]
    if not lists:
        of = of_rows(count)
    else:
        first = lists[0]
        assert first.rows is not None
        of = first.rows
        if any(each.owner != first.owner or len(each.ids) != len(first.ids) for each in lists):
            raise InputError("a triple has cells of two lists", hint="use fields of one list, or two triples")
    terms = np.stack([column.ids if column.rows is not None or not lists else column.ids[of] for column in columns])
    return of, np.full(len(of), place, dtype=np.int64), terms


def _both(times: _Times, row: int) -> str:
    both = f"{format_time(int(times.least[row]))} and {format_time(int(times.greatest[row]))}"
    return f"the row has two different times, {both}"
