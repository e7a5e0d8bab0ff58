"""A run of queries over a period of the log, as if it were a file."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from arrays.progress import advance, expect
from kb.source import Source
from sparql_gpm.bounds import MatchBounds
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.funnels import funnel_of
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import BatchOver, Setup, named_knowledge
from spaseq.explain.funnel import to_json as funnel_json
from spaseq.outputs.dead_letters import DeadLetter
from spaseq.outputs.ndjson import NdjsonLines
from spaseq.outputs.row_table import Rows
from spaseq.runtime.embedded.counted_operator import CountedOperator
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.order.reorder import NEVER_LATE_NS
from spaseq.runtime.state.packed_events import unpacked_events
from spaseq.service.core.aside import Decided
from spaseq.service.core.records import Accepted, Advanced, decoded
from spaseq.service.log.segmented import SegmentedLog


class Replay:
    """A run over the log; it holds what a live run would.

    meanings    a query after those that make the streams which it reads
    """

    def __init__(
        self,
        meanings: Sequence[TemporalQuery],
        knowledge: Mapping[str, Source],
        bounds: MatchBounds,
        decided: Decided,
        analyze: bool = False,
    ) -> None:
        self._dictionary = Dictionary()
        options = RunOptions(analyze=analyze, max_solutions=bounds.solutions, max_event_seconds=bounds.seconds)
        self._setup = Setup(named_knowledge(meanings, knowledge), options, self._dictionary)
        self._setup.pool.bounds = replace(bounds, conditions=False)  # a client that waits too long goes away
        if decided:
            self._setup.pool.supervision.set_aside = decided.of
        self._network = Network(self._dictionary, NEVER_LATE_NS)
        self._found: list[str] = []
        self._counts = analyze
        writer = NdjsonLines()

        def take(rows: Rows) -> None:
            self._found.extend(writer.of(rows))  # their ids hold no longer than the events are read

        self._operators = [self._setup.operator(meaning) for meaning in meanings]
        for operator in self._operators:
            is_wanted = operator is self._operators[-1]
            self._network.add(operator, take if is_wanted else _ignored)

    def funnel(self, log: SegmentedLog, start: int, begin: int, end: int) -> str:
        """The funnel of the query over the events with `begin` ≤ time < `end`, as JSON; it was asked to `analyze`."""
        deque(self.lines(log, start, begin, end), maxlen=0)
        counted = self._operators[-1]
        assert isinstance(counted, CountedOperator), counted
        return funnel_json(funnel_of(counted.query, counted.automaton, counted.tally))

    def lines(self, log: SegmentedLog, start: int, begin: int, end: int) -> Iterator[str]:
        """The rows in the events with `begin` ≤ time < `end`, as NDJSON; the log is read from `start` on.

        At an event that exceeds a bound, about which nothing is decided, the last line is a problem.
        """
        over = BatchOver(self._setup.bases)
        reached = dict.fromkeys(self._network.streams, False)
        try:
            first = max(start, log.first)
            expect(max(0, log.next - first))
            for _, data in log.read(first):
                advance()
                record = decoded(data)
                if not isinstance(record, Accepted | Advanced) or record.iri not in reached:
                    continue
                with over:
                    self._read(record, begin, end)
                yield from self._lines()
                if letters := self._exceeding():
                    yield _problem(letters)
                    return
                reached[record.iri] = record.watermark >= end
                if all(reached.values()):
                    break
            with over:
                self._network.finish()
            yield from self._lines()
            if letters := self._exceeding():
                yield _problem(letters)
        finally:
            self._setup.bases.close()

    def _read(self, record: Accepted | Advanced, begin: int, end: int) -> None:
        if isinstance(record, Accepted) and record.events is not None:
            events = unpacked_events(record.events, self._dictionary)
            kept = (events.times >= begin) & (events.times < end)
            kept[list(record.late)] = False
            self._network.push(record.iri, events.take(np.flatnonzero(kept)))
            self._network.release_terms()
        self._network.advance(record.iri, min(record.watermark, end))

    def _exceeding(self) -> Sequence[DeadLetter]:
        """The letters of events over a bound since the last call; a funnel counts these as skipped."""
        letters = self._setup.letters()
        return () if self._counts else letters

    def _lines(self) -> Iterator[str]:
        found, self._found = self._found, []
        yield from found


def _problem(letters: Sequence[DeadLetter]) -> str:
    detail = f"{letters[0].reason}: a replay sets no event aside, and it was not decided before"
    return json.dumps({"problem": {"title": "An event exceeds a bound", "status": 422, "detail": detail}}) + "\n"


def _ignored(rows: Rows) -> None:
    """The rows of a query whose stream is read by another one."""
