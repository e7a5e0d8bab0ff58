"""Stage 1 for the events of one stream: matches every pattern, joins knowledge, and partitions the solutions by shard.

It has no state between events. An event is replaced by its solutions; one that no pattern matches is sent only for
queries that count events (`,`, windows of events, STRICT).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import thread_time

import numpy as np

from automata.values import UNBOUND, Ids, Mask
from sparql_gpm import graph_names
from sparql_gpm.bounds import Exceeded, MatchBounds, TooManyTogether
from sparql_gpm.columns import EventBatch, Solutions
from sparql_gpm.counted_matcher import CountedMatcher
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.labels import PatternLabel
from sparql_gpm.matcher import Matcher
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.needs import Needs
from sparql_gpm.term_text import canonical_token
from sparql_gpm.terms import Term, relabelled
from spaseq.outputs.dead_letters import DeadLetter, left_out_letter
from spaseq.runtime.funnel.tally import StepCounts
from spaseq.runtime.spark.solutions import MarkedTriples, encode
from spaseq.runtime.stages.partition_values import PartitionValues
from spaseq.runtime.zero_rows.tally import JobStep, SolvedStep, TaskTally

ALL_SHARDS, NO_SHARD = -1, -2
"""In place of a shard's number: every shard, none."""
_KEYS_MAX = 100_000
"""Hashes of keys that are cached."""
_NO_TERMS: Ids = np.zeros(0, dtype=np.int64)
"""By term id: its shard, NO_SHARD if it is not computed yet."""


@dataclass(frozen=True, slots=True)
class StepPattern:
    """A pattern that reads the stream.

    negated     it stands inside `!`, where solutions without the key go to every shard
    counting    the pattern in stages, where they are counted; else None
    """

    symbol: int
    matcher: Matcher
    mark: int
    variables: tuple[str, ...]
    negated: bool
    label: PatternLabel
    counting: CountedMatcher | None = None


@dataclass(frozen=True, slots=True)
class QueryPartitioning:
    """The partitioning of a stream's events for one query.

    number          of the query in the job
    key             the variables by which events are partitioned; none: all go to the shard `home`
    whole_order     every event is sent
    graphs          the graphs of matched events are sent too
    named           those of events with a solution that binds a blank node are, for the names of graphs
    entailed        adds the triples that follow by some schema; None: patterns see the events as they are
    partitions      of PARTITION BY … USING, whose pattern is among the steps; else None
    """

    number: int
    steps: tuple[StepPattern, ...]
    key: tuple[str, ...]
    home: int
    whole_order: bool
    graphs: bool
    named: bool
    entailed: Callable[[EventBatch], EventBatch] | None = None
    partitions: PartitionValues | None = None


@dataclass(frozen=True, slots=True)
class _StepSolutions:
    """The solutions of a step, with the shard of each of their triples.

    graphs      the events whose graphs are sent with some of them
    reading     mask of the triples with which the graphs of their events are sent
    """

    shards: Ids
    marked: MarkedTriples
    graphs: EventBatch
    reading: Mask


class ShardPartitioner:
    """Matches and partitions the events of one stream, batch after batch.

    bounds      for each event
    tally       counts the events and solutions; None: nobody asks
    """

    def __init__(
        self, queries: Sequence[QueryPartitioning], shards: int, dictionary: Dictionary, bounds: MatchBounds
    ) -> None:
        self._bounds = bounds
        self.tally: TaskTally | None = None
        self._letters: list[DeadLetter] = []
        self._solved_steps: list[SolvedStep] = []
        self._queries = queries
        self._shards = shards
        self._dictionary = dictionary
        self._hashes: dict[tuple[int, ...], int] = {}
        self._known = _NO_TERMS
        self._blank_suffix = ""
        self._generation = dictionary.generation

    def begin(self, blank_suffix: str) -> None:
        """The next batches are those of a task whose blank nodes have this suffix to their labels in stage 2."""
        self._blank_suffix = blank_suffix
        self._forget()

    def partition(self, batch: EventBatch) -> Iterator[tuple[int, EventBatch, Mask]]:
        """For each shard with events: its events, and a mask of those that it reports if they are late."""
        if self._generation != self._dictionary.generation or len(self._hashes) > _KEYS_MAX:
            self._forget()
        letters = len(self._letters)
        self._solved_steps.clear()
        try:
            found = self._solved(batch)
        except TooManyTogether:
            del self._letters[letters:]
            half = len(batch) // 2
            yield from self.partition(batch.between(0, half))
            yield from self.partition(batch.between(half, len(batch)))
            return
        if self.tally is not None:
            self.tally.on_batch(batch, self._solved_steps)
        counted = {query.home for query in self._queries if query.whole_order}
        reported = np.zeros(len(batch), dtype=np.bool_)
        for shard in range(self._shards):
            triples = _of_shard(shard, found)
            events = np.arange(len(batch), dtype=np.int64) if shard in counted else _distinct(triples.events)
            if len(events):
                reporting = ~reported[events]
                reported[events] = True
                yield shard, _batch(batch, events, triples), reporting

    @property
    def needs(self) -> dict[JobStep, Needs]:
        """The needs of the pattern of each step."""
        return {
            JobStep(query.number, each.symbol): each.matcher.needs for query in self._queries for each in query.steps
        }

    def letters(self) -> list[DeadLetter]:
        """The letters of events that exceeded a bound since the last call."""
        letters, self._letters = self._letters, []
        return letters

    def _solved(self, batch: EventBatch) -> list[_StepSolutions]:
        """The solutions of every step; raises TooManyTogether where several events have too many of one step."""
        plain = BatchView(batch)
        found: list[_StepSolutions] = []
        for query in self._queries:
            seen = batch if query.entailed is None else query.entailed(batch)
            view = plain if seen is batch else BatchView(seen)
            if query.partitions is not None:
                found += self._in_partitions(query, query.partitions, view, seen)
            else:
                found += [self._step(query, step, *self._matched(step, view, seen), seen) for step in query.steps]
        return found

    def _in_partitions(
        self, query: QueryPartitioning, values: PartitionValues, view: BatchView, seen: EventBatch
    ) -> Iterator[_StepSolutions]:
        """The solutions of the steps in each partition, and those of USING."""
        using = next(step for step in query.steps if step.symbol == values.symbol)
        partitions = values.of(self._matched(using, view, seen)[0])
        yield self._step(query, using, partitions, None, seen)
        among: Mask = np.zeros(len(seen), dtype=np.bool_)
        among[partitions.events] = True
        for step in query.steps:
            if step is not using:
                own, counts = self._matched(step, view, seen, among)
                found, exceeded = values.join(step.symbol, own, partitions, self._bounds)
                for each in exceeded:
                    self._leave_out(step, seen, each)
                yield self._step(query, step, found, counts, seen)

    def _matched(
        self, step: StepPattern, view: BatchView, seen: EventBatch, wanted: Mask | None = None
    ) -> tuple[Solutions, StepCounts | None]:
        left_out = partial(self._leave_out, step, seen)
        if step.counting is None or self.tally is None:
            return step.matcher.match(view, wanted, self._bounds, left_out), None
        begun = thread_time()
        found, passed = step.counting.match(view, wanted, self._bounds, left_out)
        skipped = 0 if wanted is None else len(seen) - int(np.count_nonzero(wanted))
        return found, StepCounts(step.counting.stages, passed, skipped, thread_time() - begun)

    def _leave_out(self, step: StepPattern, seen: EventBatch, exceeded: Exceeded) -> None:
        self._letters.append(left_out_letter(step.label, seen, exceeded, self._dictionary))

    def _step(
        self,
        query: QueryPartitioning,
        step: StepPattern,
        found: Solutions,
        counts: StepCounts | None,
        seen: EventBatch,
    ) -> _StepSolutions:
        if self.tally is not None:
            self._solved_steps.append(SolvedStep(JobStep(query.number, step.symbol), found, seen, counts))
        marked = encode(found.events, [found.columns[name] for name in step.variables], step.mark)
        shards = self._shards_of(query, step, found)
        width = len(marked.events) // len(found) if len(found) else 1
        return _StepSolutions(np.repeat(shards, width), marked, seen, self._reading(query, marked))

    def _reading(self, query: QueryPartitioning, marked: MarkedTriples) -> Mask:
        """Mask of the triples of solutions with which the graphs of their events are sent."""
        if query.named and not query.graphs:
            return self._dictionary.blank(marked.firsts) | self._dictionary.blank(marked.seconds)
        return np.full(len(marked.events), query.graphs, dtype=np.bool_)

    def _shards_of(self, query: QueryPartitioning, step: StepPattern, found: Solutions) -> Ids:
        if not query.key:
            return np.full(len(found), query.home, dtype=np.int64)
        unbound = np.full(len(found), UNBOUND, dtype=np.int64)
        columns = [found.columns.get(name, unbound) for name in query.key]
        elsewhere = ALL_SHARDS if step.negated else NO_SHARD
        if len(columns) == 1:
            return np.where(columns[0] == UNBOUND, elsewhere, self._shards_of_terms(columns[0]))
        keys, inverse = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
        shards = [elsewhere if UNBOUND in key else self._shard(tuple(key)) for key in keys.tolist()]
        return np.array(shards, dtype=np.int64)[inverse.ravel()] if len(found) else unbound

    def _shards_of_terms(self, ids: Ids) -> Ids:
        """The shard of each term as a key of one variable; each is computed once."""
        known = self._known
        if len(ids) and (most := int(ids.max())) >= len(known):
            known = self._known = np.concatenate((known, np.full(1 + most, NO_SHARD, dtype=np.int64)))
        new = np.unique(ids[known[ids] == NO_SHARD])
        for identifier in new[new != UNBOUND].tolist():
            known[identifier] = self._shard((identifier,))
        return known[ids]

    def _shard(self, key: tuple[int, ...]) -> int:
        """The same in every process, for the same terms."""
        if key not in self._hashes:
            self._hashes[key] = stable_hash(self._token(self._dictionary.term(i)) for i in key)
        return self._hashes[key] % self._shards

    def _token(self, term: Term) -> bytes:
        """A term as it will be in stage 2, where the shard of a row is worked out again after a rescaling."""
        return canonical_token(relabelled(term, lambda label: label + self._blank_suffix))

    def _forget(self) -> None:
        """Forgets the shards of terms: they may have other ids now, or other labels."""
        self._hashes.clear()
        self._known = _NO_TERMS
        self._generation = self._dictionary.generation


def stable_hash(tokens: Iterable[bytes]) -> int:
    """The same number for the same texts, in every process and version."""
    value = 0
    for token in tokens:
        value = zlib.crc32(token + b"\n", value)
    return value


def _distinct(ascending: Ids) -> Ids:
    new: Mask = np.ones(len(ascending), dtype=np.bool_)
    new[1:] = ascending[1:] != ascending[:-1]
    return ascending[new]


def _of_shard(shard: int, solved: Sequence[_StepSolutions]) -> MarkedTriples:
    """The triples that are sent to a shard, by event; a graph that several patterns read is sent once."""
    own: list[MarkedTriples] = []
    read: dict[int, tuple[EventBatch, list[Ids]]] = {}
    for step in solved:
        rows = np.flatnonzero((step.shards == shard) | (step.shards == ALL_SHARDS))
        if not len(rows):
            continue
        own.append(step.marked.take(rows))
        reading = rows[step.reading[rows]]
        if len(reading):
            read.setdefault(id(step.graphs), (step.graphs, []))[1].append(step.marked.events[reading])
    own += [_graphs(graphs, np.unique(np.concatenate(events))) for graphs, events in read.values()]
    return MarkedTriples.concatenate(own)


def _graphs(batch: EventBatch, events: Ids) -> MarkedTriples:
    kept = batch.take(events)
    return MarkedTriples(events[kept.event_of_triple()], kept.subjects, kept.predicates, kept.objects)


def _batch(batch: EventBatch, events: Ids, triples: MarkedTriples) -> EventBatch:
    """These events with these triples in place of their own."""
    offsets = np.searchsorted(triples.events, np.append(events, len(batch)))
    times, streams, names = batch.times[events], batch.streams[events], graph_names.take(batch.names, events)
    columns = triples.marks, triples.firsts, triples.seconds
    return EventBatch(times, streams, names, offsets.astype(np.int64), *columns)
