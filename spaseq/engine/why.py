"""`spaseq.why`: why a row is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from arrays.times import TIME_NS_MAX, TIME_NS_MIN, earlier, later
from arrays.wanted import check_wanted
from automata.plan.program import Window
from sparql_gpm.columns import EventBatch
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.shared import Slice
from spaseq.algebra.nodes import AnyQuery, TemporalQuery
from spaseq.engine.arguments import meanings_of
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import BatchOver, Knowledge, skipped_rows
from spaseq.engine.why_groups import MATCHES_MAX, group_of, matches_in, of_groups, of_matches
from spaseq.errors import InputError
from spaseq.inputs.given import GivenEvents
from spaseq.inputs.streams import SourceBatch
from spaseq.outputs.explanations import Why, WhyGroup
from spaseq.outputs.rows import Row
from spaseq.physical.program import compile_program
from spaseq.runtime.embedded.pieces import InPieces
from spaseq.runtime.stages.pattern_stage import PatternStage
from spaseq.runtime.why.evidence import Evidence, part_between
from spaseq.runtime.why.reasons import absences, matches_of, steps_taken
from spaseq.runtime.why.recorded import EVENTS_MAX, RecordingOperator, TooManyEvents

MALFORMED_MAX = 10_000
"""Pieces of malformed input that are kept."""
_PREFIX = r"[\w.-]*"
_ALWAYS = TIME_NS_MIN, TIME_NS_MAX


class RecordedJob(Job):
    """A job that has run to its end and kept its events, those that were late too.

    undecided   rows that more events may still remove, of streams that go on
    """

    operators = RecordingOperator

    def __init__(
        self, queries: Sequence[TemporalQuery], streams: Mapping[str, Any], kb: Knowledge | None, options: RunOptions
    ) -> None:
        self.late: dict[str, list[EventBatch]] = {}
        self._delays: dict[str, list[int]] = {}
        self._given: dict[str, GivenEvents] = {}
        self._decided: int | None = None
        self.undecided: list[Row] = []
        self._faulty: list[tuple[str, Malformed]] = []
        super().__init__(queries, streams, kb, options)

    def run(self) -> list[Row]:
        """The rows, in output order; raises RunError, and InputError for more events than are kept."""
        try:
            found = [row for rows in self.rows() for row in _as_wanted(rows)]
        except TooManyEvents:
            hint = "give a part of the input"
            raise InputError(
                f"the query reads more than {EVENTS_MAX:,} events, which are too many", hint=hint
            ) from None
        decided = len(found) if self._decided is None else self._decided
        self.undecided = found[decided:]
        return found[:decided]

    @property
    def watermarks(self) -> dict[str, int]:
        """Of streams that go on: the times before which no event is to come, by IRI."""
        return {iri: given.watermark for iri, given in self._given.items()}

    def _open(self, iri: str, name: str, source: Any) -> Iterator[SourceBatch]:
        if not isinstance(source, GivenEvents):
            return super()._open(iri, name, source)
        self._given[iri] = source
        if source.aside is not None:
            self._setup.pool.supervision.set_aside = source.aside
        return source.batches(self._dictionary, _LeftOut(partial(self._keep_late, iri), self._keep_faulty))

    def _closing(self, iri: str) -> InPieces[None]:
        given = self._given.get(iri)
        return super()._closing(iri) if given is None else self._advancing(iri, given.watermark)

    def _advancing(self, iri: str, time: int) -> InPieces[None]:
        self._network.advance(iri, time)
        yield

    def _finishing(self) -> InPieces[None]:
        if self._given:
            self._decided = self.statistics.matches
        return super()._finishing()

    def _late(self, iri: str, batch: SourceBatch, late: Sequence[int]) -> None:
        super()._late(iri, batch, late)
        if late:
            events = batch.events.take(np.array(late, dtype=np.int64))
            running = np.maximum.accumulate(np.maximum(batch.events.times, self._newest[iri]))
            self._keep_late(iri, events, (running - batch.events.times)[late].tolist())

    def _keep_late(self, iri: str, events: EventBatch, delays: Sequence[int]) -> None:
        self.late.setdefault(iri, []).append(events)
        self._delays.setdefault(iri, []).extend(delays)
        self._dictionary.hold(self, [column for held in self.late.values() for e in held for column in e.terms])

    def evidence(self, query: TemporalQuery, least: int, most: int) -> Evidence:
        """The events that the query has read from one time to another, and all that is known of them."""
        operator = next(each for each in self._operators if each.query.name == query.name)
        assert isinstance(operator, RecordingOperator)
        compiled, background = compile_program(query), self._setup.background(query)
        first, batch = part_between(EventBatch.concatenate(operator.kept or [EventBatch.empty()]), least, most)
        pool = self._setup.pool
        patterns = PatternStage(compiled, (), pool, background, self._setup.entailed)
        late = [self._of_stream(number, iri) for number, (_, iri) in enumerate(query.streams)]
        return Evidence(
            compiled, self._dictionary, self._setup.evaluator, background, patterns, pool, first, batch,
            EventBatch.concatenate(late), partial(skipped_rows, self._bases),
        )  # fmt: skip

    def _malformed(self, name: str, iri: str, source: str, fault: Malformed) -> None:
        super()._malformed(name, iri, source, fault)
        self._keep_faulty(fault, source)

    def _keep_faulty(self, fault: Malformed, source: str = "a pushed body") -> None:
        if len(self._faulty) < MALFORMED_MAX:
            self._faulty.append((source, fault))

    def delays(self, query: TemporalQuery, first: int) -> dict[int, int]:
        """By event that was late, from `first` on, the delay in nanoseconds with which it would not have been."""
        every = (delay for _, iri in query.streams for delay in self._delays.get(iri, ()))
        return dict(enumerate(every, start=first))

    def malformed_place(self, name: str) -> tuple[str, int, str] | None:
        """The source, line and reason of malformed input that names a graph, by its IRI or a prefixed name."""
        local = re.escape(re.split(r"[/#:]", name)[-1])
        named = re.compile(rf"<{re.escape(name)}>|(?<![^\s]){_PREFIX}:{local}(?![\w-])" if local else re.escape(name))
        for source, fault in self._faulty:
            if named.search(fault.raw):
                return source, fault.line, fault.reason
        return None

    def again(self, query: TemporalQuery) -> list[Row]:
        """The rows of a query that differs from one of the job's in what removes matches."""
        operator = self._setup.operator(query)
        kept = next(each for each in self._operators if each.query.name == query.name)
        assert isinstance(kept, RecordingOperator)
        pieces = (operator.on_batch(Slice(batch)) for batch in kept.kept)
        found = list[Row]()
        for piece in chain(pieces, (operator.finish(),)):
            check_wanted()
            found += [row for rows in piece for row in _as_wanted(rows)]
        return found

    def _of_stream(self, number: int, iri: str) -> EventBatch:
        events = EventBatch.concatenate(self.late.get(iri, [EventBatch.empty()]))
        streams = np.full(len(events), number, dtype=np.int64)
        return EventBatch(events.times, streams, events.names, events.offsets, *events.terms)

    @property
    def bases_state(self) -> BatchOver:
        """A slice of work over one state of the knowledge bases."""
        return BatchOver(self._bases)


def _as_wanted(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, as long as they are wanted."""
    for row in rows:
        check_wanted()
        yield row


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """Keeps what was late or malformed when it was accepted."""

    late: Callable[[EventBatch, Sequence[int]], None]
    faulty: Callable[[Malformed], None]


def why(
    query: AnyQuery | Sequence[AnyQuery],
    streams: Mapping[str, Any],
    match: int | Mapping[str, Sequence[str]],
    kb: Knowledge | None = None,
    name: str | None = None,
    **options: Any,
) -> Why | WhyGroup:
    """The reasons of a row: all that each step of its match used, and what was absent.

    query       one or several, of which `name` says the one that the row is of
    match       the number of the row in output order, from 1; or by the name of each step the graphs of its events
    streams, kb, options    as for `spaseq.run`

    A row of OVER MATCHES is a group: its matches are explained, at most 100. Raises InputError if there is no such row.
    """
    meanings = meanings_of(query)
    asked = asked_query(meanings, name)
    job = RecordedJob(meanings, streams, kb, RunOptions.of({**options, "optimise": False}))
    try:
        rows = [row for row in job.run() if row.query == asked.name]
        number = _with_events(asked, rows, match) if isinstance(match, Mapping) else match
        row = _numbered(asked, rows, number)
        if asked.over is not None:
            return _group(job, asked, rows, number)
        found = _explained(job, asked, row, sum(1 for other in rows[: number - 1] if other == row))
        assert found is not None, row
        return Why(asked.name, number, row.time, row.start, *found, row.graph)
    finally:
        job.close()


def why_row(
    query: Sequence[TemporalQuery],
    streams: Mapping[str, Any],
    row: Row,
    place: tuple[int, int],
    kb: Knowledge | None = None,
    **options: Any,
) -> Why | WhyGroup | None:
    """The reasons of a row that was found before; None if the events do not give it.

    query   the row's, and those whose streams it reads
    place   its number, and how many equal rows came before
    """
    asked = asked_query(query, row.query)
    job = RecordedJob(query, streams, kb, RunOptions.of({**options, "optimise": False}))
    try:
        rows = [each for each in job.run() if each.query == asked.name]
        if asked.over is not None:
            same = [n for n, each in enumerate(rows, start=1) if _is_shown_so(each, row)]
            return replace(_group(job, asked, rows, same[place[1]]), match=place[0]) if len(same) > place[1] else None
        found = _explained(job, asked, row, place[1])
        return None if found is None else Why(asked.name, place[0], row.time, row.start, *found, row.graph)
    finally:
        job.close()


def _is_shown_so(row: Row, other: Row) -> bool:
    """True if two rows of groups have the same period and bindings, or graph."""
    return (row.time, row.start, row.bindings, row.graph) == (other.time, other.start, other.bindings, other.graph)


def _group(job: RecordedJob, query: TemporalQuery, rows: Sequence[Row], number: int) -> WhyGroup:
    """The reasons of a row of OVER MATCHES; raises InputError where windows that overlap count events."""
    if query.window.hop is not None and query.window.in_events:
        hint = "leave out EVERY, or give the window a time"
        raise InputError(f"a row of query '{query.name}' does not say in which window its matches are", hint=hint)
    row, every = rows[number - 1], job.again(of_groups(query))
    group, each_match = group_of(query, every, rows, number), of_matches(query, row)
    with job.bases_state:
        evidence = job.evidence(each_match, *_ALWAYS)
        own = matches_in(query, evidence, every, group, job.again(each_match))
    found = []
    for place, match in enumerate(own[:MATCHES_MAX]):
        reasons = _explained(job, each_match, match, sum(1 for other in own[:place] if other == match))
        assert reasons is not None, match
        found.append(Why(query.name, place + 1, match.time, match.start, *reasons))
    return WhyGroup(query.name, number, row.time, row.start, tuple(found), len(own) - len(found))


def asked_query(queries: Sequence[TemporalQuery], name: str | None) -> TemporalQuery:
    """The query with this name, or the only one; raises InputError if there is none."""
    names = ", ".join(f"'{each.name}'" for each in queries)
    if name is None and len(queries) == 1:
        return queries[0]
    found = next((each for each in queries if each.name == name), None)
    if found is None:
        said = "which query is meant" if name is None else f"no query is named '{name}'"
        raise InputError(said, hint=f"name one of {names}")
    return found


def _with_events(query: TemporalQuery, rows: Sequence[Row], events: Mapping[str, Sequence[str]]) -> int:
    """The number of the first row with these events."""
    wanted = {step: tuple(names) for step, names in events.items()}
    for number, row in enumerate(rows, start=1):
        if dict(row.events) == wanted:
            return number
    raise InputError(f"query '{query.name}' has no row with these events", hint="why_not says why there is none")


def _numbered(query: TemporalQuery, rows: Sequence[Row], number: int) -> Row:
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(rows):
        hint = f"from 1 to {len(rows):,}" if rows else "'spaseq why-not' says why there is none"
        raise InputError(f"query '{query.name}' has no row {number}: it has {len(rows):,}", hint=hint)
    return rows[number - 1]


def _explained(job: RecordedJob, query: TemporalQuery, row: Row, before: int) -> tuple[Any, Any] | None:
    """The steps and absences of a row, which so many equal ones come before; None if nothing gives it."""
    with job.bases_state:
        evidence = job.evidence(query, *around(query.window, row.start, row.time))
        found = list(matches_of(evidence, row))
        if not found:
            return None
        chosen = found[min(before, len(found) - 1)]
        return steps_taken(evidence, chosen), absences(evidence, chosen)


def around(window: Window, start: int, end: int) -> tuple[int, int]:
    """The times of events that can matter to matches from one time to another."""
    return _ALWAYS if window.in_events else (earlier(start, window.size), later(end, window.size))
