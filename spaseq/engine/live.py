"""Queries over events that a program pushes.

    engine = Engine(kb={"http://…/db": "kb.ttl"})
    engine.register(query, on_match=print)
    engine.push("http://…/stream", graph, "2026-01-01T00:00:10Z")

Matches are reported as soon as their place in the merged order is certain. With one stream that is
at once. With several, an event waits until every other stream has gone past its time: push to them,
say so with `advance`, or `close` the engine.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions, read_events
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import format_time, parse_time
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions, Statistics
from spaseq.engine.setup import BatchOver, Knowledge, Setup, skipped_rows
from spaseq.errors import InputError
from spaseq.inputs.pushed import Graph, PushedGraphs
from spaseq.inputs.terms import own_term
from spaseq.lang.ast import Query
from spaseq.outputs.dead_letters import DeadLetters, event_as_nquads
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded import Network

Time = datetime | str | int | float | Literal
_SECOND = 1_000_000_000


class Engine:
    """Registered queries that wait for events.

    kb          by IRI, the path of each knowledge base, the URL of its endpoint, or a `kb.source.Source`; read now
    options     the fields of `RunOptions`
    statistics  events, matches and dead letters so far

    Raises InputError for knowledge bases and options that cannot be used.
    """

    def __init__(self, kb: Knowledge | None = None, **options: Any) -> None:
        self._options = replace(RunOptions(), **options)
        self._dictionary = Dictionary()
        self._setup = Setup(kb or {}, self._options, self._dictionary)
        self._network = Network(self._dictionary, self._options.max_delay_ns)
        self._names: dict[str, str] = {}
        self._unnamed: dict[str, int] = {}
        self._graphs = PushedGraphs(self._dictionary)
        self._iris: dict[str, str] = {}
        self._prefixes: dict[str, str] = {}
        self._found: deque[tuple[Callable[[Row], object], Row]] = deque()
        self._dead_letters = DeadLetters(self._options.dead_letter, self._options.strict)
        self.statistics = Statistics(dead_letters=self._dead_letters.counts)

    def register(self, query: Query, on_match: Callable[[Row], object] | None = None) -> None:
        """Run a query over what is pushed from now on; each of its rows is handed to `on_match`.

        Rows are handed out when every query has seen the events. So `on_match` may push itself; and if it raises, which
        ends the push, the rows that are left come with the next one.
        Raises InputError if it names a knowledge base that the engine was not given.
        """
        operator = self._setup.operator(build(query))

        def on_rows(rows: list[Row]) -> None:
            self.statistics.matches += len(rows)
            if on_match is not None:
                self._found.extend([(on_match, row) for row in rows])

        self._network.add(operator, on_rows)
        self._iris.clear()
        for stream in query.streams:
            self._names.setdefault(stream.name, stream.iri)

    def push(self, stream: str, graph: Graph, time: Time, name: str | None = None) -> None:
        """One event.

        stream  the IRI of a stream that a registered query reads, or its name there
        graph   an rdflib Graph; triples of rdflib, pyoxigraph or sparql_gpm terms; or Turtle text
        time    a datetime (without zone: UTC), an xsd:dateTime text or literal, or seconds since the epoch
        name    the graph's IRI; else urn:spaseq:event:STREAM:N

        A late event is left out and counted (RunError if `strict`). Raises InputError for what is no event.
        """
        iri = self._iri(stream)
        triples = self._graphs.triples(graph)
        self._take(iri, RowEvent(nanoseconds(time), 0, name or self._fresh_name(stream, iri), triples))

    def push_batch(self, stream: str, data: Any, format: str = "nquads") -> None:
        """Many events.

        data    N-Quads or TriG as text or bytes (`format` says which), by the convention for streams; or an Arrow
                table or record batch with the columns graph, subject, predicate, object (N-Triples terms; an IRI may
                stand without brackets) and time, the rows of one event together
        """
        iri = self._iri(stream)
        text = data if isinstance(data, str | bytes) else _arrow_as_nquads(data)
        raw = text.encode() if isinstance(text, str) else text
        kind = format if isinstance(data, str | bytes) else "nquads"
        if kind not in ("nquads", "trig"):
            raise InputError(f"push_batch reads no '{kind}'", hint="nquads or trig")
        options = ReadOptions(
            self._options.time_predicates, None, self._options.batch_events_for(1), self._name_of(stream)
        )
        for batch in read_events(io.BytesIO(raw), kind, self._dictionary, options, self._malformed(iri)):
            self._take(iri, batch)

    def advance(self, stream: str, time: Time) -> None:
        """Say that nothing before `time` will come on the stream any more: a heartbeat for streams that are idle."""
        try:
            with BatchOver(self._setup.bases):
                self._network.advance(self._iri(stream), nanoseconds(time))
        finally:
            self._hand_out()

    def close(self) -> None:
        """The input has ended: report what is left, and close what is open."""
        try:
            with BatchOver(self._setup.bases):
                self._network.finish()
            self._hand_out()
        finally:
            self._release()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._release()

    def _release(self) -> None:
        self._dead_letters.close()
        self._setup.bases.close()

    def _hand_out(self) -> None:
        while self._found:
            on_match, row = self._found.popleft()
            on_match(row)

    def _take(self, iri: str, events: EventBatch | RowEvent) -> None:
        try:
            with BatchOver(self._setup.bases):
                if isinstance(events, RowEvent):
                    late: Sequence[int] = (0,) if self._network.push_event(iri, events) else ()
                else:
                    late = self._network.push(iri, events).tolist()
            self._count(iri, events, late)
        finally:
            self._hand_out()

    def _count(self, iri: str, events: EventBatch | RowEvent, late: Sequence[int]) -> None:
        self.statistics.events += 1 if isinstance(events, RowEvent) else len(events)
        self.statistics.skipped_rows = skipped_rows(self._setup.bases)
        for index in late:
            batch = events.batch if isinstance(events, RowEvent) else events
            self._dead_letters.late(iri, "push", 0, event_as_nquads(batch, index, self._dictionary))
        self._network.release_terms()

    def _malformed(self, iri: str) -> Callable[[Malformed], None]:
        return lambda letter: self._dead_letters.malformed(iri, "push_batch", letter)

    def _iri(self, stream: str) -> str:
        if stream in self._iris:
            return self._iris[stream]
        streams = self._network.streams
        iri = stream if stream in streams else self._names.get(stream, stream)
        if iri not in streams:
            known = ", ".join(f"<{known}>" for known in sorted(streams)) or "none yet"
            raise InputError(f"no registered query reads the stream '{stream}'", hint=f"streams: {known}")
        self._iris[stream] = iri
        return iri

    def _name_of(self, stream: str) -> str:
        return next((name for name, iri in self._names.items() if iri == stream), stream)

    def _fresh_name(self, stream: str, iri: str) -> str:
        number = self._unnamed.get(iri, 0)
        self._unnamed[iri] = number + 1
        if iri not in self._prefixes:
            self._prefixes[iri] = f"urn:spaseq:event:{self._name_of(stream)}:"
        return f"{self._prefixes[iri]}{number}"


def nanoseconds(time: Time) -> int:
    """A time in nanoseconds since the epoch; raises InputError for what is none."""
    if isinstance(time, datetime):
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        delta = aware - datetime(1970, 1, 1, tzinfo=UTC)
        return (delta.days * 86_400 + delta.seconds) * _SECOND + delta.microseconds * 1000
    if isinstance(time, int) and not isinstance(time, bool):
        return time * _SECOND
    if isinstance(time, float):
        return round(time * _SECOND)
    try:
        return parse_time(_time_literal(time))
    except (ValueError, TypeError) as error:
        raise InputError(f"not a time: {time!r} ({error})", hint="a datetime, xsd:dateTime, or seconds") from error


def _time_literal(time: Any) -> Literal:
    """A text stands for an xsd:dateTime; a literal of rdflib, which is a text too, for itself."""
    if type(time) is str:
        return Literal(time, XSD + "dateTime")
    literal = own_term(time)
    if not isinstance(literal, Literal):
        raise TypeError("an IRI or a blank node is no time")
    return literal


def _arrow_as_nquads(table: Any) -> str:
    """An Arrow table as the N-Quads of a stream."""
    try:
        columns = [table.column(name).to_pylist() for name in ("graph", "subject", "predicate", "object", "time")]
    except (AttributeError, KeyError) as error:
        raise InputError(
            f"push_batch cannot read {type(table).__name__}: {error}",
            hint="text, bytes, or an Arrow table with the columns graph, subject, predicate, object, time",
        ) from error
    lines: list[str] = []
    current = None
    for graph, subject, predicate, target, time in zip(*columns, strict=True):
        if graph != current:
            current = graph
            stamp = f'"{format_time(nanoseconds(time))}"^^<{XSD}dateTime>'
            lines.append(f"{_term(graph)} <http://www.w3.org/ns/prov#generatedAtTime> {stamp} .")
        lines.append(f"{_term(subject)} {_term(predicate)} {_term(target)} {_term(graph)} .")
    return "\n".join(lines) + "\n"


def _term(text: str) -> str:
    return text if text[:1] in '<"_' else f"<{text}>"
