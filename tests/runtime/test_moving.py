"""A query moves from one network to another, over the same dictionary; one that fails does not stop the others."""

from __future__ import annotations

from collections import Counter
from itertools import count
from random import Random

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, BlankNode, Literal
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from tests import random_pairs
from tests.driving import as_batch, comparable
from tests.random_pairs import drawn, expected_rows
from tests.strategies.stream import batches


def test_a_query_that_moves_between_networks_finds_what_the_reference_finds() -> None:
    found = 0
    for number in count():
        pair = drawn(78, number)
        if pair is None:
            continue
        iris = {stream.name: stream.iri for stream in pair.query.streams}
        dictionary, dice, rows = Dictionary(), Random(number), list[Row]()
        setup, network = Setup({}, RunOptions(compiled=False), dictionary), Network(dictionary, 0)
        reader = network.add(setup.live_operator(build(pair.query)), rows.extend)
        for piece in batches(pair.arrived, pair.sizes):
            for name in dict.fromkeys(event[0] for event in piece if event[0] in iris):
                network.push(iris[name], as_batch([e for e in piece if e[0] == name], dictionary))
            if dice.random() < 0.5:
                state, other = network.state_of(reader), Network(dictionary, 0)
                network.remove(reader)
                reader, network = other.add_restored(setup.operator(build(pair.query)), rows.extend, state), other
        network.finish()
        expected = expected_rows(pair)
        assert Counter(map(comparable, rows)) == Counter(expected), random_pairs.shown(pair)
        found += len(expected)
        if found > 20:
            break


TEXT = """PREFIX : <http://ex.org/> SELECT ?v WITHIN 1 HOUR FROM STREAM S <urn:s>
{ SEQ(A) DEFINE GPM A ON S { [] :v ?v } }"""


def test_a_query_that_fails_is_stopped_alone_where_queries_are_isolated() -> None:
    dictionary, rows = Dictionary(), list[Row]()
    setup, network = Setup({}, RunOptions(compiled=False), dictionary), Network(dictionary, 0, isolating=True)

    def failing(_: object) -> None:
        raise ZeroDivisionError("a defect")

    broken = setup.operator(build(parse(TEXT, "broken")))
    broken.on_batch = failing  # type: ignore[method-assign, assignment]
    network.add(broken, rows.extend)
    network.add(setup.operator(build(parse(TEXT, "sound"))), rows.extend)
    for number in range(3):
        triple = BlankNode("b"), IRI("http://ex.org/v"), Literal(str(number))
        network.push("urn:s", as_batch([("S", number + 1, f"urn:e{number}", frozenset({triple}))], dictionary))
    network.finish()
    stopped = network.take_stopped()
    assert list(stopped) == ["broken"]
    assert isinstance(stopped["broken"], ZeroDivisionError)
    assert not network.take_stopped()
    assert [dict(row.bindings)["v"] for row in rows] == [Literal(str(number)) for number in range(3)]
