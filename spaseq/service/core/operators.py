"""Queries over knowledge bases become operators in the networks of groups; all groups share one dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arrays.times import BEFORE_ALL
from kb.source import Source
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import BatchOver, Setup
from spaseq.optimise.driver import optimise
from spaseq.outputs.dead_letters import DeadLetter
from spaseq.outputs.ndjson import NdjsonLines
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.order.reorder import NEVER_LATE_NS
from spaseq.runtime.state.saved_states import shape_digest
from spaseq.service.core.groups import Group, Running
from spaseq.service.core.kernels import Kernels
from spaseq.service.core.meanings import uses_knowledge

if TYPE_CHECKING:
    from kb.base import Base


class Operators:
    """The dictionary, the knowledge bases and the planner of a service.

    over    is entered while events are read
    """

    def __init__(self, knowledge: Mapping[str, Source], kernels: Kernels) -> None:
        self.dictionary, self._kernels, self._lines = Dictionary(), kernels, NdjsonLines()
        self._patient: set[str] = set()
        impatient = {iri: self._impatient(iri, source) for iri, source in knowledge.items()}
        self._setup = Setup(impatient, RunOptions(), self.dictionary, changing=True)
        self.over = BatchOver(self._setup.bases)
        self._replaced: list[tuple[int, Base]] = []

    def use_kernels(self) -> None:
        """Hold the terms in a table from now on, if kernels are ready for it; ids stay."""
        if self._kernels.ready and not self.dictionary.has_table:
            self.dictionary.table()

    def network(self) -> Network:
        """An empty network."""
        return Network(self.dictionary, NEVER_LATE_NS, isolating=True)

    def supply(self, iri: str, source: Source, number: int) -> None:
        """Use a knowledge base, as a record says, for queries that are put into a group from now on."""
        self._patient.discard(iri)
        replaced = self._setup.supply(iri, self._impatient(iri, source))
        if replaced is not None:
            self._replaced.append((number, replaced))

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
        for number, base in self._replaced:
            if number <= read:
                base.close()
        self._replaced = [(number, base) for number, base in self._replaced if number > read]

    def add(self, group: Group, running: Running) -> None:
        """Let a group read a query from now on; it knows how far the streams are."""
        operator = self._setup.live_operator(running.meaning, running.max_runs)
        running.lines = self._lines
        running.reader = group.network.add(operator, running.take)
        group.enter(running)
        for _, iri in running.meaning.streams:
            if group.watermarks.get(iri, BEFORE_ALL) != BEFORE_ALL:
                group.network.advance(iri, group.watermarks[iri])

    def put_in(self, group: Group, running: Running, state: list[Any]) -> None:
        """Let a group read a query that goes on from a state."""
        operator = self._setup.operator(running.meaning, running.max_runs)
        running.lines = self._lines
        running.reader = group.network.add_restored(operator, running.take, state)
        group.enter(running)

    def joined_late(self, meaning: TemporalQuery) -> bool:
        """True if release 0.1.0 joined matches of a query, and not events, with what its knowledge bases prove.

        They may be put again, which those states do not survive, so that events are joined.
        """
        proven = optimise(meaning, self._setup.background(meaning)).query
        return shape_digest(proven) != shape_digest(self._setup.optimised(meaning).query)

    def bound_letters(self) -> list[DeadLetter]:
        """The dead letters of events over a bound since the last call."""
        return self._setup.letters()

    def close(self) -> None:
        """Close the knowledge bases."""
        for _, base in self._replaced:
            base.close()
        self._setup.bases.close()
