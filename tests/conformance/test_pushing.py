"""Events that no run can go on with are not matched, and no row is another for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparql_gpm import shared
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, Literal
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.operator import QueryOperator
from tests.drawn import drawn
from tests.driving import as_batch, comparable
from tests.reference.api import evaluate
from tests.strategies.query import queries
from tests.strategies.stream import Arrived, batches, cuts, interleaved, streams

PAIRS = drawn(150)
EX, SECOND = "http://ex.org/", 1_000_000_000
HEAD = "PREFIX : <http://ex.org/> SELECT * WITHIN 1 HOUR FROM STREAM S1 <http://ex.org/s1> WHERE { SEQ(%s) %s }"
STEPS = {
    "A": "DEFINE GPM A ON S1 { ?k :alarm ?a }",
    "B": "DEFINE GPM B ON S1 { ?k :reading ?b OPTIONAL { ?k :unit ?u } }",
    "C": "DEFINE GPM C ON S1 { ?k :reading ?c . ?k :unit ?v }",
}
SEQUENCES = (
    "P0 : P1", "P0 ; P1", "P0 , P1", "P0 : P1 : P2", "P0 ; P1 ; P2", "P0 : P1:+ : P2", "P0 ; P1;+", "P0 : P1:+",
    "(P0 : P1):+", "P0 : (P1 : P2):+", "P0 : (P1 | P2)", "P0 : P1? : P2", "P0 : P1! : P2", "P0 : P1 & P2",
    "(P0 | P1) : P2", "P0 : P1 : P0", "P0 : P1 : P2 : P1", "P0 : ALL(P1, P2)", "P0 : P1 : P2!", "P0:+ : P1",
)  # fmt: skip


def run(
    query: Query, pieces: Sequence[Sequence[Arrived]], evaluator: str, push: bool
) -> tuple[list[Row], QueryOperator]:
    """The rows of a query, and its operator after the run."""
    dictionary = Dictionary()
    network = Network(dictionary, 0)
    operator = Setup({}, RunOptions(evaluator=evaluator), dictionary).operator(build(query))
    if not push:
        operator.patterns.solver.semi_joins = False
    rows: list[Row] = []
    network.add(operator, rows.extend)
    iris = {stream.name: stream.iri for stream in query.streams}
    for piece in pieces:
        for name in dict.fromkeys(event[0] for event in piece if event[0] in iris):
            network.push(iris[name], as_batch([e for e in piece if e[0] == name], dictionary))
        network.release_terms(always=True)
    network.finish()
    return rows, operator


@st.composite
def joined_queries(draw: st.DrawFn) -> str:
    """Steps that share variables, nothing else."""
    sequence = draw(st.sampled_from(SEQUENCES))
    steps = []
    for name in dict.fromkeys(re.findall(r"P\d", sequence)):
        value = draw(st.sampled_from(("?v", "?w", f"?v{name}")))
        filters = draw(st.sampled_from(("", "", f" FILTER({value} >= 1)")))
        keys = draw(st.sampled_from((f":k ?k ; :v {value}", f":k ?k ; :v {value}", f":v {value}")))
        kind = draw(st.sampled_from("AAB"))
        steps.append(f"DEFINE GPM {name} ON S1 {{ ?s{name} a :{kind} ; {keys}{filters} }}")
    window = draw(st.sampled_from(("100 SECONDS", "6 SECONDS", "9 SECONDS SLIDING", "12 EVENTS SLIDING", "8 EVENTS")))
    selector = draw(st.sampled_from(("", "", "NEXT ", "LAST ", "STRICT ")))
    head = f"PREFIX : <{EX}>\nSELECT {selector}*\nWITHIN {window}\nFROM STREAM S1 <{EX}s1>\n"
    return f"{head}WHERE {{\n  SEQ({sequence})\n  " + "\n  ".join(steps) + "\n}"


@pytest.fixture(scope="module")
def unshared() -> Iterator[None]:
    """Equal patterns are matched apart, so that each can be restricted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "canonical", lambda pattern: None)
        yield


@pytest.mark.usefixtures("unshared")
@given(st.data())
@settings(max_examples=PAIRS)
def test_pushing_changes_no_row(data: st.DataObject) -> None:
    text = data.draw(st.one_of(joined_queries(), joined_queries(), queries()))
    query = parse(text, "q")
    declared = {stream.name for stream in query.streams}
    arrivals = {name: events for name, events in data.draw(streams(6, 16)).items() if name in declared}
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
    assert whole.patterns.solver.matched[1:] == [160] * (len(names) - 1)
    kept_unasked = 40 if "C?" in sequence else 0  # events of products, until some are found in vain
    assert pushed.patterns.solver.matched[[p.name for p in pushed.query.patterns].index("B")] < 30 + kept_unasked


@pytest.mark.parametrize("clause", ["SEQ(B! : A)", "SEQ(A : B!)", "SEQ(A : B! : C)"])
def test_what_is_forbidden_is_looked_for_everywhere(clause: str) -> None:
    names = [name for name in STEPS if name in clause]
    text = HEAD.replace("SEQ(%s)", "%s") % (clause, " ".join(STEPS[name] for name in names))
    _, operator = run(parse(text, "q"), grid(2), "nfa", True)
    assert operator.patterns.solver.matched[[p.name for p in operator.query.patterns].index("B")] == 200


def test_a_step_that_can_begin_is_matched_everywhere() -> None:
    query = parse(HEAD % ("A? : B", f"{STEPS['A']} {STEPS['B']}"), "q")
    _, operator = run(query, grid(2), "nfa", True)
    assert operator.patterns.solver.matched == [200, 200]


def test_substreams_of_partitions_are_whole() -> None:
    text = HEAD.replace("WITHIN 1 HOUR", "WITHIN 1 HOUR PARTITION BY ?k")
    _, operator = run(parse(text % ("A , B", f"{STEPS['A']} {STEPS['B']}"), "q"), grid(2), "nfa", True)
    assert operator.patterns.solver.matched == [200, 200]
