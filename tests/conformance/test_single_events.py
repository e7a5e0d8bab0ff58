"""Events that come one by one give the rows that long slices give, and those of the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from automata.chains import store as chain_store
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.runs.rows import live_evaluator as evaluator
from automata.runs.rows.live_evaluator import has_row_form
from automata.slices.events import Events, SymbolSolutions
from automata.values import Match
from sparql_gpm.terms import IRI, RDF
from spaseq.algebra.build import build
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from tests.drawn import drawn
from tests.driving import Comparable, comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies.keyed import keyed_queries
from tests.strategies.query import any_order_queries, queries
from tests.strategies.register import register_queries
from tests.strategies.stream import Arrived, batches, cuts, interleaved, streams, to_trig

PAIRS = drawn(60)
EX = "http://ex.org/"
SECOND = 1_000_000_000
ANY_ORDER = """
PREFIX : <http://ex.org/>
SELECT *
WITHIN 100 SECONDS
PARTITION BY ?k
FROM STREAM S1 <http://ex.org/s1>
WHERE {
  SEQ(ALL(A, B))
  DEFINE GPM A ON S1 { ?a a :A ; :k ?k }
  DEFINE GPM B ON S1 { ?b a :B ; :k ?k }
}
"""
TOGETHER = """
PREFIX : <http://ex.org/>
SELECT *
WITHIN 100 SECONDS
FROM STREAM S1 <http://ex.org/s1>
WHERE {
  SEQ((A & B | (A : D)) : C)
  DEFINE GPM A ON S1 { ?x a :A }
  DEFINE GPM B ON S1 { ?x a :B }
  DEFINE GPM C ON S1 { ?c a :C }
  DEFINE GPM D ON S1 { ?d a :D }
}
"""
FOLLOWED = """
PREFIX : <http://ex.org/>
SELECT ?a ?b
WITHIN 20 SECONDS SLIDING
FROM STREAM S1 <http://ex.org/s1>
WHERE {
  SEQ(A; B)
  DEFINE GPM A ON S1 { ?a a :A }
  DEFINE GPM B ON S1 { ?b a :B }
}
"""
BOTH = """
PREFIX : <http://ex.org/>
SELECT ?a ?b
WITHIN 20 SECONDS SLIDING
FROM STREAM S1 <http://ex.org/s1>
FROM STREAM S2 <http://ex.org/s2>
WHERE {
  SEQ(A & B)
  DEFINE GPM A ON S1 { ?a a :A }
  DEFINE GPM B ON S2 { ?b a :B }
}
"""


def _typed(kinds: str) -> list[Arrived]:
    """One event a second, of these types."""
    arrived: list[Arrived] = []
    for number, kind in enumerate(kinds):
        event = IRI(f"{EX}e{number}")
        graph = frozenset({(event, IRI(RDF + "type"), IRI(EX + kind)), (event, IRI(EX + "k"), IRI(EX + "key"))})
        arrived.append(("S1", number * SECOND, f"urn:e{number}", graph))
    return arrived


@pytest.fixture(scope="module")
def smallest() -> Iterator[None]:
    """Rows are compacted, and runs looked through, after every few events."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain_store, "COMPACT_MIN", 4)
        patch.setattr(evaluator, "_NEW_MIN", 1)
        patch.setattr(evaluator, "_NEW_SHARE", 0)
        yield


@pytest.fixture
def stretches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each slice has that goes to columns of runs."""
    found: list[int] = []
    on_batch = RunEvaluator.on_batch

    def counting(self: RunEvaluator, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        found.append(len(events))
        return on_batch(self, events, solutions)

    monkeypatch.setattr(RunEvaluator, "on_batch", counting)
    return found


def _rows(query: Query, pieces: list[list[Arrived]], release: bool = True, few: int = 1) -> list[Comparable]:
    found = run_engine(query, pieces, evaluator="nfa", release=release, compiled=False, few=few)
    return [comparable(row) for row in found]


def _compare(data: st.DataObject, text: str) -> None:
    query = parse(text, "q")
    assume(has_row_form(compile_program(build(query)).plan))
    names = {stream.name for stream in query.streams}
    arrivals = {name: events for name, events in data.draw(streams(6, 12)).items() if name in names}
    note(text)
    for name, events in arrivals.items():
        note(f"# {name}\n{to_trig(events)}")
    arrived = interleaved(arrivals)
    expected = [comparable(row) for row in evaluate(query, arrivals)]
    one_by_one = _rows(query, [[event] for event in arrived], release=False)
    assert Counter(one_by_one) == Counter(expected)
    assert one_by_one == _rows(query, [arrived])
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    mixed = [part for piece in pieces for part in (piece[:1], piece[1:]) if part]
    assert Counter(_rows(query, mixed)) == Counter(expected)
    assert Counter(_rows(query, mixed, few=3)) == Counter(expected)


@given(st.data())
@settings(max_examples=PAIRS)
def test_conditions_between_steps_hold_for_events_one_by_one(data: st.DataObject) -> None:
    _compare(data, data.draw(register_queries()))


@given(st.data())
@settings(max_examples=PAIRS)
def test_queries_of_every_kind_run_one_by_one(data: st.DataObject) -> None:
    _compare(data, data.draw(queries()))


@given(st.data())
@settings(max_examples=PAIRS)
def test_members_in_any_order_are_joined_one_by_one(data: st.DataObject) -> None:
    _compare(data, data.draw(any_order_queries()))


@given(st.data())
@settings(max_examples=PAIRS)
def test_partitions_and_selectors_run_one_by_one(data: st.DataObject) -> None:
    _compare(data, data.draw(keyed_queries()))


@pytest.mark.usefixtures("smallest")
@given(st.data())
@settings(max_examples=PAIRS)
def test_compaction_between_single_events_changes_no_row(data: st.DataObject) -> None:
    _compare(data, data.draw(st.one_of(queries(), any_order_queries())))


def test_matches_that_take_two_steps_with_one_event_are_in_report_order() -> None:
    arrived: list[Arrived] = []
    for number, kinds in enumerate(("AB", "D", "C", "E")):
        types = {(IRI(f"{EX}e{number}"), IRI(RDF + "type"), IRI(EX + kind)) for kind in kinds}
        arrived.append(("S1", number * SECOND, f"urn:e{number}", frozenset(types)))
    query = parse(TOGETHER, "q")
    one_by_one = _rows(query, [[event] for event in arrived])
    assert [len(events) for *_, events in one_by_one] == [3, 3]
    assert one_by_one == _rows(query, [arrived])


@pytest.mark.usefixtures("smallest")
def test_a_partition_is_known_as_long_as_a_member_of_an_all_waits_in_it() -> None:
    arrived = _typed("AAAAAAB")
    query = parse(ANY_ORDER, "q")
    assert len(_rows(query, [[event] for event in arrived])) == 6
    assert len(_rows(query, [arrived[:3], arrived[3:]])) == 6


@pytest.mark.usefixtures("smallest")
def test_runs_that_are_compacted_stay_lists(stretches: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "_ROWS_PER_EVENT_MAX", 2)
    arrived = _typed("AAAAAAAAAAAB" * 20)
    assert len(_rows(parse(FOLLOWED, "q"), [[event] for event in arrived], False)) == 20 * 11
    assert stretches == []


def test_few_events_that_come_together_stay_without_columns(stretches: list[int]) -> None:
    arrived = _typed("AAAB" * 6)
    pieces = [arrived[:3], arrived[3:5], arrived[5:12], arrived[12:]]
    assert len(_rows(parse(FOLLOWED, "q"), pieces, few=7)) == 18
    assert stretches == [12]


def test_few_events_of_one_time_stay_together_where_a_conjunction_joins_them() -> None:
    query = parse(BOTH, "q")
    assert has_row_form(compile_program(build(query)).plan)
    first, second = _typed("AAAA"), [("S2", time, f"{name}.b", graph) for _, time, name, graph in _typed("BBBB")]
    assert len(_rows(query, [first + second], few=16)) == 4
