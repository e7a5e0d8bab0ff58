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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from arrays.times import nearest_time
from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions, read_events
from sparql_gpm.reading.event_builder import next_scope, scopes_from
from sparql_gpm.well_formed import is_iri, is_text
from spaseq.engine.arguments import check_knowledge
from spaseq.engine.exclusive import Exclusive
from spaseq.engine.history import History
from spaseq.engine.live_queries import LiveQueries
from spaseq.engine.options import RunOptions, Statistics
from spaseq.engine.registration import OnMatch, Registration
from spaseq.engine.saved_engine import WAY_BACK, SavedEngine, functions_of, opened, options_of, plain_rows, rows_of
from spaseq.engine.setup import BatchOver, Knowledge, Setup, skipped_rows
from spaseq.engine.stream_formats import contexts_of
from spaseq.errors import InputError, RunError
from spaseq.inputs.arrow import lines_of, quads_of
from spaseq.inputs.formats import input_format
from spaseq.inputs.pushed import Graph, PushedGraphs
from spaseq.inputs.terms import Time, nanoseconds
from spaseq.lang.ast import Query
from spaseq.outputs.dead_letters import DeadLetters, late_letter
from spaseq.runtime.embedded.network import Network


class Engine:
    """Registered queries that wait for events.

    kb          by IRI, the path of each knowledge base, the URL of its endpoint, or a `kb.source.Source`; read now
    history     the events that windows reach back to are kept, for `Registration.replace`
    options     the fields of `RunOptions`
    statistics  events, matches and dead letters so far

    Raises InputError for knowledge bases and options that cannot be used.
    """

    def __init__(self, kb: Knowledge | None = None, history: bool = False, **options: Any) -> None:
        check_knowledge(kb)
        if not isinstance(history, bool):
            raise InputError(f"the option history is True or False, not {history!r:.100}")
        self._options = RunOptions.of(options)
        self._dictionary = Dictionary()
        self._setup = Setup(kb or {}, self._options, self._dictionary)
        self._over = BatchOver(self._setup.bases)
        self._alone = Exclusive()
        self._closed = False
        self._history = History(self._options.max_delay_ns) if history else None
        self._network = Network(self._dictionary, self._options.max_delay_ns)
        self._dead_letters = DeadLetters(self._options.dead_letter, self._options.strict)
        self.statistics = Statistics(dead_letters=self._dead_letters.counts)
        self._queries = LiveQueries(
            self._setup, self._network, self._options, self.statistics, self._history, self._turn
        )
        self._streams = self._queries.streams
        self._graphs = PushedGraphs(self._dictionary)

    def register(self, query: Query, on_match: OnMatch | None = None, max_runs: int | None = None) -> Registration:
        """Run a query over the events pushed from now on, until it is unregistered: see `Registration`.

        on_match    is called with each of its rows
        max_runs    its partial matches, at most: one that needs more is stopped; None: as the options say

        It is called when every query has processed the events, so that it may push. If it raises, which ends the push,
        the remaining rows follow with the next push.
        Raises InputError if it names a knowledge base that the engine was not given.
        """
        with self._alone:
            self._check_open()
            return self._queries.register(query, on_match, max_runs)

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """The registered queries, in the order in which they came."""
        return tuple(self._queries.all)

    def push(self, stream: str, graph: Graph, time: Time, name: str | None = None) -> None:
        """One event.

        stream  the IRI of a stream that a registered query reads, or its name there
        graph   an rdflib Graph; triples of rdflib, pyoxigraph or sparql_gpm terms; or Turtle text
        time    a datetime (without zone: UTC), an xsd:dateTime text or literal, or seconds since the epoch
        name    the graph's IRI; else urn:spaseq:event:STREAM:N

        A late event is left out and counted (RunError if `strict`). Raises InputError for a value that is no event, and
        RunError, once all queries have read the event, if one of them had too many partial matches: it is stopped.
        """
        with self._alone:
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
        with self._alone:
            self._read(self._iri(stream), data, format)

    def _read(self, iri: str, data: Any, format: str) -> None:
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
        with self._turn():
            iri, time_ns = self._iri(stream), nanoseconds(time)
            if self._history is not None:
                self._history.advance(iri, time_ns)
            self._network.advance(iri, time_ns)

    def pushed_streams(self) -> list[tuple[str, str]]:
        """Name and IRI of each stream that events can be pushed to."""
        return [(self._streams.name(iri), iri) for iri in sorted(self._network.streams)]

    def iri_of(self, stream: str) -> str:
        """The IRI of a stream, by its IRI or its name; raises InputError if it stands for none."""
        return self._iri(stream)

    def advance_idle(self, stream: str, silence_ns: int, now_ns: int) -> None:
        """Let the watermark of a stream go on with the wall clock although nothing comes.

        silence_ns  since its last event, by which the watermark has moved from the one that the event left
        now_ns      the time of the wall clock, for a stream without an event
        """
        with self._turn():
            iri = self._iri(stream)
            newest = self._network.newest(iri)
            time = nearest_time((now_ns if newest is None else newest + silence_ns) - self._options.max_delay_ns)
            if self._history is not None:
                self._history.advance(iri, time)
            self._network.advance(iri, time)

    def snapshot(self) -> bytes:
        """The state of the engine between two pushes: its queries, what they wait for, rows without their function yet.

        It carries terms and no code, so `restore` reads it in any process, on any machine, with this release or the
        next.
        """
        with self._alone:
            self._check_open()
            return self._saved().snapshot(self._options, self._dictionary)

    def _saved(self) -> SavedEngine:
        queries = self._queries
        inputs, states = self._network.snapshot()
        number = {registration: number for number, registration in enumerate(queries.all)}
        by_reader = {registration.reader: number[registration] for registration in number}
        return SavedEngine(
            [each.saved(states[each.reader]) for each in number],
            [by_reader[reader] for reader in self._network.readers],
            plain_rows((number[each], row) for each, row in queries.found if each in number),
            self.statistics.events,
            self.statistics.matches,
            dict(self._dead_letters.counts),
            self._graphs.graphs,
            next_scope(),
            self._streams.snapshot(),
            inputs,
            None if self._history is None else self._history.snapshot(),
        )

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

        A query whose own state is damaged, or cannot be read by this SPAseq, is stopped (`Registration.error`), the
        next push says so, and the others go on.
        Raises InputError for a snapshot that is damaged as a whole or of another version, and for knowledge bases other
        than those that its queries were planned with.
        """
        saved = opened(snapshot)
        engine = cls(kb, **options_of(saved.options, options))
        try:
            engine._continue(saved.engine(engine._dictionary), on_match)
        except BaseException as error:
            engine._release()
            if isinstance(error, RunError):
                raise InputError(error.message, hint=error.hint) from error
            raise
        return engine

    def _continue(self, saved: SavedEngine, on_match: OnMatch | Mapping[str, OnMatch] | None) -> None:
        from spaseq.lang.parse import parse

        queries, functions = self._queries, functions_of(saved, on_match)
        made: dict[int, Registration] = {}
        for number in saved.order:
            query = saved.queries[number]
            made[number] = each = queries.register(parse(query.text, query.name), functions[number], query.max_runs)
            each.matches = query.matches
            each.check_shape(query.state.shape)
        queries.all = dict.fromkeys(made[number] for number in range(len(saved.queries)))
        states = {made[number].reader: query.state for number, query in enumerate(saved.queries)}
        self._network.restore(saved.inputs, states, WAY_BACK)
        for number, query in enumerate(saved.queries):
            if query.paused:
                self._network.pause(made[number].reader)
        names = [query.name for query in saved.queries]
        queries.found.extend((made[number], row) for number, row in rows_of(saved.waiting, names))
        self.statistics.events = saved.events
        self.statistics.matches = saved.matches
        self._dead_letters.counts.update(saved.dead_letters)
        self._graphs.graphs = saved.graphs
        scopes_from(saved.scope)
        self._streams.restore(saved.streams)
        if self._history is not None and saved.history is not None:
            self._history.restore(saved.history)

    def zero_rows(self) -> list[str]:
        """As long as no query has had a row: the reasons, as far as they are known, in at most five lines."""
        if self.statistics.matches:
            return []
        return self._setup.zero_rows(self._network, self._dead_letters.counts)

    def close(self, flush: bool = True) -> None:
        """End the input: report the remaining matches, and close files and connections; a second call does nothing.

        flush   False: what waits for later events stays unreported
        """
        with self._alone:
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

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """A change between two pushes, over one state of the knowledge bases; then rows go to their functions."""
        with self._alone:
            self._check_open()
            try:
                with self._over:
                    yield
            finally:
                self._report()
            self._network.raise_stopped()

    def _report(self) -> None:
        for letter in self._setup.letters():
            self._dead_letters.add(letter)
        found = self._queries.found
        while found:
            registration, row = found.popleft()
            registration.hand_out(row)

    def _take(self, iri: str, events: EventBatch | RowEvent) -> None:
        if self._history is not None:
            self._history.add(iri, events, self._network)
        try:
            if self._setup.bases:
                with self._over:
                    late = self._pushed(iri, events)
                self.statistics.skipped_rows = skipped_rows(self._setup.bases)
            else:
                late = self._pushed(iri, events)
            self._count(iri, events, late)
        finally:
            self._report()
        self._network.raise_stopped()
        self._dead_letters.check_written()

    def _pushed(self, iri: str, events: EventBatch | RowEvent) -> Sequence[int]:
        """The numbers of the late events, once all queries have read the others."""
        if isinstance(events, RowEvent):
            return (0,) if self._network.push_event(iri, events) else ()
        return self._network.push(iri, events).tolist()  # type: ignore[no-any-return]

    def _count(self, iri: str, events: EventBatch | RowEvent, late: Sequence[int]) -> None:
        self.statistics.events += 1 if isinstance(events, RowEvent) else len(events)
        for index in late:
            batch = events.batch if isinstance(events, RowEvent) else events
            self._dead_letters.add(late_letter(self._streams.name(iri), iri, "push", 0, batch, index, self._dictionary))
        self._network.release_terms(beside=() if self._history is None else (self._history,))

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
