"""Queries over knowledge bases become operators in the networks of groups; all groups share one dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kb.source import Source
from sparql_gpm.bounds import MatchBounds
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import BatchOver, Setup
from spaseq.optimise.driver import optimise
from spaseq.outputs.dead_letters import DeadLetter, late_letter
from spaseq.outputs.ndjson import NdjsonLines
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.order.reorder import NEVER_LATE_NS
from spaseq.runtime.state.packed_events import unpacked_events
from spaseq.runtime.state.saved_states import shape_digest
from spaseq.service.core.admission import SOURCE
from spaseq.service.core.aside import Aside
from spaseq.service.core.copies import KnowledgeSources
from spaseq.service.core.groups import Group, Running
from spaseq.service.core.kernels import Kernels
from spaseq.service.core.meanings import uses_knowledge
from spaseq.service.core.records import Accepted
from spaseq.service.core.state import DeclaredKnowledge
from spaseq.service.core.watch import Watch

if TYPE_CHECKING:
    from kb.base import Base


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The newest knowledge bases by IRI, and the replaced ones, each with the number of the record that replaced it."""

    newest: Mapping[str, DeclaredKnowledge]
    replaced: Sequence[tuple[int, DeclaredKnowledge]]

    def first(self) -> tuple[dict[str, DeclaredKnowledge], list[tuple[int, DeclaredKnowledge]]]:
        """The oldest knowledge base of each IRI, and the later ones in the order of the records that put them."""
        found, later = dict(self.newest), list[tuple[int, DeclaredKnowledge]]()
        for number, declared in sorted(self.replaced, key=lambda each: -each[0]):
            if (iri := declared.settings.iri) in found:
                later.insert(0, (number, found[iri]))
                found[iri] = declared
        return found, later


@dataclass(frozen=True, slots=True)
class _Replaced:
    """A knowledge base that a record has replaced."""

    number: int
    declared: DeclaredKnowledge
    base: Base


class Operators:
    """The dictionary, the knowledge bases and the planner of a service.

    over    is entered while events are read
    aside   the events that are not matched again
    """

    def __init__(
        self, knowledge: Knowledge, sources: KnowledgeSources, kernels: Kernels, bounds: MatchBounds, watch: Watch
    ) -> None:
        self.dictionary, self._kernels, self._lines = Dictionary(), kernels, NdjsonLines()
        self._sources = sources
        self._patient: set[str] = set()
        self._declared, later = knowledge.first()
        impatient = {iri: self._impatient(iri, sources.source(each)) for iri, each in self._declared.items()}
        options = RunOptions(max_solutions=bounds.solutions, max_event_seconds=bounds.seconds)
        self._setup = Setup(impatient, options, self.dictionary, changing=True)
        pool = self._setup.pool
        pool.bounds, pool.supervision.watch = replace(bounds, watch=watch), watch.look
        self.aside = Aside(self.dictionary, pool)
        self.over = BatchOver(self._setup.bases)
        self._replaced: list[_Replaced] = []
        for number, declared in later:
            self.supply(declared, number)

    @contextmanager
    def reading(self, group: Group) -> Iterator[None]:
        """Inside, a group reads events."""
        self.aside.decided.put = {name: each.put for name, each in group.members.items()}
        with self.over:
            yield

    def use_kernels(self) -> None:
        """Hold the terms in a table from now on, if kernels are ready for it; ids stay."""
        if self._kernels.ready and not self.dictionary.has_table:
            self.dictionary.table()

    def match_singly(self, singly: bool) -> None:
        """Match each event by itself from now on, so that one which takes long can be noted; or as usual again."""
        self._setup.pool.bounds = replace(self._setup.pool.bounds, singly=singly)

    def network(self) -> Network:
        """An empty network."""
        return Network(self.dictionary, NEVER_LATE_NS, isolating=True)

    def supply(self, declared: DeclaredKnowledge, number: int) -> None:
        """Use a knowledge base, as a record says, for the groups that have read the record."""
        iri = declared.settings.iri
        self._patient.discard(iri)
        replaced = self._sources.used(
            lambda: self._setup.supply(iri, self._impatient(iri, self._sources.source(declared)))
        )
        if replaced is not None:
            self._replaced.append(_Replaced(number, self._declared[iri], replaced))
        self._declared[iri] = declared

    @property
    def replaced(self) -> list[tuple[int, DeclaredKnowledge]]:
        """The knowledge bases that groups use which lag behind, each with the number of the record that replaced it."""
        return [(each.number, each.declared) for each in self._replaced]

    def _over_those_of(self, group: Group) -> AbstractContextManager[None]:
        """Plan over the knowledge bases that there were at the record up to which a group has read."""
        older: dict[str, Base] = {}
        for each in self._replaced:
            if each.number > group.number:
                older.setdefault(each.declared.settings.iri, each.base)
        return self._setup.over_older(older)

    @property
    def patient(self) -> bool:
        """True if some endpoint is to be waited for."""
        return bool(self._patient)

    def waits(self, meaning: TemporalQuery) -> bool:
        """True if a query asks an endpoint that is to be waited for when it is away."""
        return any(uses_knowledge(meaning, iri) for iri in self._patient)

    def _impatient(self, iri: str, source: Source) -> Source:
        """A knowledge base whose failures are told: those who wait for it are put aside, so that others go on."""
        if not source.remote or source.failure != "wait":
            return source
        self._patient.add(iri)
        return replace(source, failure="fail")

    def close_replaced(self, read: int) -> None:
        """Close the knowledge bases that have been replaced; all groups have read the records up to this one."""
        for each in self._replaced:
            if each.number <= read:
                each.base.close()
        self._replaced = [each for each in self._replaced if each.number > read]

    def add(self, group: Group, running: Running) -> None:
        """Let a group read a query from now on; it knows how far the streams are."""
        with self._over_those_of(group):
            operator = self._setup.live_operator(running.meaning, running.max_runs)
        running.lines = self._lines
        running.reader = group.network.add(operator, running.take)
        group.enter(running)
        for iri, reason in self._sources.lost.items():
            if not running.error and uses_knowledge(running.meaning, iri):
                group.fail(running, reason)
        group.advance(running.meaning, group.watermarks)

    def put_in(self, group: Group, running: Running, state: list[Any]) -> None:
        """Let a group read a query that goes on from a state."""
        with self._over_those_of(group):
            operator = self._setup.operator(running.meaning, running.max_runs)
        operator.singly = group.singly
        running.lines = self._lines
        running.reader = group.network.add_restored(operator, running.take, state)
        group.enter(running)

    def joined_late(self, meaning: TemporalQuery) -> bool:
        """True if release 0.1.0 joined matches of a query, and not events, with what its knowledge bases prove.

        They may be put again, which those states do not survive, so that events are joined.
        """
        proven = optimise(meaning, self._setup.background(meaning)).query
        return shape_digest(proven) != shape_digest(self._setup.optimised(meaning).query)

    def late_letters(self, record: Accepted) -> Iterator[DeadLetter]:
        """The dead letters of the late events of a record."""
        if not record.late or record.events is None:
            return
        events = unpacked_events(record.events, self.dictionary)
        for index in record.late:
            yield late_letter(record.stream, record.iri, SOURCE, 0, events, index, self.dictionary)

    def on_time(self, record: Accepted) -> EventBatch:
        """The events of a record that are not late."""
        assert record.events is not None
        events = unpacked_events(record.events, self.dictionary)
        if not record.late:
            return events
        kept = np.ones(len(events), dtype=np.bool_)
        kept[list(record.late)] = False
        return events.take(np.flatnonzero(kept))

    def close(self) -> None:
        """Close the knowledge bases."""
        for each in self._replaced:
            each.base.close()
        self._setup.bases.close()
