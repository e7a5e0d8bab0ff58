"""An engine that stops and goes on elsewhere, again and again."""

from __future__ import annotations

from collections.abc import Sequence

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI
from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from tests.driving import as_batch
from tests.states.networks import put_back, size_of, taken
from tests.strategies.stream import Arrived


class Restarting:
    """A network that is given up and built anew from its blob, with a dictionary that numbers terms differently."""

    def __init__(
        self,
        query: Query,
        delay_ns: int,
        evaluator: str = "nfa",
        compiled: bool = False,
        reader: Query | None = None,
        built: TemporalQuery | None = None,
    ) -> None:
        self.query, self.delay_ns, self.reader = query, delay_ns, reader
        self.built = built or build(query)
        self.options = RunOptions(evaluator=evaluator, compiled=compiled)
        self.rows: list[Row] = []
        self.read: list[Row] = []
        self.restarts = 0
        self._build()

    def _build(self) -> None:
        self.dictionary = Dictionary()
        for number in range(self.restarts):
            self.dictionary.pin(IRI(f"urn:shift:{number}"))
        setup = Setup({}, self.options, self.dictionary)
        self.network = Network(self.dictionary, self.delay_ns)
        if self.reader is not None:
            beside = Setup({}, RunOptions(compiled=False), self.dictionary)
            self.network.add(beside.operator(build(self.reader)), self.read.extend)
        self.network.add(setup.operator(self.built), self.rows.extend)

    def restart(self) -> int:
        """The size of the state."""
        state = taken(self.network)
        self.restarts += 1
        self._build()
        put_back(self.network, state)
        return size_of(state)

    def push(self, piece: Sequence[Arrived]) -> None:
        iris = {stream.name: stream.iri for stream in self.query.streams}
        for name in dict.fromkeys(event[0] for event in piece if event[0] in iris):
            self.network.push(iris[name], as_batch([e for e in piece if e[0] == name], self.dictionary))
        self.network.release_terms(always=True)
