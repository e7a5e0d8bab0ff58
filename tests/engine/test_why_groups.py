"""Rows of OVER MATCHES are explained by their matches, and matches in no row by what removed their group."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import spaseq
from spaseq.algebra.build import build
from spaseq.errors import InputError
from spaseq.outputs.attempts import WhyNot
from spaseq.outputs.explanations import WhyGroup
from spaseq.outputs.rows import Row
from tests.random_pairs import Pair, combined, drawn, over
from tests.strategies.stream import to_trig

PAIRS = 14
STREAM = """@prefix : <http://x/> . @prefix prov: <http://www.w3.org/ns/prov#> .
:e1 prov:generatedAtTime 1 . :e1 { :a :price 25 } :e2 prov:generatedAtTime 2 . :e2 { :a :price 30 }
:e3 prov:generatedAtTime 3 . :e3 { :a :price 31 } :e4 prov:generatedAtTime 4 . :e4 { :b :price 31 }
:e5 prov:generatedAtTime 5 . :e5 { :b :price 41 }
"""
QUERY = """PREFIX : <http://x/> SELECT OVER MATCHES (COUNT(*) AS ?n) WITHIN {} FROM STREAM S <http://x/s>
WHERE {{ SEQ(A : B) DEFINE GPM A ON S {{ ?s :price ?p }} DEFINE GPM B ON S {{ ?s :price ?q FILTER(?q > ?p) }} }}
GROUP BY ?s HAVING (?n > 1)"""
PAIRED = """PREFIX : <http://x/> SELECT OVER MATCHES (COUNT(*) AS ?n) WITHIN {} FROM STREAM S <http://x/s>
WHERE {{ SEQ({}) DEFINE GPM A ON S {{ ?s :price ?p }} DEFINE GPM B ON S {{ ?t :price ?q FILTER({}) }}
DEFINE GPM C ON S {{ :b :price 41 }} }} GROUP BY ?s"""
THREE = [("e1", "e2"), ("e1", "e3"), ("e2", "e3")]


@pytest.fixture
def streams(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "e.trig").write_text(STREAM)
    return {"S": tmp_path / "e.trig"}


@pytest.mark.parametrize(
    ("window", "row", "matches"),
    [
        ("10 SECONDS", 1, THREE),
        ("10 SECONDS SLIDING", 1, THREE[1:]),
        ("10 SECONDS EVERY 5 SECONDS", 2, THREE),
        ("4 EVENTS", 1, THREE),
    ],
)
def test_a_row_is_explained_by_its_matches(
    streams: dict[str, Path], window: str, row: int, matches: list[tuple[str, str]]
) -> None:
    found = spaseq.why(spaseq.parse(QUERY.format(window), "q"), streams, row)
    assert isinstance(found, WhyGroup)
    taken = [tuple(step.event.removeprefix("http://x/") for step in each.steps) for each in found.matches]
    assert (taken, found.left_out, found.to_dict()["count"]) == (matches, 0, len(matches))
    assert str(found).startswith(f"row {row} of 'q', from ")


def test_matches_beyond_the_bound_are_counted(streams: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaseq.engine.why.MATCHES_MAX", 2)
    found = spaseq.why(spaseq.parse(QUERY.format("10 SECONDS"), "q"), streams, 1)
    assert isinstance(found, WhyGroup)
    assert (len(found.matches), found.left_out) == (2, 1) and str(found).endswith("and 1 more matches\n")


def test_what_has_removed_a_group_is_said(streams: dict[str, Path]) -> None:
    def why_not(text: str, **asked: object) -> WhyNot:
        return spaseq.why_not(spaseq.parse(text, "q"), streams, **asked)

    text = QUERY.format("10 SECONDS")
    assert why_not(text).matches == why_not(text, bind={"s": ":a"}).matches == 1
    (attempt,) = why_not(text, bind={"s": ":b"}).attempts
    assert (attempt.cause, attempt.repair) == ("having", "leave out HAVING (?n > 1)")
    assert attempt.faults[0].detail["values"]["n"].lexical == "1"
    assert why_not(text.replace("HAVING (?n > 1)", ""), bind={"s": ":b"}).matches == 1
    assert why_not(text, bind={"p": "41"}).attempts[0].cause == "end"
    limited = text.replace("HAVING (?n > 1)", "LIMIT 1")
    causes = {name: why_not(limited, bind={"s": name}) for name in (":a", ":b")}
    assert sorted(found.matches for found in causes.values()) == [0, 1]
    assert {found.attempts[0].cause for found in causes.values() if not found.matches} == {"limit-rows"}


def test_windows_that_overlap_are_asked_one_by_one(streams: dict[str, Path]) -> None:
    """Three matches of :a lie in two windows, the one of :b in one; what is absent is absent in one window."""

    def why_not(text: str, **asked: object) -> WhyNot:
        return spaseq.why_not(spaseq.parse(text, "q"), streams, **asked)

    text = QUERY.format("10 SECONDS EVERY 5 SECONDS")
    assert why_not(text).matches == why_not(text, bind={"s": ":a"}).matches == 2
    (attempt,) = why_not(text, bind={"s": ":b"}).attempts
    assert (attempt.cause, attempt.faults[0].detail["values"]["n"].lexical) == ("having", "1")
    apart = PAIRED.format("4 SECONDS EVERY 1 SECONDS", "A : B", "?q > 40")
    assert why_not(apart, events={"A": "http://x/e2", "B": "http://x/e5"}).matches == 1
    (attempt,) = why_not(apart, events={"A": "http://x/e1", "B": "http://x/e5"}).attempts
    assert (attempt.cause, attempt.faults[0].detail["needed"]) == ("window", "4 seconds")
    trailing = PAIRED.format("4 SECONDS EVERY 1 SECONDS", "A : B : C!", "?q > 30 && ?q < 40")
    found = why_not(trailing, events={"A": "http://x/e3", "B": "http://x/e4"})
    assert found.matches == 1, "the windows from 2 and 3 on have e5, the one from 1 on has not"


def test_windows_of_events_that_overlap_are_not_told_apart(streams: dict[str, Path]) -> None:
    text = PAIRED.format("4 EVENTS EVERY 2 EVENTS", "A : B : C!", "?q < 40")
    with pytest.raises(InputError, match="does not say in which window"):
        spaseq.why_not(spaseq.parse(text), streams)
    found = spaseq.why_not(spaseq.parse(text), streams, bind={"s": ":b", "p": "25"})
    assert found.matches == 0 and found.attempts


def test_rows_of_random_queries_in_windows_that_overlap_are_counted(tmp_path: Path) -> None:
    seen = Counter[bool]()
    for number in range(2 * PAIRS):
        pair = drawn(61, number, (over, combined))
        if pair is None or pair.query.window.hop is None or pair.query.window.in_events or pair.query.register:
            continue
        rows = list(spaseq.run(pair.query, streams := written(tmp_path, number, pair)))
        found = spaseq.why_not(pair.query, streams)
        assert found.matches == len(rows) and bool(found.attempts) == (not rows), number
        seen[bool(rows)] += 1
    assert min(seen.values()) > 1, seen


def written(folder: Path, number: int, pair: Pair) -> dict[str, Path]:
    """The streams of a pair, as files."""
    streams = {}
    for stream in pair.query.streams:
        streams[stream.name] = folder / f"{number}{stream.name}.trig"
        streams[stream.name].write_text(to_trig(tuple(e[1:] for e in pair.arrived if e[0] == stream.name)))
    return streams


def test_rows_of_random_queries_have_as_many_matches_as_they_count(tmp_path: Path) -> None:
    seen = 0
    for number in range(PAIRS):
        pair = drawn(51, number, (over, combined))
        if pair is None or not pair.query.over_matches or pair.query.register:
            continue
        if pair.query.window.hop is not None and pair.query.window.in_events:
            continue  # such a row does not say which window it is of
        streams = written(tmp_path, number, pair)
        counted = [column.name for column in build(pair.query).columns if "COUNT" in str(column.expression)]
        for place, row in enumerate(list(spaseq.run(pair.query, streams))[:2], start=1):
            found = spaseq.why(pair.query, streams, place)
            assert isinstance(found, WhyGroup) and found.matches, number
            assert all(row.start <= each.start and each.time <= row.time for each in found.matches), number
            seen += 1
            check_count(pair.query.text, row, counted, found)
    assert seen > PAIRS // 7


def check_count(text: str, row: Row, counted: list[str], found: WhyGroup) -> None:
    for name in counted:
        if f"(COUNT(*) AS ?{name})" in text:
            assert dict(row.bindings)[name].lexical == str(len(found.matches) + found.left_out)
