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
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions, read_events
from sparql_gpm.reading.event_builder import next_scope, scopes_from
from sparql_gpm.well_formed import is_iri, is_text
from spaseq.engine.arguments import check_knowledge, meanings_of
from spaseq.engine.options import RunOptions, Statistics
from spaseq.engine.registration import Found, OnMatch, Registration
from spaseq.engine.saved_engine import SavedEngine, functions_of, opened, options_of, plain_rows, rows_of
from spaseq.engine.setup import BatchOver, Knowledge, Setup, skipped_rows
from spaseq.engine.stream_formats import contexts_of
from spaseq.engine.streams import PushedStreams
from spaseq.errors import InputError, RunError
from spaseq.inputs.arrow import lines_of, quads_of
from spaseq.inputs.formats import input_format
from spaseq.inputs.pushed import Graph, PushedGraphs
from spaseq.inputs.terms import Time, nanoseconds
from spaseq.lang.ast import Query
from spaseq.outputs.dead_letters import DeadLetters, late_letter
from spaseq.outputs.row_table import Rows
from spaseq.runtime.embedded.network import Network


class Engine:
    """Registered queries that wait for events.

    kb          by IRI, the path of each knowledge base, the URL of its endpoint, or a `kb.source.Source`; read now
    options     the fields of `RunOptions`
    statistics  events, matches and dead letters so far

    Raises InputError for knowledge bases and options that cannot be used.
    """

    def __init__(self, kb: Knowledge | None = None, **options: Any) -> None:
        check_knowledge(kb)
        self._options = RunOptions.of(options)
        self._dictionary = Dictionary()
        self._setup = Setup(kb or {}, self._options, self._dictionary)
        self._network = Network(self._dictionary, self._options.max_delay_ns)
        self._over = BatchOver(self._setup.bases)
        self._closed = False
        self._streams = PushedStreams()
        self._graphs = PushedGraphs(self._dictionary)
        self._found: Found = deque()
        self._registrations: dict[Registration, None] = {}
        self._dead_letters = DeadLetters(self._options.dead_letter, self._options.strict)
        self.statistics = Statistics(dead_letters=self._dead_letters.counts)

    def register(self, query: Query, on_match: OnMatch | None = None, max_runs: int | None = None) -> Registration:
        """Run a query over the events pushed from now on, until it is unregistered: see `Registration`.

        on_match    is called with each of its rows
        max_runs    its partial matches, at most: one that needs more is stopped; None: as the options say

        It is called when every query has processed the events, so that it may push. If it raises, which ends the push,
        the remaining rows follow with the next push.
        Raises InputError if it names a knowledge base that the engine was not given.
        """
        self._check_open()
        (meaning,) = meanings_of(query)
        if on_match is not None and not callable(on_match):
            raise InputError(f"on_match is a function of a row, not {type(on_match).__name__}")
        if max_runs is not None:
            RunOptions(max_runs=max_runs)
        registration = Registration(meaning, on_match, self._found, self._unregister, max_runs)
        operator = self._setup.live_operator(meaning, max_runs)
        try:
            reader = self._network.add(operator, partial(self._take_rows, registration))
        except InputError:
            operator.release()
            raise
        registration.begin(reader)
        self._streams.add(meaning)
        self._registrations[registration] = None
        return registration

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """The registered queries, in the order in which they came."""
        return tuple(self._registrations)

    def _take_rows(self, registration: Registration, rows: Rows) -> None:
        self.statistics.matches += registration.take(rows)

    def _unregister(self, registration: Registration) -> None:
        self._check_open()
        self._network.remove(registration.reader)
        self._streams.remove(registration.end())
        del self._registrations[registration]

    def push(self, stream: str, graph: Graph, time: Time, name: str | None = None) -> None:
        """One event.

        stream  the IRI of a stream that a registered query reads, or its name there
        graph   an rdflib Graph; triples of rdflib, pyoxigraph or sparql_gpm terms; or Turtle text
        time    a datetime (without zone: UTC), an xsd:dateTime text or literal, or seconds since the epoch
        name    the graph's IRI; else urn:spaseq:event:STREAM:N

        A late event is left out and counted (RunError if `strict`). Raises InputError for a value that is no event, and
        RunError, once all queries have read the event, if one of them had too many partial matches: it is stopped.
        """
        iri, time_ns = self._iri(stream), nanoseconds(time)
        if name is not None and not (isinstance(name, str) and is_iri(name)):
            raise InputError(f"the name of a graph is an absolute IRI, not {name!r}")
        triples = self._graphs.triples(graph)
        self._take(iri, RowEvent(time_ns, 0, name or next(self._streams.fresh_names[iri]), triples))

    def push_batch(self, stream: str, data: Any, format: str = "nquads") -> None:
        """Many events.

        data    N-Quads or TriG as text or bytes (`format` says which), by the convention for streams; or an Arrow
                table or record batch with the columns graph, subject, predicate, object (N-Triples terms; an IRI may
                stand without brackets) and time, the rows of one event together
        """
        iri = self._iri(stream)
        if isinstance(data, str) and not is_text(data):
            raise InputError("push_batch cannot read text with lone surrogates", hint="decode the bytes as UTF-8")
        reading, name = self._options.time_reading({}), self._streams.name(iri)
        predicates = reading.predicates or (PROV_TIME,)
        if not isinstance(data, str | bytes):
            data, format = "".join(lines_of(quads_of(data), predicates[0])), "nquads"
        if input_format(format).cut is None:
            raise InputError(f"push_batch reads no '{format}', which has one event", hint="nquads or trig; or use push")
        raw = io.BytesIO(data.encode() if isinstance(data, str) else data)
        longest = self._options.max_line
        contexts = contexts_of(self._options)
        size, rule = self._options.batch_events_for(1), reading.rule
        options = ReadOptions(predicates, None, size, name, line_bytes_max=longest, time_rule=rule, contexts=contexts)
        report = partial(self._dead_letters.malformed, name, "push_batch", iri=iri)
        for batch in read_events(raw, format, self._dictionary, options, report):
            self._take(iri, batch)
        self._dead_letters.check_written()

    def advance(self, stream: str, time: Time) -> None:
        """Declare that no event before `time` will follow on the stream: a heartbeat of an idle stream."""
        iri, time_ns = self._iri(stream), nanoseconds(time)
        try:
            with self._over:
                self._network.advance(iri, time_ns)
        finally:
            self._report()
        self._network.raise_stopped()

    def snapshot(self) -> bytes:
        """The state of the engine between two pushes: its queries, what they wait for, rows without their function yet.

        It carries terms and no code, so `restore` reads it in any process, on any machine, with this version.
        """
        self._check_open()
        network = self._network.snapshot()
        number = {registration: number for number, registration in enumerate(self._registrations)}
        by_reader = {registration.reader: number[registration] for registration in number}
        saved = SavedEngine(
            [each.saved() for each in number],
            [by_reader[reader] for reader in self._network.readers],
            plain_rows((number[each], row) for each, row in self._found if each in number),
            self.statistics.events,
            self.statistics.matches,
            dict(self._dead_letters.counts),
            self._graphs.graphs,
            next_scope(),
            self._streams.snapshot(),
            network,
        )
        return saved.snapshot(self._options, self._dictionary)

    @classmethod
    def restore(
        cls,
        snapshot: bytes,
        kb: Knowledge | None = None,
        on_match: OnMatch | Mapping[str, OnMatch] | None = None,
        **options: Any,
    ) -> Engine:
        """An engine that goes on from a snapshot: it finds what the one of the snapshot would have found.

        kb          the knowledge bases, as they were given to the other engine
        on_match    is called with the rows of all queries; or of each by its name
        options     in place of those of the snapshot; its evaluators stay

        Raises InputError for a snapshot that is damaged or of another version, and for knowledge bases other than those
        that its queries were planned with.
        """
        kept, blob = opened(snapshot)
        engine = cls(kb, **options_of(kept, options))
        try:
            engine._continue(SavedEngine.of(blob, engine._dictionary), on_match)
        except BaseException as error:
            engine._release()
            if isinstance(error, RunError):
                raise InputError(error.message, hint=error.hint) from error
            raise
        return engine

    def _continue(self, saved: SavedEngine, on_match: OnMatch | Mapping[str, OnMatch] | None) -> None:
        from spaseq.lang.parse import parse

        functions = functions_of(saved, on_match)
        made: dict[int, Registration] = {}
        for number in saved.order:
            query = saved.queries[number]
            made[number] = each = self.register(parse(query.text, query.name), functions[number], query.max_runs)
            each.matches = query.matches
            each.check_shape(query.shape)
        self._registrations = dict.fromkeys(made[number] for number in range(len(saved.queries)))
        self._network.restore(saved.network)
        names = [query.name for query in saved.queries]
        self._found.extend((made[number], row) for number, row in rows_of(saved.waiting, names))
        self.statistics.events, self.statistics.matches = saved.events, saved.matches
        self._dead_letters.counts.update(saved.dead_letters)
        self._graphs.graphs = saved.graphs
        scopes_from(saved.scope)
        self._streams.restore(saved.streams)

    def zero_rows(self) -> list[str]:
        """As long as no query has had a row: the reasons, as far as they are known, in at most five lines."""
        if self.statistics.matches:
            return []
        return self._setup.zero_rows(self._network, self._dead_letters.counts)

    def close(self, flush: bool = True) -> None:
        """End the input: report the remaining matches, and close files and connections; a second call does nothing.

        flush   False: what waits for later events stays unreported
        """
        if self._closed:
            return
        try:
            if flush:
                with self._over:
                    self._network.finish()
                self._report()
                self._network.raise_stopped()
        finally:
            operators = self._network.operators
            self.statistics.replanned = {each.query.name: each.replanned for each in operators if each.replanned}
            self._release()
        self._dead_letters.check_written()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            self.close()
        else:
            self._release()

    def _release(self) -> None:
        self._closed = True
        self._dead_letters.close()
        self._setup.bases.close()

    def _report(self) -> None:
        for letter in self._setup.letters():
            self._dead_letters.add(letter)
        while self._found:
            registration, row = self._found.popleft()
            registration.hand_out(row)

    def _take(self, iri: str, events: EventBatch | RowEvent) -> None:
        try:
            with self._over:
                if isinstance(events, RowEvent):
                    late: Sequence[int] = (0,) if self._network.push_event(iri, events) else ()
                else:
                    late = self._network.push(iri, events).tolist()
            self._count(iri, events, late)
        finally:
            self._report()
        self._network.raise_stopped()
        self._dead_letters.check_written()

    def _count(self, iri: str, events: EventBatch | RowEvent, late: Sequence[int]) -> None:
        self.statistics.events += 1 if isinstance(events, RowEvent) else len(events)
        if self._setup.bases:
            self.statistics.skipped_rows = skipped_rows(self._setup.bases)
        for index in late:
            batch = events.batch if isinstance(events, RowEvent) else events
            self._dead_letters.add(late_letter(self._streams.name(iri), iri, "push", 0, batch, index, self._dictionary))
        self._network.release_terms()

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("the engine is closed", hint="make another one: spaseq.Engine()")

    def _iri(self, stream: str) -> str:
        """The IRI of a stream to push to; raises InputError if the engine is closed or the name stands for none."""
        found = self._streams.known.get(stream) if isinstance(stream, str) else None
        if found is None or self._closed:
            self._check_open()
            return self._streams.iri(stream, self._network.streams)
        return found
