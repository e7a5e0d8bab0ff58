"""Steps that only the very next event can follow: rows are made of the runs that it can, and of no others."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from automata.runs.columns import adjacency_lookahead as prospects
from automata.runs.columns.run_evaluator import RunEvaluator
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, Literal
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.runtime.embedded.network import Network
from tests.drawn import drawn
from tests.driving import as_batch, comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies.stream import Arrived, batches, cuts, interleaved

PAIRS = drawn(400)
EX, SECOND = "http://ex.org/", 1_000_000_000
HEAD = "PREFIX : <http://ex.org/> SELECT * WITHIN {window} FROM STREAM S1 <{ex}s1> FROM STREAM S2 <{ex}s2>"
STEPS = {
    "A": "DEFINE GPM A ON S1 { ?a :a ?k }",
    "B": "DEFINE GPM B ON S1, S2 { ?b :b ?k }",
    "C": "DEFINE GPM C ON S2 { ?c :c ?v }",
}
SEQUENCES = (
    "A , B", "A , B , C", "A ; B , C", "A : B , C", "A ; B+ , C", "A : B,+ , C", "A , B,+ , C", "(A , B),+ , C",
    "A , B? , C", "A , (B | C) , A", "A ; (B , C | C , B) , A", "A & B , C", "B & C , B", "A , B & C , B",
    "A ; B,{2} , C", "A , B,{1,2} , B", "B,+ , C", "A , B! , C", "A , B , C!", "B , B , B", "A : ALL(B, SEQ(C , B))",
    "A;+ , B", "(A ; B):+ , C",
)  # fmt: skip
WINDOWS = ("100 SECONDS", "3 SECONDS", "4 SECONDS SLIDING", "6 EVENTS SLIDING", "5 EVENTS")
KINDS = {"S1": "ab", "S2": "bc"}


@st.composite
def streams(draw: st.DrawFn) -> dict[str, list[tuple[int, str, frozenset[tuple[IRI, IRI, Literal]]]]]:
    """Two streams with many events at the same times."""
    found = {}
    for stream, kinds in KINDS.items():
        seconds = sorted(draw(st.lists(st.integers(0, 6), max_size=7)))
        graphs = [draw(st.sets(st.tuples(st.sampled_from(kinds), st.integers(0, 1)), max_size=2)) for _ in seconds]
        found[stream] = [
            (second * SECOND, f"urn:{stream}:{number}", frozenset(_triple(kind, value) for kind, value in graph))
            for number, (second, graph) in enumerate(zip(seconds, graphs, strict=True))
        ]
    return found


def _triple(kind: str, value: int) -> tuple[IRI, IRI, Literal]:
    return IRI(f"{EX}x"), IRI(EX + kind), Literal(str(value))


def query(sequence: str, window: str, keyword: str = "") -> Query:
    steps = "\n  ".join(STEPS[name] for name in STEPS if name in sequence.replace("ALL", "").replace("SEQ", ""))
    head = HEAD.format(window=window, ex=EX).replace("SELECT ", f"SELECT {keyword} ")
    return parse(f"{head} WHERE {{ SEQ({sequence})\n  {steps} }}", "q")


@given(st.data())
@settings(max_examples=PAIRS)
def test_adjacent_steps_give_the_rows_of_the_reference_whatever_the_batches(data: st.DataObject) -> None:
    sequence, window = data.draw(st.sampled_from(SEQUENCES)), data.draw(st.sampled_from(WINDOWS))
    asked = query(sequence, window, data.draw(st.sampled_from(("", "", "STRICT"))))
    arrivals = data.draw(streams())
    note(f"{sequence} {window} {arrivals}")
    arrived = interleaved(arrivals)
    expected = Counter(map(comparable, evaluate(asked, arrivals)))
    assert Counter(map(comparable, run_engine(asked, [arrived]))) == expected
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    assert Counter(map(comparable, run_engine(asked, pieces))) == expected


@pytest.mark.parametrize("few", [0, 100])
def test_no_event_lies_after_a_conjunction_of_two_streams_in_its_slot(few: int) -> None:
    """The event of S1 that comes after that of B has no order with C, whether events go in columns or one by one."""
    first, second, third = (frozenset({_triple(*each)}) for each in (("b", 1), ("c", 0), ("b", 1)))
    arrivals = {
        "S1": [(SECOND, "urn:1", first), (SECOND, "urn:2", frozenset())],
        "S2": [(SECOND, "urn:3", second), (2 * SECOND, "urn:4", third)],
    }
    asked = query("B & C , B", "100 SECONDS")
    expected = Counter(map(comparable, evaluate(asked, arrivals)))
    later: list[Arrived] = [("S1", 3 * SECOND, "urn:5", frozenset()), ("S2", 3 * SECOND, "urn:6", frozenset())]
    rows = run_engine(asked, [interleaved(arrivals), later], few=few)
    assert Counter(map(comparable, rows)) == expected
    assert expected.total() == 1


def rows_made(sequence: str, kinds: str) -> int:
    """The rows of runs over one batch of events, one a second."""
    dictionary = Dictionary()
    operator = Setup({}, RunOptions(evaluator="nfa"), dictionary).operator(build(query(sequence, "1 HOUR")))
    network = Network(dictionary, 0)
    network.add(operator, lambda rows: None)
    for stream in ("S1", "S2"):
        events: list[Arrived] = [
            (stream, second * SECOND, f"urn:{second}", frozenset({_triple(kind, 0)}))
            for second, kind in enumerate(kinds)
            if kind in KINDS[stream] and (kind != "b" or stream == "S1")
        ]
        network.push(f"{EX}{stream.lower()}", as_batch(events, dictionary))
    network.finish()
    evaluator = operator._sequence._evaluator
    assert isinstance(evaluator, RunEvaluator)
    return evaluator.operations


@pytest.mark.parametrize("sequence", ["A ; B , C", "A , B , C", "A ; B,+ , C", "B , C"])
def test_a_run_that_the_next_event_ends_is_never_a_row(sequence: str) -> None:
    """Of a hundred B only the last is followed by C."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prospects, "_ROUNDS_MAX", 0)
        everything = rows_made(sequence, "aab" * 100 + "abc")
    assert rows_made(sequence, "aab" * 100 + "abc") <= 6 + 200 * (sequence[2] == ";") < everything
