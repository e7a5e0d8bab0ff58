"""The engine against the reference, on random queries over random streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from automata.chains import active_runs as active
from automata.chains import store as chain_store
from automata.slices import step_table as steps
from automata.slices import substreams
from sparql_gpm.terms import IRI
from spaseq.errors import QueryError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.outputs import row_table
from spaseq.runtime.stages import projection
from tests.drawn import drawn
from tests.driving import comparable, run_engine
from tests.reference.api import evaluate
from tests.reference.stream import Arrivals, Triples
from tests.strategies.late import late_queries
from tests.strategies.limited import limited_queries
from tests.strategies.possessive import possessive_queries
from tests.strategies.query import queries
from tests.strategies.stream import EX, batches, cuts, interleaved, late, streams, to_trig

SECOND = 1_000_000_000
PAIRS = drawn(1200)


def _query(text: str) -> Query:
    try:
        return parse(text, "q")
    except QueryError as error:  # the strategy promises valid queries: a rejection is a bug of one of the two
        pytest.fail(f"rejected: {error}\n{text}")


def _declared(query: Query, arrivals: Mapping[str, Arrivals]) -> dict[str, Arrivals]:
    names = {stream.name for stream in query.streams}
    return {name: events for name, events in arrivals.items() if name in names}


def _note(text: str, arrivals: Mapping[str, Arrivals]) -> None:
    note(text)
    for name, events in arrivals.items():
        note(f"# {name}\n{to_trig(events)}")


@given(st.data())
@settings(max_examples=PAIRS)
def test_the_engine_equals_the_reference_whatever_the_batches(data: st.DataObject) -> None:
    text = data.draw(queries())
    query = _query(text)
    arrivals = _declared(query, data.draw(streams()))
    _note(text, arrivals)
    arrived = interleaved(arrivals)
    expected = Counter(map(comparable, evaluate(query, arrivals)))
    assert Counter(map(comparable, run_engine(query, [arrived]))) == expected
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    assert Counter(map(comparable, run_engine(query, pieces))) == expected


@pytest.fixture(scope="module")
def smallest() -> Iterator[None]:
    """Every index, block and compaction threshold as small as it can be: all paths on streams of ten events."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain_store, "COMPACT_MIN", 1)
        patch.setattr(active, "_UNSORTED_MAX", 0)
        patch.setattr(active, "_SCAN_FACTOR", 0)
        patch.setattr(steps, "_PAIRS_MAX", 2)
        patch.setattr(substreams, "_TRIM_MIN", 0)
        patch.setattr(projection, "FEW_MATCHES", 0)
        patch.setattr(row_table, "ROWS_MAX", 2)
        yield


@pytest.mark.usefixtures("smallest")
@given(st.data())
@settings(max_examples=PAIRS // 8)
def test_indexes_blocks_and_compaction_change_no_row(data: st.DataObject) -> None:
    text = data.draw(queries())
    query = _query(text)
    arrivals = _declared(query, data.draw(streams()))
    _note(text, arrivals)
    pieces = batches(interleaved(arrivals), data.draw(cuts(sum(map(len, arrivals.values())))))
    expected = Counter(map(comparable, evaluate(query, arrivals)))
    assert Counter(map(comparable, run_engine(query, pieces))) == expected


@given(st.data())
@settings(max_examples=PAIRS // 8)
def test_disorder_within_the_delay_changes_no_row(data: st.DataObject) -> None:
    text = data.draw(queries())
    query = _query(text)
    arrivals = _declared(query, data.draw(streams()))
    delay = data.draw(st.sampled_from((1, 2, 5))) * SECOND
    disordered = {name: data.draw(late(events, delay)) for name, events in arrivals.items()}
    _note(text, disordered)
    arrived = [(name, *event) for name, events in disordered.items() for event in events]
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    expected = Counter(map(comparable, evaluate(query, arrivals)))
    assert Counter(map(comparable, run_engine(query, pieces, delay))) == expected


@given(st.data())
@settings(max_examples=PAIRS // 8)
def test_rows_come_in_the_order_of_the_language_whatever_the_batches(data: st.DataObject) -> None:
    text = data.draw(queries() | late_queries() | limited_queries() | possessive_queries())
    query = _query(text)
    arrivals = _declared(query, data.draw(streams()))
    _note(text, arrivals)
    expected = [comparable(row) for row in evaluate(query, arrivals)]
    arrived = interleaved(arrivals)
    for pieces in ([arrived], batches(arrived, data.draw(cuts(len(arrived))))):
        assert [comparable(row) for row in run_engine(query, pieces)] == expected


def test_matches_that_consume_others_are_reported_in_order_all_the_same() -> None:
    """The match of partition y waits for the end of the window, that of x does not and has the later end."""
    query = _query("""PREFIX : <http://ex.org/>
        SELECT ?k WITHIN 100 SECONDS PARTITION BY ?k FROM STREAM S1 <http://ex.org/s1>
        WHERE { SEQ(A : B?) DEFINE GPM A ON S1 { ?a :a ?k } DEFINE GPM B ON S1 { ?b :b ?k } }
        AFTER MATCH CONSUME ALL""")
    arrivals = {"S1": (_event(1, "a", "x"), _event(2, "a", "y"), _event(3, "b", "x"))}
    expected = [comparable(row) for row in evaluate(query, arrivals)]
    assert [row[0] for row in expected] == [3 * SECOND, 2 * SECOND]
    assert [comparable(row) for row in run_engine(query, [interleaved(arrivals)])] == expected


def test_matches_of_the_same_events_come_in_the_order_in_which_they_are_decided() -> None:
    """One event matches in both partitions; the first event past the window of partition z comes first."""
    query = _query("""PREFIX : <http://ex.org/>
        SELECT ?k WITHIN 1 EVENTS PARTITION BY ?k FROM STREAM S1 <http://ex.org/s1>
        WHERE { SEQ(A : N!) DEFINE GPM A ON S1 { ?a :a ?k } DEFINE GPM N ON S1 { ?n :n ?k } }""")
    keys = frozenset().union(*(_event(1, "a", key)[2] for key in "yz"))
    arrivals = {"S1": ((SECOND, "urn:e1", keys), _event(2, "n", "z"), _event(3, "n", "y"))}
    expected = [comparable(row) for row in evaluate(query, arrivals)]
    assert len(expected) == 2
    arrived = interleaved(arrivals)
    for pieces in ([arrived], [[event] for event in arrived]):
        assert [comparable(row) for row in run_engine(query, pieces)] == expected


def _event(second: int, predicate: str, key: str) -> tuple[int, str, Triples]:
    name = f"urn:e{second}"
    return second * SECOND, name, frozenset({(IRI(name), IRI(EX + predicate), IRI(EX + key))})
