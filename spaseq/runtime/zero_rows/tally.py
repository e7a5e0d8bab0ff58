"""The tally of a job whose tasks run in many processes: what they have read, for the reason if there is no row.

Each task counts by itself, and tallies are added up in any order. Ids mean nothing outside of a process, so a tally has
terms. All events with their solutions are kept as long as they are few: then the reason is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from automata.values import UNBOUND
from sparql_gpm.columns import EventBatch, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matching.needs import Need, Needs
from sparql_gpm.matching.summary import Summary
from sparql_gpm.matching.unseen import Unseen
from sparql_gpm.terms import Term, relabelled
from spaseq.runtime.funnel.tally import FunnelTally, StepCounts, StepTally

_TASK_SOLUTIONS_MAX = 1 << 10
_TASK_EVENTS_MAX = 1 << 12
"""Solutions and events that a task keeps."""
_SOLUTIONS_MAX = 1 << 12
_EVENTS_MAX = 1 << 13
"""Solutions and events that are kept of all tasks."""
_NAMES_MAX = 2_000
"""Properties, and classes, that are remembered."""


class JobStep(NamedTuple):
    """A step: the number of its query in the job, and its symbol."""

    query: int
    symbol: int


class TermNeed(NamedTuple):
    """A `Need` outside of a process."""

    predicate: Term
    subject: Term | None
    object: Term | None


@dataclass(frozen=True, slots=True)
class SolvedStep:
    """The solutions of a step in a batch; `seen` are the events as its pattern sees them, `counts` for its funnel."""

    step: JobStep
    found: Solutions
    seen: EventBatch
    counts: StepCounts | None = None


@dataclass(frozen=True, slots=True)
class KeptSolutions:
    """The solutions of a step: the event of each, and its values by variable, None where it has none."""

    events: Sequence[int]
    values: Mapping[str, Sequence[Term | None]]


@dataclass(frozen=True, slots=True)
class KeptEvents:
    """The events of one batch of a stream, by its IRI; `place` puts batches into the order of arrival."""

    iri: str
    place: tuple[int, int, int]
    times: Sequence[int]
    solutions: Mapping[JobStep, KeptSolutions]

    @property
    def size(self) -> int:
        """The number of solutions."""
        return sum(len(each.events) for each in self.solutions.values())


@dataclass(slots=True)
class Tally:
    """Counts of a job, or of one of its tasks.

    events, last    of each stream, by IRI: its events, and the time of the newest
    needs, met      by step its needs, and those that some event has met
    rows, lost      rows of all queries; dead letters by kind
    by_query        rows of each query, by name
    steps           the funnel of each step, where it is counted
    sequences       the rest of the funnel of each query, by its number in the job, where it is counted
    first           the first micro-batch that was read; None: none was
    ended           the streams that have ended
    kept            all events; None: they are too many
    """

    events: Counter[str] = field(default_factory=Counter)
    last: dict[str, int] = field(default_factory=dict)
    solutions: Counter[JobStep] = field(default_factory=Counter)
    needs: dict[JobStep, tuple[frozenset[TermNeed], ...]] = field(default_factory=dict)
    met: set[TermNeed] = field(default_factory=set)
    properties: dict[str, None] = field(default_factory=dict)
    classes: dict[str, None] = field(default_factory=dict)
    rows: int = 0
    by_query: Counter[str] = field(default_factory=Counter)
    steps: dict[JobStep, StepTally] = field(default_factory=dict)
    sequences: dict[int, FunnelTally] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)
    first: int | None = None
    ended: set[str] = field(default_factory=set)
    kept: list[KeptEvents] | None = field(default_factory=list)
    _sizes: tuple[int, int] = (0, 0)

    def add(self, other: Tally) -> None:
        """Count another one, too."""
        self.events += other.events
        self.solutions += other.solutions
        self.lost += other.lost
        self.rows += other.rows
        self.by_query += other.by_query
        for step, counts in other.steps.items():
            self.steps.setdefault(step, StepTally(counts.stages)).join(counts)
        for query, shard in other.sequences.items():
            known = self.sequences.get(query)
            self.sequences[query] = shard if known is None else known.joined(shard)
        self.needs |= other.needs
        self.met |= other.met
        for names, more in ((self.properties, other.properties), (self.classes, other.classes)):
            names.update(dict.fromkeys(islice((name for name in more if name not in names), _NAMES_MAX - len(names))))
        self.ended |= other.ended
        for iri, time in other.last.items():
            self.last[iri] = max(time, self.last.get(iri, time))
        self.first = min((each.first for each in (self, other) if each.first is not None), default=None)
        self._keep(other.kept)

    def _keep(self, more: Sequence[KeptEvents] | None) -> None:
        if self.kept is None:
            return
        added = more or []
        size = self._sizes[0] + sum(each.size for each in added)
        events = self._sizes[1] + sum(len(each.times) for each in added)
        if more is None or self.rows or size > _SOLUTIONS_MAX or events > _EVENTS_MAX:
            self.kept = None
        else:
            self.kept += added
            self._sizes = size, events


class TaskTally:
    """The tally of one task of stage 1, which reads a stream.

    needs   of the patterns of the steps that read it
    place   of the task: its micro-batch and partition
    """

    def __init__(
        self, iri: str, place: tuple[int, int], dictionary: Dictionary, needs: Mapping[JobStep, Needs]
    ) -> None:
        self._iri, self._place, self._dictionary = iri, place, dictionary
        self._unseen = Unseen(needs.values(), dictionary)
        self._all = frozenset(self._unseen.needs)
        self._summary = Summary()
        for number, each in enumerate(needs.values()):
            self._summary.add(number, each)
        self._tally = Tally(first=place[0])
        self._tally.needs = {
            step: tuple(frozenset(map(self._outside, alternative)) for alternative in each)
            for step, each in needs.items()
        }
        self._batches, self._size = 0, 0

    def on_batch(self, batch: EventBatch, steps: Sequence[SolvedStep]) -> None:
        """More events, none of which is late, with the solutions of every step."""
        tally = self._tally
        tally.events[self._iri] += len(batch)
        newest = int(batch.times.max())
        tally.last[self._iri] = max(newest, tally.last.get(self._iri, newest))
        for each in steps:
            tally.solutions[each.step] += len(each.found)
            if each.counts is not None:
                counted = tally.steps.setdefault(each.step, StepTally(each.counts.stages))
                counted.add(len(batch), each.counts.passed, each.counts.skipped, len(each.found))
                counted.seconds += each.counts.seconds
        if self._unseen:
            for seen in {id(each.seen): each.seen for each in steps}.values():
                self._unseen.in_batch(self._summary.over(seen).present, seen)
        self._keep(batch, steps)

    def result(self, *, ended: bool) -> Tally:
        """The tally, once the task is done; `ended`: it has read the end of its stream."""
        tally = self._tally
        tally.met = {self._outside(need) for need in self._all - self._unseen.needs}
        seen = self._unseen.vocabulary
        tally.properties, tally.classes = seen.properties, seen.classes
        tally.ended = {self._iri} if ended else set()
        return tally

    def _keep(self, batch: EventBatch, steps: Sequence[SolvedStep]) -> None:
        tally = self._tally
        self._size += sum(len(each.found) for each in steps)
        if tally.kept is None or self._size > _TASK_SOLUTIONS_MAX or tally.events[self._iri] > _TASK_EVENTS_MAX:
            tally.kept = None
            return
        solutions = {each.step: self._kept(each.found) for each in steps}
        place = (*self._place, self._batches)
        tally.kept.append(KeptEvents(self._iri, place, batch.times.tolist(), solutions))
        self._batches += 1

    def _kept(self, found: Solutions) -> KeptSolutions:
        values = {name: [self._term(i) for i in column.tolist()] for name, column in found.columns.items()}
        return KeptSolutions(found.events.tolist(), values)

    def _term(self, identifier: int) -> Term | None:
        """The term; a blank node has a label that it has in no other task."""
        if identifier == UNBOUND:
            return None
        return relabelled(self._dictionary.term(identifier), lambda label: f"{label}.{self._iri}.{self._place}")

    def _outside(self, need: Need) -> TermNeed:
        subject, target = (None if i is None else self._dictionary.term(i) for i in (need.subject, need.object))
        return TermNeed(self._dictionary.term(need.predicate), subject, target)
