"""The matches that explanations look into are those of the reference, and each row has its own."""

from __future__ import annotations

from pathlib import Path

import spaseq
from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.terms import XSD
from spaseq.lang.parse import parse
from tests.driving import comparable, run_engine
from tests.random_pairs import drawn, expected_rows
from tests.why_explained import check_explained
from tests.why_pairs import check_matches, checked

PAIRS = 72


def test_complete_runs_that_are_matches_are_the_matches_of_the_reference() -> None:
    assert checked(check_matches, 11, range(PAIRS))["matches"] > PAIRS
    assert checked(check_matches, 41, (552,)), "a partition of a blank node"


def test_a_step_does_not_bind_the_variables_of_using_again() -> None:
    """A FILTER of the match that has been decided in one iteration is not decided in one that binds none of it."""
    assert checked(check_matches, 104, (515,))["matches"] == 3
    pair = drawn(104, 515)
    assert pair is not None
    rows = [comparable(row) for row in run_engine(pair.query, [pair.arrived])]
    assert rows == expected_rows(pair) and len(rows) == 2


def test_every_row_is_found_again_with_its_events_and_values() -> None:
    assert checked(check_explained, 12, range(PAIRS // 2))["rows"] > PAIRS // 6


def test_rows_of_which_a_step_took_an_event_twice_are_found_again() -> None:
    """`P & P` takes one event as both: the row names it twice."""
    for seed, number in ((3, 104), (0, 10), (77, 196)):
        assert checked(check_explained, seed, (number,))["twice"], (seed, number)


def test_a_condition_is_shown_as_it_was_decided_where_a_later_iteration_leaves_its_variable_unbound() -> None:
    assert checked(check_explained, 78, (96,))["rows"] == 2


def streams_of(folder: Path, *graphs: str) -> dict[str, str]:
    """A stream of these graphs, one a second."""
    stamp = f'<urn:e{{0}}> <{PROV_TIME}> "2026-01-01T00:00:0{{0}}Z"^^<{XSD}dateTime> . <urn:e{{0}}> {{{{ {{1}} }}}}'
    (folder / "s.trig").write_text("\n".join(stamp.format(n, graph) for n, graph in enumerate(graphs, start=1)))
    return {"S": str(folder / "s.trig")}


def test_equal_rows_have_a_match_each_in_whichever_ways_these_are_reached(tmp_path: Path) -> None:
    """Both iterations of `A+ : A+` may take the second event; its first one has two solutions."""
    streams = streams_of(tmp_path, "<urn:s> <urn:v> 1, 2", "<urn:s> <urn:v> 1", "<urn:s> <urn:v> 1")
    query = parse(
        """SELECT * WITHIN 9 SECONDS SLIDING FROM STREAM S <urn:s> WHERE {
        SEQ(A:+ : A:+) DEFINE GPM A ON S { ?s <urn:v> ?v } }""",
        "q",
    )
    rows = list(spaseq.run(query, streams))
    every = (("A", ("urn:e1", "urn:e2", "urn:e3")),)
    alike = [number for number, row in enumerate(rows, start=1) if row.events == every]
    shown = {tuple(step.bindings for step in spaseq.why(query, streams, number).steps) for number in alike}
    assert len(alike) == len(shown) == 2


def test_each_graph_of_construct_has_the_match_that_it_was_made_of(tmp_path: Path) -> None:
    """Of one event with two solutions, blank nodes."""
    streams = streams_of(tmp_path, "_:a <urn:v> 1 . _:b <urn:v> 2")
    query = parse(
        """CONSTRUCT { <urn:s> <urn:found> ?v } WITHIN 9 SECONDS SLIDING FROM STREAM S <urn:s> WHERE {
        SEQ(A) DEFINE GPM A ON S { ?s <urn:v> ?v } }""",
        "q",
    )
    for number, row in enumerate(spaseq.run(query, streams), start=1):
        (step,) = spaseq.why(query, streams, number).steps
        assert row.triples[0][2] == dict(step.bindings)["v"], number
    assert number == 2


def test_a_match_that_is_no_row_is_shown_once_in_whichever_ways_it_is_reached(tmp_path: Path) -> None:
    streams = streams_of(tmp_path, *["<urn:s> <urn:v> 1"] * 3)
    query = parse(
        """SELECT * WITHIN 9 SECONDS SLIDING FROM STREAM S <urn:s> WHERE {
        SEQ(A:+ : A:+) DEFINE GPM A ON S { ?s <urn:v> ?v } } AFTER MATCH SKIP PAST LAST EVENT""",
        "q",
    )
    found = [each.events for each in spaseq.why_not(query, streams, events={"A": "urn:e3"}).attempts]
    assert len(found) == len(set(found)) == 3
