"""Derived streams against the reference: their events come by triggering event, whenever matches are decided."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, RDF
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from tests.conformance.test_many_queries import run_together
from tests.drawn import drawn
from tests.driving import as_batch, comparable
from tests.reference.api import evaluate_all
from tests.states.networks import put_back, taken
from tests.strategies.late import LateText
from tests.strategies.sequence import Dice
from tests.strategies.stream import Arrived, batches, cuts, interleaved, streams, to_trig

SECOND = 1_000_000_000
PAIRS = drawn(100)
READER = """PREFIX : <http://ex.org/>
SELECT * WITHIN 100 SECONDS FROM STREAM D <http://ex.org/d>
WHERE { SEQ(X) DEFINE GPM X ON D { ?x ?p ?o } }"""


@dataclass(slots=True)
class RegisteredText(LateText):
    """A query whose graphs have all that it binds."""

    def form(self) -> str:
        """See `QueryText`."""
        variables = sorted({variable for step in self.positive() for variable in step.variables})
        triples = " ".join(f":m :{name[1:]} {name} ." for name in [*variables, "?none"])
        return f"REGISTER STREAM <http://ex.org/d> AS CONSTRUCT {{ {triples} }}"


@given(st.data())
@settings(max_examples=PAIRS)
def test_a_derived_stream_is_in_the_order_of_the_language_whatever_the_batches(data: st.DataObject) -> None:
    text = RegisteredText(Dice(data.draw)).whole()
    note(text)
    queries = [parse(READER, "reader"), parse(text, "made")]
    arrivals = data.draw(streams(6, 16))
    for name, events in arrivals.items():
        note(f"# {name}\n{to_trig(events)}")
    read = {f"http://ex.org/{name.lower()}": events for name, events in arrivals.items()}
    expected = [[comparable(row) for row in rows] for rows in evaluate_all(queries, read)]
    arrived = interleaved(arrivals)
    for pieces in ([arrived], batches(arrived, data.draw(cuts(len(arrived))))):
        found = run_together([(0, query) for query in queries], pieces)
        assert [[comparable(row) for row in rows] for rows in found] == expected


PAIR = """PREFIX : <http://ex.org/>
REGISTER STREAM <http://ex.org/d> AS CONSTRUCT { ?a :k ?k } WITHIN 5 SECONDS SLIDING
FROM STREAM S1 <http://ex.org/s1>
WHERE { SEQ(A ; B?) DEFINE GPM A ON S1 { ?a a :A ; :k ?k } DEFINE GPM B ON S1 { ?b a :B ; :k ?k } }"""


def test_an_event_of_a_derived_stream_that_waits_for_an_earlier_one_is_part_of_the_state() -> None:
    """The match of a3 is decided first, but a2 is the earlier triggering event; every event goes to a new process."""
    queries = [parse(READER, "reader"), parse(PAIR, "made")]
    arrived = [event(1, "A", "x"), event(2, "A", "y"), event(3, "B", "y"), event(9, "A", "z"), event(10, "Z", "z")]
    expected = evaluate_all(queries, {"http://ex.org/s1": [rest for _, *rest in arrived]})
    assert [row.time // SECOND for row in expected[0]] == [1, 3, 9]
    assert [row.time // SECOND for row in expected[1]] == [3, 1, 9]
    rows: list[list[Row]] = [[], []]
    state = None
    for one in [*arrived, None]:
        dictionary = Dictionary()
        network, setup = Network(dictionary, 0), Setup({}, RunOptions(), dictionary)
        for query, found in zip(queries, rows, strict=True):
            network.add(setup.operator(build(query)), found.extend)
        if state is not None:
            put_back(network, state)
        if one is None:
            network.finish()
            break
        network.push("http://ex.org/s1", as_batch([one], dictionary))
        network.release_terms(always=True)
        state = taken(network)
    assert [[comparable(row) for row in found] for found in rows] == [[comparable(r) for r in e] for e in expected]


def event(second: int, kind: str, key: str) -> Arrived:
    subject = IRI(f"http://ex.org/s{second}")
    pairs = ((RDF + "type", kind), ("http://ex.org/k", key))
    triples = {(subject, IRI(predicate), IRI(f"http://ex.org/{value}")) for predicate, value in pairs}
    return "S1", second * SECOND, f"urn:e{second}", frozenset(triples)
