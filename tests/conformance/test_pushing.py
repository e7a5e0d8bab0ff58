"""Events that no run can go on with are not matched, and no row is another for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, Literal
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.runtime.embedded import Network
from spaseq.runtime.operator import QueryOperator
from spaseq.runtime.rows import Row
from tests.driving import as_batch, comparable
from tests.reference.api import evaluate
from tests.strategies import batches, cuts, interleaved, queries, streams
from tests.strategies_stream import Arrived

PAIRS = 150 if settings().derandomize else 80
EX, SECOND = "http://ex.org/", 1_000_000_000
HEAD = "PREFIX : <http://ex.org/> SELECT * WITHIN 1 HOUR FROM STREAM S1 <http://ex.org/s1> WHERE { SEQ(%s) %s }"
STEPS = {
    "A": "DEFINE GPM A ON S1 { ?k :alarm ?a }",
    "B": "DEFINE GPM B ON S1 { ?k :reading ?b OPTIONAL { ?k :unit ?u } }",
    "C": "DEFINE GPM C ON S1 { ?k :reading ?c . ?k :unit ?v }",
}


def run(
    query: Query, pieces: Sequence[Sequence[Arrived]], evaluator: str, push: bool
) -> tuple[list[Row], QueryOperator]:
    """The rows of a query, and its operator after the run."""
    dictionary = Dictionary()
    network = Network(dictionary, 0)
    operator = Setup({}, RunOptions(evaluator=evaluator), dictionary).operator(query)
    if not push:
        operator.solver.give_up_pushing()
    rows: list[Row] = []
    network.add(operator, rows.extend)
    iris = {stream.name: stream.iri for stream in query.streams}
    for piece in pieces:
        for name in dict.fromkeys(event[0] for event in piece if event[0] in iris):
            network.push(iris[name], as_batch([e for e in piece if e[0] == name], dictionary))
        network.release_terms(always=True)
    network.finish()
    return rows, operator


@given(st.data())
@settings(max_examples=PAIRS)
def test_pushing_changes_no_row(data: st.DataObject) -> None:
    text = data.draw(queries())
    query = parse(text, "q")
    declared = {stream.name for stream in query.streams}
    arrivals = {name: events for name, events in data.draw(streams()).items() if name in declared}
    note(text)
    arrived = interleaved(arrivals)
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    evaluator = data.draw(st.sampled_from(("auto", "nfa")))
    with_it, _ = run(query, pieces, evaluator, True)
    without, _ = run(query, pieces, evaluator, False)
    assert [comparable(row) for row in with_it] == [comparable(row) for row in without]
    assert Counter(map(comparable, with_it)) == Counter(map(comparable, evaluate(query, arrivals)))


def event(second: int, house: int, kind: str) -> Arrived:
    subject = IRI(f"{EX}h{house}")
    graph = {(subject, IRI(EX + kind), Literal(str(second))), (subject, IRI(EX + "unit"), Literal("kW"))}
    return "S1", second * SECOND, f"urn:e{second}", frozenset(graph)


def grid(blocks: int) -> list[list[Arrived]]:
    """Blocks of a hundred events: readings of twenty houses, and in each block one alarm of house 0 or 1."""
    seconds = [range(100 * block, 100 * block + 100) for block in range(blocks)]
    return [
        [event(s, block % 2, "alarm") if s % 100 == 50 else event(s, s % 20, "reading") for s in some]
        for block, some in enumerate(seconds)
    ]


@pytest.mark.parametrize("sequence", ["A : B", "A ; B", "A : B:+", "A : C? : B", "A : (B | C)", "A : B : C"])
def test_after_a_rare_step_only_what_joins_it_is_matched(sequence: str) -> None:
    names = [name for name in STEPS if name in sequence]
    query = parse(HEAD % (sequence, " ".join(STEPS[name] for name in names)), "q")
    pieces = grid(3)[:1] + [piece[:30] for piece in grid(3)[1:]]
    with_it, pushed = run(query, pieces, "nfa", True)
    without, whole = run(query, pieces, "nfa", False)
    assert [comparable(row) for row in with_it] == [comparable(row) for row in without]
    assert with_it
    assert whole.solver.matched[1:] == [160] * (len(names) - 1)
    assert pushed.solver.matched[[p.name for p in pushed.query.patterns].index("B")] < 30


@pytest.mark.parametrize("clause", ["SEQ(B! : A)", "SEQ(A : B!)", "SEQ(A : B! : C)"])
def test_what_is_forbidden_is_looked_for_everywhere(clause: str) -> None:
    names = [name for name in STEPS if name in clause]
    text = HEAD.replace("SEQ(%s)", "%s") % (clause, " ".join(STEPS[name] for name in names))
    _, operator = run(parse(text, "q"), grid(2), "nfa", True)
    assert operator.solver.matched[[p.name for p in operator.query.patterns].index("B")] == 200


def test_a_step_that_can_begin_is_matched_everywhere() -> None:
    query = parse(HEAD % ("A? : B", f"{STEPS['A']} {STEPS['B']}"), "q")
    _, operator = run(query, grid(2), "nfa", True)
    assert operator.solver.matched == [200, 200]


def test_substreams_of_partitions_are_whole() -> None:
    text = HEAD.replace("WITHIN 1 HOUR", "WITHIN 1 HOUR PARTITION BY ?k")
    _, operator = run(parse(text % ("A , B", f"{STEPS['A']} {STEPS['B']}"), "q"), grid(2), "nfa", True)
    assert operator.solver.matched == [200, 200]
