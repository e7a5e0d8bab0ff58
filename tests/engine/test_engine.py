"""The Python interface: `run` over files, `Engine` over pushed events."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyoxigraph
import pytest
import rdflib

import spaseq
from sparql_gpm.terms import IRI, RDF, XSD, Literal
from spaseq.outputs.rows import Row

EX = "http://ex.org/"
STREAM = EX + "s1"
PAIR = """
PREFIX : <http://ex.org/>
SELECT ?k ?x ?y
WITHIN 100 SECONDS
FROM STREAM S1 <http://ex.org/s1>
WHERE {
  SEQ(A ; B)
  DEFINE GPM A ON S1 { [] a :A ; :k ?k ; :v ?x }
  DEFINE GPM B ON S1 { [] a :B ; :k ?k ; :v ?y FILTER(?y > ?x) }
}
"""
TWO_STREAMS = PAIR.replace("WHERE", "FROM STREAM S2 <http://ex.org/s2>\nWHERE").replace("GPM B ON S1", "GPM B ON S2")


def turtle(kind: str, value: int) -> str:
    return f"@prefix : <{EX}> . [] a :{kind} ; :k :x ; :v {value} ."


def collecting(text: str, **options: object) -> tuple[spaseq.Engine, list[Row]]:
    found: list[Row] = []
    engine = spaseq.Engine(**options)
    engine.register(spaseq.parse(text), on_match=found.append)
    return engine, found


def test_run_yields_rows_of_files(tmp_path: Path) -> None:
    prov = "http://www.w3.org/ns/prov#generatedAtTime"
    (tmp_path / "s.trig").write_text(
        f"@prefix : <{EX}> . @prefix xsd: <{XSD}> .\n"
        f'<urn:a> <{prov}> "2026-01-01T00:00:00Z"^^xsd:dateTime . <urn:a> {{ [] a :A ; :k :x ; :v 1 }}\n'
        f'<urn:b> <{prov}> "2026-01-01T00:00:01Z"^^xsd:dateTime . <urn:b> {{ [] a :B ; :k :x ; :v 2 }}\n'
    )
    (row,) = spaseq.run(spaseq.parse(PAIR), streams={"S1": tmp_path / "s.trig"})
    assert row["k"] == IRI(EX + "x")
    assert row["y"] == Literal("2", XSD + "integer")
    assert row.events == (("A", ("urn:a",)), ("B", ("urn:b",)))
    assert str(row).startswith('{"query": "query", "time": "2026-01-01T00:00:01Z", "start": "2026-01-01T00:00:00Z"')


def test_a_match_on_one_stream_is_reported_by_the_push_that_completes_it() -> None:
    engine, found = collecting(PAIR)
    engine.push(STREAM, turtle("A", 1), "2026-01-01T00:00:00Z")
    assert not found
    engine.push("S1", turtle("B", 2), "2026-01-01T00:00:01Z")
    assert [row.events for row in found] == [(("A", ("urn:spaseq:event:S1:0",)), ("B", ("urn:spaseq:event:S1:1",)))]


def test_a_graph_may_be_rdflib_pyoxigraph_or_plain_terms() -> None:
    graph = rdflib.Graph().parse(data=turtle("A", 1), format="turtle")
    quads = list(pyoxigraph.parse(turtle("A", 1), format=pyoxigraph.RdfFormat.TURTLE))
    plain = [
        (IRI("urn:s"), IRI(RDF + "type"), IRI(EX + "A")),
        (IRI("urn:s"), IRI(EX + "k"), IRI(EX + "x")),
        (IRI("urn:s"), IRI(EX + "v"), Literal("1", XSD + "integer")),
    ]
    engine, found = collecting(PAIR.replace("A ; B", "A : B"))
    for second, event in enumerate((graph, quads, plain)):
        engine.push(STREAM, event, second)
    engine.push(STREAM, turtle("B", 2), 3)
    assert len(found) == 3
    assert {row["x"] for row in found} == {Literal("1", XSD + "integer")}


def test_times_may_be_datetimes_texts_literals_or_seconds() -> None:
    engine, found = collecting(PAIR.replace("A ; B", "A : B"))
    moments = (
        datetime(2026, 1, 1, 0, 0, 0, tzinfo=UTC),
        datetime(2026, 1, 1, 0, 0, 1),
        "2026-01-01T01:00:02+01:00",
        rdflib.Literal("2026-01-01T00:00:03Z", datatype=rdflib.XSD.dateTime),
        1767225604,
    )
    for moment in moments:
        engine.push(STREAM, turtle("A", 1), moment)
    engine.push(STREAM, turtle("B", 2), 1767225605.5)
    assert [row.start for row in found] == [(1767225600 + second) * 10**9 for second in range(5)]
    assert {row.time for row in found} == {1767225605_500_000_000}


def test_an_event_waits_until_every_other_stream_has_gone_past_it() -> None:
    engine, found = collecting(TWO_STREAMS)
    engine.push("S1", turtle("A", 1), 1)
    engine.push("S2", turtle("B", 2), 2)
    assert not found, "an earlier event may still come on S1"
    engine.advance("S1", 3)
    engine.advance("S2", 3)
    assert len(found) == 1


def test_an_event_that_one_query_fails_at_is_not_lost_for_the_others() -> None:
    def failing(row: Row) -> None:
        raise ValueError(row)

    found: list[Row] = []
    engine = spaseq.Engine()
    engine.register(spaseq.parse(PAIR), on_match=failing)
    engine.push(STREAM, turtle("A", 1), 0)
    engine.register(
        spaseq.parse(PAIR.replace(":A", ":B").replace("[] a :B ; :k ?k ; :v ?y", "[] a :C ; :k ?k ; :v ?y")),
        on_match=found.append,
    )
    with pytest.raises(ValueError, match="query"):
        engine.push(STREAM, turtle("B", 2), 1)
    engine.push(STREAM, turtle("C", 3), 2)
    assert [row.start for row in found] == [10**9]


def test_queries_that_share_a_stream_see_an_event_at_whose_match_one_of_them_fails() -> None:
    found: list[Row] = []

    def failing(row: Row) -> None:
        if row.time == 10**9:
            raise ValueError(row)
        found.append(row)

    engine = spaseq.Engine()
    engine.register(spaseq.parse(PAIR, "first"), on_match=failing)
    engine.register(spaseq.parse(PAIR, "second"), on_match=found.append)
    engine.push(STREAM, turtle("A", 1), 0)
    with pytest.raises(ValueError, match="first"):
        engine.push(STREAM, turtle("B", 2), 1)
    engine.push(STREAM, turtle("A", 3), 2)
    engine.push(STREAM, turtle("B", 4), 3)
    assert [(row.query, row.time // 10**9) for row in found] == [("second", 1), ("first", 3), ("second", 3)]


def test_a_match_may_be_answered_with_an_event() -> None:
    found: list[Row] = []

    def answering(row: Row) -> None:
        found.append(row)
        if len(found) < 3:
            engine.push(STREAM, turtle("A", 1), row.time / 1e9 + 1)
            engine.push(STREAM, turtle("B", 2), row.time / 1e9 + 2)

    engine = spaseq.Engine()
    engine.register(spaseq.parse(PAIR), on_match=answering)
    engine.push(STREAM, turtle("A", 1), 0)
    engine.push(STREAM, turtle("B", 2), 1)
    assert [row.time // 10**9 for row in found] == [1, 3, 5]


def test_a_match_without_what_must_not_follow_is_reported_by_the_first_event_after_its_window() -> None:
    absence = (
        PAIR.replace("SEQ(A ; B)", "SEQ(A ; B!)").replace("?x ?y", "?x").replace("100 SECONDS", "5 SECONDS SLIDING")
    )
    engine, found = collecting(absence)
    engine.push(STREAM, turtle("A", 1), 0)
    engine.push(STREAM, turtle("C", 1), 5)
    assert not found, "a B of this time would still be in the window"
    engine.push(STREAM, turtle("A", 7), 6)
    assert [row.start for row in found] == [0]
    engine.push(STREAM, turtle("B", 8), 11)
    engine.push(STREAM, turtle("C", 1), 12)
    assert len(found) == 1, "the B was the last event that could be in the window"


def test_closing_reports_what_is_left() -> None:
    engine, found = collecting(TWO_STREAMS)
    with engine:
        engine.push("S2", turtle("B", 2), 2)
        engine.push("S1", turtle("A", 1), 1)
        assert not found
    assert len(found) == 1


def test_a_late_event_is_left_out_and_counted() -> None:
    engine, found = collecting(PAIR, max_delay_ns=10**9)
    engine.push(STREAM, turtle("B", 2), 10)
    engine.push(STREAM, turtle("A", 1), 9)
    engine.push(STREAM, turtle("A", 1), 8)
    engine.close()
    assert [row.time for row in found] == [10 * 10**9]
    assert dict(engine.statistics.dead_letters) == {"late": 1}
    assert engine.statistics.events == 3
    assert engine.statistics.matches == 1


def test_in_strict_mode_a_late_event_is_an_error() -> None:
    engine, _ = collecting(PAIR, strict=True)
    engine.push(STREAM, turtle("A", 1), 10)
    with pytest.raises(spaseq.RunError, match="too late"):
        engine.push(STREAM, turtle("A", 1), 9)


def test_batches_of_quads_and_arrow_tables_are_pushed_alike() -> None:
    columns = {
        "graph": ["urn:a"] * 3 + ["urn:b"] * 3,
        "subject": ["_:n"] * 6,
        "predicate": [RDF + "type", EX + "k", EX + "v"] * 2,
        "object": [f"<{EX}A>", f"<{EX}x>", f'"1"^^<{XSD}integer>', f"<{EX}B>", f"<{EX}x>", f'"2"^^<{XSD}integer>'],
        "time": [datetime(2026, 1, 1, tzinfo=UTC)] * 3 + [datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)] * 3,
    }
    table = pa.table(columns)
    lines = []
    for graph, stamp in (("urn:a", "00:00:00"), ("urn:b", "00:00:01")):
        lines.append(f'<{graph}> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T{stamp}Z"^^<{XSD}dateTime> .')
        rows = zip(columns["graph"], columns["predicate"], columns["object"], strict=True)
        lines += [f"_:n <{p}> {o} <{g}> ." for g, p, o in rows if g == graph]
    reported = []
    for data in (table, table.to_batches()[0], "\n".join(lines) + "\n", ("\n".join(lines) + "\n").encode()):
        engine, found = collecting(PAIR)
        engine.push_batch("S1", data)
        reported.append([str(row) for row in found])
    assert len(reported[0]) == 1
    assert all(rows == reported[0] for rows in reported)


def test_a_table_states_times_by_the_predicate_of_the_engine() -> None:
    table = pa.table({"graph": ["urn:a"], "subject": [None], "predicate": [None], "object": [None], "time": [1]})
    engine, _ = collecting(PAIR, time_predicates=("urn:seen",))
    engine.push_batch("S1", table)
    assert (engine.statistics.events, dict(engine.statistics.dead_letters)) == (1, {})


def test_a_registered_stream_feeds_the_queries_that_read_it() -> None:
    jumps = PAIR.replace("SELECT ?k ?x ?y", "REGISTER STREAM <http://ex.org/jumps> AS\nCONSTRUCT { [] a :J ; :k ?k }")
    twice = """PREFIX : <http://ex.org/> SELECT ?k WITHIN 100 SECONDS FROM STREAM J <http://ex.org/jumps>
    WHERE { SEQ(X : Y) DEFINE GPM X ON J { ?s a :J ; :k ?k } DEFINE GPM Y ON J { ?t a :J ; :k ?k } }"""
    found: list[Row] = []
    engine = spaseq.Engine()
    engine.register(spaseq.parse(twice, "twice"), on_match=found.append)
    made: list[Row] = []
    engine.register(spaseq.parse(jumps, "jumps"), on_match=made.append)
    for second, (kind, value) in enumerate((("A", 1), ("B", 2), ("A", 1), ("B", 2))):
        engine.push(STREAM, turtle(kind, value), second)
    assert [row.events for row in found] == [(("X", (made[0].graph,)), ("Y", (made[1].graph,)))]
    assert engine.statistics.matches == 3


def test_queries_that_feed_each_other_in_a_circle_are_refused() -> None:
    text = PAIR.replace("SELECT ?k ?x ?y", "REGISTER STREAM <http://ex.org/s1> AS\nCONSTRUCT { [] :k ?k }")
    with pytest.raises(spaseq.InputError, match="circle"):
        spaseq.Engine().register(spaseq.parse(text))


@pytest.mark.parametrize(
    ("push", "message"),
    [
        (lambda e: e.push("S9", turtle("A", 1), 1), "no query reads a stream 'S9'"),
        (lambda e: e.push("S1", "<a> <b> .", 1), "Turtle is malformed"),
        (lambda e: e.push("S1", [(1, 2, 3)], 1), "not an RDF term: 1"),
        (lambda e: e.push("S1", turtle("A", 1), "noon"), "not a time: 'noon'"),
        (lambda e: e.push("S1", turtle("A", 1), rdflib.URIRef("urn:t")), "not a time"),
        (lambda e: e.push_batch("S1", "", format="csv"), "unknown RDF format 'csv'"),
        (lambda e: e.push_batch("S1", "", format="turtle"), "reads no 'turtle', which has one event"),
        (lambda e: e.push_batch("S1", {"graph": []}), "cannot read dict"),
    ],
)
def test_what_cannot_be_pushed_is_an_error_that_says_so(push: object, message: str) -> None:
    engine, _ = collecting(PAIR)
    with pytest.raises(spaseq.InputError, match=message):
        push(engine)  # type: ignore[operator]


def test_a_knowledge_base_that_is_named_but_not_supplied_is_an_error_before_anything_runs() -> None:
    text = PAIR.replace("[] a :A ;", "GRAPH <http://ex.org/db> { ?k a :Known } [] a :A ;")
    with pytest.raises(spaseq.InputError, match=r"http://ex\.org/db"):
        spaseq.Engine().register(spaseq.parse(text))


def test_terms_of_a_long_stream_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    from spaseq.runtime.embedded import network

    monkeypatch.setattr(network, "_TERMS_KEPT_MIN", 200)
    engine, found = collecting(PAIR.replace("100 SECONDS", "5 SECONDS"))
    sizes = []
    for second in range(600):
        engine.push(STREAM, turtle("A" if second % 2 else "B", second), second)
        sizes.append(len(engine._dictionary))
    assert len(found) > 200
    assert max(sizes) < 1000


def test_many_queries_handle_more_events_at_a_time_unless_told_otherwise() -> None:
    sizes = [spaseq.RunOptions().batch_events_for(queries) for queries in (1, 4, 8, 100, 1000)]
    assert sizes == sorted(sizes)
    assert sizes[0] == sizes[1] < sizes[2] < sizes[3] == sizes[4]
    assert spaseq.RunOptions(batch_events=7).batch_events_for(100) == 7
