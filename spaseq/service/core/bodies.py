"""The events of one request: what is good in a body, and what is not, each with its place."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from arrays.wanted import check_wanted
from sparql_gpm.columns import EventBatch, Ids, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.reading.raw_text import RawText
from spaseq.inputs.event_times import TimeReading
from spaseq.inputs.reading import StreamFormat, StreamReader
from spaseq.inputs.tables.template import Template
from spaseq.inputs.texts import OpenInput

_UNNAMED = " "
"""Stands for the stream in the names of events without a graph IRI, which no IRI can."""
_UNNAMED_PREFIX = f"urn:spaseq:event:{_UNNAMED}:"
_GRAPH = re.compile(r"<([^<>\s]*)>\s*\.\s*$")
"""The graph at the end of a line of N-Quads, even of one that is malformed elsewhere."""
_SCOPE = re.compile(rb"^_:e\d+_")
_NO_PART = frozenset({"default graph"})
"""Faults of what belongs to no event."""


@dataclass(frozen=True, slots=True)
class BodyReading:
    """The reading of a stream's bodies; `arrival`: events get the time at which they are accepted."""

    time: TimeReading
    contexts: Mapping[str, Any] = field(default_factory=dict)
    template: Template | None = None
    arrival: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """The events of a body.

    events      the whole and well-formed ones, in order; those without a graph IRI are not `named`
    lines       on which each begins
    duplicates  events that came twice
    malformed   the first fault of each event that is left out, and every other part that is
    """

    events: EventBatch
    named: Mask
    lines: Ids
    duplicates: int
    malformed: tuple[Malformed, ...]
    dictionary: Dictionary


def read_body(data: bytes, body_format: str, reading: BodyReading, now_ns: int, compiled: bool = False) -> Body:
    """The events of an unpacked body; InputError or RunError for a table without a template, or a missing context.

    body_format     rows of NDJSON are documents of JSON-LD where no template makes events of them
    compiled    kernels read what is long enough for them; the events are the same
    """
    dictionary, faults = Dictionary(), list[Malformed]()
    options = ReadOptions(
        reading.time.predicates,
        (lambda: now_ns) if reading.arrival else None,
        stream=_UNNAMED,
        compiled=compiled,
        line_bytes_max=max(1, len(data)),
        time_rule=reading.time.rule,
        contexts=reading.contexts,
        reopens=True,
    )
    if body_format == "ndjson" and reading.template is None:
        body_format = "ndjsonld"
    reader = StreamReader(dictionary, options, StreamFormat(body_format, reading.template), faults.append)
    parts = list(reader.read(OpenInput(io.BytesIO(data), body_format, live=False), "the body"))
    batch = EventBatch.concatenate([part.events for part in parts] or [EventBatch.empty()])
    lines = np.concatenate([part.lines for part in parts] or [np.zeros(0, dtype=np.int64)])
    names = list(batch.names)
    named = np.array([not name.startswith(_UNNAMED_PREFIX) for name in names], dtype=np.bool_)
    if not faults and len(set(names)) == len(names):
        return Body(batch, named, lines, 0, (), dictionary)
    kept = np.ones(len(batch), dtype=np.bool_)
    left_out = _first_of_each_event(faults, names, lines, kept)
    duplicates = 0
    for index, first in _again(names, np.flatnonzero(kept & named)):
        kept[index] = False
        check_wanted()
        if _size(batch, index) == _size(batch, first) and (
            _content(batch, index, dictionary) == _content(batch, first, dictionary)
        ):
            duplicates += 1
        else:
            left_out.append(_other_content(names[index], int(lines[index])))
    left_out.sort(key=_place)
    taken = np.flatnonzero(kept)
    return Body(batch.take(taken), named[taken], lines[taken], duplicates, tuple(left_out), dictionary)


def left_out_body(data: bytes, reason: str) -> Body:
    """The body of which nothing is read, as one fault."""
    raw = RawText(data)
    fault = Malformed(1, 1, reason, raw.shown, "too long", *raw.whole, whole_event=True)
    nothing = np.zeros(0, dtype=np.int64)
    return Body(EventBatch.empty(), nothing.astype(np.bool_), nothing, 0, (fault,), Dictionary())


def _first_of_each_event(faults: Sequence[Malformed], names: Sequence[str], lines: Ids, kept: Mask) -> list[Malformed]:
    """One fault for each event that has some; an event with a fault in a part of it is not kept."""
    if not faults:
        return []
    whole = [fault for fault in faults if fault.begins]
    events, ordinal = _Events(names, lines, whole), count(len(names))
    found: dict[int | str, Malformed] = {}
    for number, fault in enumerate(faults):
        key: int | str = f"fault {number}"
        if fault.begins:
            key = next(ordinal)
        elif not (fault.whole_event or fault.kind in _NO_PART):
            graph = _GRAPH.search(fault.raw)
            owner = events.owner(fault.line, None if graph is None else graph[1])
            key = owner if owner is not None else f"<{graph[1]}>" if graph is not None else key
        known = found.setdefault(key, fault)
        if _place(fault) < _place(known):
            found[key] = fault
    kept[[key for key in found if isinstance(key, int) and key < len(names)]] = False
    return list(found.values())


class _Events:
    """The events of a body by the lines on which they begin: those that can be read, numbered from 0, then others."""

    def __init__(self, names: Sequence[str], lines: Ids, left_out: Sequence[Malformed]) -> None:
        self._names, self._left_out = names, left_out
        begins = np.concatenate((lines, np.array([fault.begins for fault in left_out], dtype=np.int64)))
        self._order = np.argsort(begins, kind="stable")
        self._begins = begins[self._order]

    def owner(self, line: int, graph: str | None) -> int | None:
        """The number of the event to which a line about a graph belongs, or where it cannot be read; None: of none."""
        at = int(np.searchsorted(self._begins, line, side="right")) - 1
        near = [int(self._order[each]) for each in (at, at + 1) if 0 <= each < len(self._order)]
        if graph is None:
            return near[0] if at >= 0 else None
        return next((event for event in near if self._is_about(event, graph)), None)

    def _is_about(self, event: int, graph: str) -> bool:
        if event < len(self._names):
            return self._names[event] == graph
        return f"<{graph}>" in self._left_out[event - len(self._names)].raw


def _place(fault: Malformed) -> tuple[int, int]:
    return fault.line, fault.column


def _again(names: Sequence[str], events: Ids) -> Iterator[tuple[int, int]]:
    """The events whose graph came before, each with the first of its name."""
    first: dict[str, int] = {}
    for index in events.tolist():
        if (known := first.setdefault(names[index], index)) != index:
            yield index, known


def _size(batch: EventBatch, index: int) -> int:
    return int(batch.offsets[index + 1] - batch.offsets[index])


def _content(batch: EventBatch, index: int, dictionary: Dictionary) -> tuple[int, list[tuple[bytes, ...]]]:
    """The time and the triples of an event, with the labels that its blank nodes have in the body."""
    begin, end = batch.offsets[index : index + 2].tolist()
    columns = [
        [_SCOPE.sub(b"_:", dictionary.token(term)) for term in column[begin:end].tolist()] for column in batch.terms
    ]
    return int(batch.times[index]), sorted(zip(*columns, strict=True))


def _other_content(name: str, line: int) -> Malformed:
    reason = f"graph <{name}> comes again in this body with other triples"
    return Malformed(line, 1, reason, f"<{name}>", "reopened", whole_event=True)
