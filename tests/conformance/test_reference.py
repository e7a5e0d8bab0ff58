"""The reference keeps the equations of the language, and the strategies draw what they promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.terms import IRI
from spaseq.lang.parse import parse
from tests.conformance.cases import multiset, row_json
from tests.reference.api import Arrivals, Row, evaluate, late_events
from tests.reference.stream import Triples
from tests.strategies.query import QueryText, queries
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import EX, cuts, drawn_streams, interleaved, late, streams, to_nquads, to_trig, too_late

SECOND = 1_000_000_000


def _rows(text: str, events: Mapping[str, Arrivals], max_delay_ns: int = 0) -> Counter[str]:
    return _shown(evaluate(parse(text, "query"), events, max_delay_ns=max_delay_ns), events)


def _shown(rows: list[Row], events: Mapping[str, Arrivals]) -> Counter[str]:
    names = [name for arrivals in events.values() for _, name, _ in arrivals]
    return multiset(map(row_json, rows), names)


def _query(sequence: str, selector: str = "") -> str:
    defines = "\n".join(f"  DEFINE GPM {name} ON S1, S2 {{ [] a :{name} ; :k ?k }}" for name in "ABC")
    froms = "FROM STREAM S1 <http://ex.org/s1>\nFROM STREAM S2 <http://ex.org/s2>"
    head = f"PREFIX : <http://ex.org/>\nSELECT {selector} ?k\nWITHIN 10 SECONDS SLIDING\n{froms}"
    return f"{head}\nWHERE {{\n  SEQ({sequence})\n{defines}\n}}\n"


@given(streams())
def test_an_optional_step_is_the_union_of_taken_and_negated(events: dict[str, Arrivals]) -> None:
    both = _rows(_query("A ; B? ; C"), events)
    assert both == _rows(_query("A ; B ; C"), events) + _rows(_query("A ; B! ; C"), events)


@given(streams(), st.sampled_from((",", ";", ":")))
def test_a_bounded_repetition_is_the_union_of_its_lengths(events: dict[str, Arrivals], operator: str) -> None:
    both = _rows(_query(f"A : B{operator}{{1,2}}"), events)
    assert both == _rows(_query("A : B"), events) + _rows(_query(f"A : B{operator}{{2}}"), events)


@given(streams())
def test_each_operator_takes_no_more_than_the_looser_one(events: dict[str, Arrivals]) -> None:
    strict, nearest, free = (_rows(_query(f"A {operator} B"), events) for operator in (",", ";", ":"))
    assert strict <= free and nearest <= free


@given(streams())
def test_parentheses_without_a_quantifier_change_nothing(events: dict[str, Arrivals]) -> None:
    assert _rows(_query("A ; (B , C)"), events) == _rows(_query("(A ; B) , C"), events)


@given(streams())
def test_any_order_of_two_is_either_order_or_the_same_time(events: dict[str, Arrivals]) -> None:
    ordered = _rows(_query("A : B"), events) | _rows(_query("B : A"), events)
    assert ordered <= _rows(_query("ALL(A, B)"), events) <= ordered + _rows(_query("A & B"), events)


@given(streams(), st.sampled_from(("STRICT", "NEXT", "LAST", "MAX")))
def test_a_selector_only_removes(events: dict[str, Arrivals], selector: str) -> None:
    assert _rows(_query("A:+ : B", selector), events) <= _rows(_query("A:+ : B", "ALL"), events)


@given(queries(), streams(), st.data())
def test_disorder_within_the_delay_changes_nothing(text: str, events: dict[str, Arrivals], data: st.DataObject) -> None:
    disordered = {name: data.draw(late(arrivals, 2 * SECOND)) for name, arrivals in events.items()}
    assert late_events(disordered, 2 * SECOND) == {"S1": [], "S2": []}
    assert _rows(text, disordered, 2 * SECOND) == _rows(text, events)


@given(streams(), st.data())
def test_what_is_late_is_as_if_it_had_never_come(events: dict[str, Arrivals], data: st.DataObject) -> None:
    shuffled = {name: data.draw(too_late(arrivals)) for name, arrivals in events.items()}
    gone = late_events(shuffled, SECOND)
    punctual = {name: [e for e in arrivals if e[1] not in gone[name]] for name, arrivals in shuffled.items()}
    assert _rows(_query("A ; B"), shuffled, SECOND) == _rows(_query("A ; B"), punctual, 100 * SECOND)


@given(streams(), st.data())
def test_cuts_cover_every_event_once(events: dict[str, Arrivals], data: st.DataObject) -> None:
    merged = interleaved(events)
    assert sum(data.draw(cuts(len(merged)))) == len(merged) == sum(map(len, events.values()))


@given(streams())
def test_events_are_written_with_one_timestamp_each(events: dict[str, Arrivals]) -> None:
    for text in (to_trig(events["S1"]), to_nquads(events["S1"])):
        assert text.count("generatedAtTime") == len(events["S1"])


def test_a_window_of_time_passes_for_all_partitions_at_once() -> None:
    """The second event of x is all that comes after the first window: it reports the matches of x and of y."""

    def event(second: int, key: str) -> tuple[int, str, Triples]:
        subject = IRI(f"{EX}s{second}")
        return second * SECOND, f"urn:e{second}", frozenset({(subject, IRI(EX + "k"), IRI(EX + key))})

    text = f"""SELECT ?k WITHIN 8 SECONDS PARTITION BY ?k FROM STREAM S1 <urn:s1>
        WHERE {{ SEQ(A : B!) DEFINE GPM A ON S1 {{ ?s <{EX}k> ?k }} DEFINE GPM B ON S1 {{ ?t <{EX}b> ?k }} }}"""
    events = {"S1": (event(1, "y"), event(2, "x"), event(9, "x"))}
    found = [dict(row.events)["A"] for row in evaluate(parse(text, "query"), events)]
    assert found == [("urn:e1",), ("urn:e2",), ("urn:e9",)]


def test_steps_are_compared_in_the_order_in_which_they_are_written() -> None:
    """Of two matches of the same events, the one whose P takes the earlier comes first: P stands before R."""

    def event(name: str, second: int) -> tuple[int, str, Triples]:
        return second * SECOND, name, frozenset({(IRI(EX + name), IRI(EX + "p"), IRI(EX + "k"))})

    body = " ".join(
        f"DEFINE GPM {step} ON S1 {{ ?{step} <{EX}{path}> ?k }}" for step, path in zip("OPR", "opp", strict=True)
    )
    text = f"SELECT ?k WITHIN 8 SECONDS FROM STREAM S1 <urn:s1> WHERE {{ SEQ((O | P) & R) {body} }}"
    rows = evaluate(parse(text, "query"), {"S1": (event("urn:a", 1), event("urn:b", 1))})
    found = [(dict(row.events)["P"][0][-1], dict(row.events)["R"][0][-1]) for row in rows]
    assert found == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]


def test_a_fair_share_of_the_random_pairs_has_a_match() -> None:
    counted: Counter[bool] = Counter()
    for seed in range(300):
        dice = SeededDice(Random(seed))
        text, events = QueryText(dice).whole(), drawn_streams(dice)
        counted[bool(evaluate(parse(text, "query"), events))] += 1
    assert counted[True] > 0.3 * counted.total(), counted
