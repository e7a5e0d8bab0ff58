"""Rows of tables as regular events: columns become ids where patterns ask for them, and triples not at all.

For templates whose triples have constant predicates, each its own. Batches in which some cell may give no term, or some
row no event, are left to the reader of single terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, assert_never

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from arrays.columns import UNBOUND
from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from sparql_gpm.columns import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.lazy_terms import ColumnTerms, LazyTerms, Same
from sparql_gpm.reading.closed_graphs import Series
from sparql_gpm.reading.event_builder import EventBuilder
from sparql_gpm.reading.event_times import TimeRule
from sparql_gpm.regular_batch import RegularTriple
from sparql_gpm.terms import IRI, XSD, BlankNode, Literal, TripleTerm
from spaseq.inputs.tables.cells import Cells, PlainColumn, RowBatch
from spaseq.inputs.tables.plain import around, certain_iri, times_of
from spaseq.inputs.tables.slots import BAD, Slots, combinations
from spaseq.inputs.tables.template import IriOf, Path, Slot, Template, TextOf, Value, paths_of

_KNOWN_MAX = 1 << 17
"""Values of a slot whose terms are remembered."""
CellSlot = Value | IriOf | TextOf


class CellTerms:
    """The terms of a slot with one cell, for values of all batches: each becomes a term once."""

    def __init__(self, slot: CellSlot, slots: Slots, dictionary: Dictionary) -> None:
        self._slot, self._slots, self._dictionary = slot, slots, dictionary
        self._known: dict[str | None, dict[str | None, int]] = {}
        self._generation = -1

    def intern(self, texts: Sequence[str | None], datatypes: Sequence[str] | str | None) -> Ids:
        """The ids of distinct values, BAD for those that give no term; texts and types as in `Cells`."""
        if isinstance(datatypes, str | None):
            return self._of_type(texts, datatypes)
        found, types = np.zeros(len(texts), dtype=np.int64), np.array(datatypes)
        for datatype in dict.fromkeys(datatypes):
            (places,) = np.nonzero(types == datatype)
            found[places] = self._of_type([texts[place] for place in places.tolist()], datatype)
        return found

    def _of_type(self, texts: Sequence[str | None], datatype: str | None) -> Ids:
        known = self._known.setdefault(datatype, {})
        if self._generation != self._dictionary.generation or sum(map(len, self._known.values())) > _KNOWN_MAX:
            self._known = {datatype: (known := {})}
            self._generation = self._dictionary.generation
        found = [known.get(text, UNBOUND) for text in texts]
        missing = [place for place, identifier in enumerate(found) if identifier == UNBOUND]
        if missing:
            new = [texts[place] for place in missing]
            cells = Cells(np.arange(len(new), dtype=np.int64), new, datatype)
            ids = self._slots.of_cells(self._slot, cells).ids.tolist()
            known.update(zip(new, ids, strict=True))
            for place, identifier in zip(missing, ids, strict=True):
                found[place] = identifier
        return np.array(found, dtype=np.int64)


class _ColumnCodes:
    """A column as codes of its distinct values, which are found when somebody asks."""

    def __init__(self, column: PlainColumn, terms: CellTerms) -> None:
        self._column, self._terms = column, terms
        self._encoded: tuple[Ids, Any] | None = None

    def codes(self) -> Ids:
        """See `Coded`."""
        return self._found()[0]

    @property
    def full(self) -> bool:
        """See `Coded`."""
        return not self._column.has_null

    def values(self) -> int:
        """See `Coded`."""
        return len(self._found()[1])

    def intern(self, codes: Ids) -> Ids:
        """See `Coded`."""
        return self._terms.intern(*self._column.lexicals(pc.take(self._found()[1], codes)))

    def _found(self) -> tuple[Ids, Any]:
        if self._encoded is None:
            self._encoded = self._column.encoded()
        return self._encoded


class _Combined:
    """The terms of a slot with several cells, as codes of the combinations of their values."""

    def __init__(self, slot: IriOf | TextOf, columns: Sequence[PlainColumn], slots: Slots) -> None:
        self._slot, self._columns, self._slots = slot, columns, slots

    def codes(self) -> Ids:
        """See `Coded`."""
        return self._found[0]

    @property
    def full(self) -> bool:
        """See `Coded`."""
        return not any(column.has_null for column in self._columns)

    def values(self) -> int:
        """See `Coded`."""
        return int(self._found[1].shape[1])

    def intern(self, codes: Ids) -> Ids:
        """See `Coded`."""
        texts = []
        for (_, values), column, of in zip(self._encoded, self._columns, self._found[1][:, codes], strict=True):
            distinct, places = np.unique(of, return_inverse=True)
            lexicals, _ = column.lexicals(pc.take(values, distinct))
            texts.append([lexicals[place] for place in places.tolist()])
        return self._slots.of_combinations(self._slot, list(zip(*texts, strict=True)))

    @cached_property
    def _encoded(self) -> list[tuple[Ids, Any]]:
        return [column.encoded() for column in self._columns]

    @cached_property
    def _found(self) -> tuple[Ids, NDArray[np.int64]]:
        """The code of each cell, and int64[columns, n]: the codes that each combination is made of."""
        return combinations([codes for codes, _ in self._encoded])


class _Nodes:
    """A blank node of each row."""

    def __init__(self, first: int, count: int, label: str, dictionary: Dictionary) -> None:
        self._first, self._label, self._dictionary = first, label, dictionary
        self._codes = np.arange(count, dtype=np.int64)

    def codes(self) -> Ids:
        """See `Coded`."""
        return self._codes

    @property
    def full(self) -> bool:
        """See `Coded`."""
        return True

    def values(self) -> int:
        """See `Coded`."""
        return len(self._codes)

    def intern(self, codes: Ids) -> Ids:
        """See `Coded`."""
        first, label, intern = self._first, self._label, self._dictionary.intern
        return np.array([intern(BlankNode(f"e{first + row}_{label}")) for row in codes.tolist()], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class RegularRows:
    """The events of a batch of rows, but for their names."""

    times: Ids
    triples: tuple[RegularTriple, ...]


class RegularReader:
    """Reads rows by a regular template."""

    def __init__(self, template: Template, dictionary: Dictionary, builder: EventBuilder, slots: Slots) -> None:
        self._template, self._dictionary, self._builder, self._slots = template, dictionary, builder, slots
        found = dict.fromkeys(slot for triple in template.triples for slot in triple)
        self._cells = {slot: CellTerms(slot, slots, dictionary) for slot in found if isinstance(slot, CellSlot)}
        self._nodes = {subject: n for n, subject in enumerate(dict.fromkeys(each[0] for each in template.triples))}

    def read(self, rows: RowBatch, time: Slot, rule: TimeRule) -> RegularRows | None:
        """The events of rows whose time is in one slot; None if some row may not be one, or not a regular one."""
        columns = _plain_columns(self._template, rows)
        if columns is None:
            return None
        times = self._builder.arrivals(len(rows.numbers)) if self._builder.stamps_arrivals else None
        if times is None and (times := _times(time, columns, rule)) is None:
            return None
        terms = {slot: self._terms(slot, columns, len(rows.numbers)) for slot in self._places()}
        if any(found is None for found in terms.values()):
            return None
        return RegularRows(times, tuple(self._triples({k: v for k, v in terms.items() if v is not None})))

    def series(self, rows: RowBatch) -> tuple[Series, Ids] | None:
        """The texts around a number in the names of the rows' graphs, and the numbers; None for names of other form."""
        graph = self._template.graph
        paths = paths_of(graph)
        if not isinstance(graph, IriOf) or len(paths) != 1 or not certain_iri(graph):
            return None
        column = rows.plain(paths[0])
        numbers = None if column is None else column.integers()
        return None if numbers is None else (around(graph.parts), numbers)

    def _places(self) -> Mapping[Slot, None]:
        return dict.fromkeys(slot for subject, _, target in self._template.triples for slot in (subject, target))

    def _triples(self, terms: Mapping[Slot, LazyTerms]) -> list[RegularTriple]:
        return [
            RegularTriple(self._dictionary.intern(predicate), self._nodes[subject], terms[subject], terms[target])
            for subject, predicate, target in self._template.triples
            if isinstance(predicate, IRI)
        ]

    def _terms(self, slot: Slot, columns: Mapping[Path, PlainColumn], count: int) -> LazyTerms | None:
        """The terms of a slot; None if some cell may give none."""
        match slot:
            case IRI() | Literal() | TripleTerm():
                return Same(self._dictionary.intern(slot), count)
            case BlankNode(label):
                return ColumnTerms.of(_Nodes(self._builder.new_scopes(count), count, label, self._dictionary), count)
            case Value() | TextOf() | IriOf():
                paths = paths_of(slot)
                if len(paths) > 1 and not isinstance(slot, Value):
                    return ColumnTerms.of(_Combined(slot, [columns[path] for path in paths], self._slots), count)
                coded = _ColumnCodes(columns[paths[0]], self._cells[slot])
                found = ColumnTerms.of(coded, count)
                if isinstance(slot, IriOf) and len(slot.parts) == 1 and bool((found.distinct() == BAD).any()):
                    return None
                return found
        assert_never(slot)


def is_regular(template: Template) -> bool:
    """True if all rows of a plain table have the triples of the template, but for empty cells."""
    predicates = [predicate for _, predicate, _ in template.triples]
    slots = [slot for triple in template.triples for slot in triple]
    certain = (len(slot.parts) == 1 or certain_iri(slot) for slot in slots if isinstance(slot, IriOf))
    return (
        bool(predicates)
        and len(set(predicates)) == len(predicates)
        and all(isinstance(predicate, IRI) for predicate in predicates)
        and all(paths_of(slot) for slot in slots if isinstance(slot, CellSlot))
        and all(certain)
    )


def _plain_columns(template: Template, rows: RowBatch) -> dict[Path, PlainColumn] | None:
    """The columns of all cells of a template; None if some cell may give no term, whatever its slot."""
    found: dict[Path, PlainColumn] = {}
    for path in template.paths():
        column = rows.plain(path)
        if column is None or not column.is_certain:
            return None
        found[path] = column
    iris = (
        path for triple in template.triples for slot in triple if isinstance(slot, IriOf) for path in paths_of(slot)
    )
    return found if all(found[path].is_ascii for path in iris if found[path].is_text) else None


def _times(slot: Slot, columns: Mapping[Path, PlainColumn], rule: TimeRule) -> Ids | None:
    """The times that cells state; None if one states none, or is not of the usual form."""
    match slot:
        case Value(path):
            column = columns[path]
            return _of_numbers(column, rule) if column.is_integer else _of_texts(column, rule)
        case TextOf((path,), datatype, "") if isinstance(path, tuple):
            column = columns[path]
            if datatype == XSD + "integer":
                return _of_numbers(column, rule)
            return _of_texts(column, None) if datatype == XSD + "dateTime" else None
    return None


def _of_texts(column: PlainColumn, rule: TimeRule | None) -> Ids | None:
    """The times of texts that are dateTimes, of timestamps, or with a rule of numbers."""
    if rule is not None and column.is_text and not column.untyped:
        return None  # the value of a string is a string
    if (found := column.date_times()) is not None:
        return found
    if rule is not None and column.untyped and (found := _of_numbers(column, rule)) is not None:
        return found
    lines = column.lines()
    return None if lines is None else times_of(lines)


def _of_numbers(column: PlainColumn, rule: TimeRule) -> Ids | None:
    numbers = column.integers()
    if numbers is None or not len(numbers):
        return None
    least, most = (int(end) * rule.unit_ns + rule.origin_ns for end in (numbers.min(), numbers.max()))
    return numbers * rule.unit_ns + rule.origin_ns if least >= TIME_NS_MIN and most <= TIME_NS_MAX else None
