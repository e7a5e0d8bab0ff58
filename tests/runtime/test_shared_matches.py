"""Random queries OVER MATCHES in one network, where they share lanes: each has the rows of the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from unittest.mock import patch

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.errors import QueryError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from spaseq.physical.plan import PROPAGATION
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.stages import shared_matches
from tests.drawn import drawn
from tests.driving import as_batch, comparable
from tests.pairs import Pair, expected_rows
from tests.states.networks import put_back, taken
from tests.strategies.propagated import PropagatedText
from tests.strategies.query import rewindowed
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import Arrived, batches, drawn_cuts, drawn_streams, interleaved

GROUPS = drawn(25)
ALIGNED = ("100 SECONDS", "5 SECONDS", "4 SECONDS EVERY 2 SECONDS", "5 SECONDS EVERY 2 SECONDS", "6 EVENTS")
IRI_OF = {"S1": "http://ex.org/s1"}


@dataclass
class Several:
    """A network of several queries, at times given up and built anew from its snapshot."""

    dictionary: Dictionary = field(default_factory=Dictionary)
    queries: list[Query] = field(default_factory=list)
    rows: list[list[Row]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._build()

    def _build(self) -> None:
        self.setup = Setup({}, RunOptions(compiled=True), self.dictionary)
        self.network = Network(self.dictionary, 0)

    def add(self, query: Query) -> None:
        """One more query, from now on."""
        self.queries.append(query)
        self.rows.append([])
        self.network.add(self.setup.operator(build(query)), self.rows[-1].extend)

    def push(self, piece: Sequence[Arrived]) -> None:
        """Events of the only stream."""
        if self.network.streams:
            self.network.push(IRI_OF["S1"], as_batch(piece, self.dictionary))
            self.network.release_terms(always=True)

    def restart(self) -> None:
        """Goes on elsewhere, with other ids."""
        state = taken(self.network)
        self.dictionary = Dictionary()
        self.dictionary.pin(IRI("urn:shift"))
        self._build()
        for query, rows in zip(self.queries, self.rows, strict=True):
            self.network.add(self.setup.operator(build(query)), rows.extend)
        put_back(self.network, state)

    @property
    def shared(self) -> int:
        """The queries in groups."""
        evaluators = [each.shareable for each in self.network.operators]
        return sum(each is not None and each.group is not None for each in evaluators)


def texts(dice: SeededDice) -> Iterator[Query]:
    """Some queries, and some like them with other operators and windows."""
    for _ in range(dice.number(1, 3)):
        text = PropagatedText(dice).keyed()
        for number in range(dice.number(1, 4)):
            if number or dice.chance(70):
                text = rewindowed(text, dice.pick(*ALIGNED))
            try:
                yield parse(text.replace(" ; ", " : ") if dice.chance(30) else text, "q")
            except QueryError:
                continue


def is_propagated(query: Query) -> bool:
    return plan_query(compile_program(build(query))).evaluator == PROPAGATION


def test_each_of_several_queries_has_the_rows_of_the_reference() -> None:
    tried = shared = found = 0
    for number in range(GROUPS):
        random = Random(number)
        dice = SeededDice(random)
        queries = [query for query in texts(dice) if is_propagated(query)]
        arrived = tuple(interleaved({"S1": drawn_streams(dice, 4, 12)["S1"]}))
        several, begun = Several(), {}
        for query in queries[1:] if random.random() < 0.4 else queries:
            several.add(query)
            begun[len(several.queries) - 1] = 0
        seen, waiting = 0, queries[len(several.queries) :]
        with patch.object(shared_matches, "SIZE_MAX", random.choice((40, 1 << 13))):
            for piece in batches(arrived, drawn_cuts(dice, len(arrived))):
                several.push(piece)
                seen += len(piece)
                shared += several.shared
                tried += 1
                if waiting and random.random() < 0.5:
                    begun[len(several.queries)] = seen
                    several.add(waiting.pop())
                if several.queries and random.random() < 0.15:
                    several.restart()
            several.network.finish()
        for place, begin in begun.items():
            own = Pair(several.queries[place], arrived[begin:], (len(arrived) - begin,))
            expected = expected_rows(own) if len(own.arrived) else []
            assert Counter(map(comparable, several.rows[place])) == Counter(expected), (number, place)
            found += len(expected)
    assert 4 * shared > tried and found > GROUPS // 2
