"""OVER MATCHES whose groups have matches of several shards: partial groups are written by shards and merged once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import spaseq.spark
from sparql_gpm.terms import IRI, XSD, Literal
from spaseq.algebra.build import build
from spaseq.algebra.distribution import distribution, sharding_in_words
from spaseq.engine.rescaling import rescaled
from spaseq.errors import InputError
from spaseq.lang.parse import parse
from spaseq.runtime.spark.placement import key_of
from tests.drawn import drawn
from tests.driving import comparable
from tests.reference.api import evaluate
from tests.spark.pipeline import job_of, run_stages
from tests.spark.test_stages import SECOND, _able, _micro_batches
from tests.strategies.over import OverText
from tests.strategies.propagated import PropagatedText
from tests.strategies.sequence import Dice
from tests.strategies.stream import Arrived, batches, cuts, interleaved, late, streams, to_nquads

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn
    from pyspark.sql import DataFrame, SparkSession

TEXT = """PREFIX : <http://ex.org/>
SELECT OVER MATCHES {distinct} {shown} (COUNT(*) AS ?n) (SUM(?v) AS ?s) (MIN(?v) AS ?least) (COUNT(DISTINCT ?w) AS ?d)
WITHIN {within} FROM STREAM S1 <http://ex.org/s1>
WHERE {{ SEQ(A : B:+) DEFINE GPM A ON S1 {{ ?k :a ?v }} DEFINE GPM B ON S1 {{ ?k :b ?w }} }} {tail}"""
COUNTED = TEXT.format(distinct="", shown="", within="10 SECONDS", tail="")


@st.composite
def merged_queries(draw: DrawFn) -> str:
    """A random query the groups of which are merged."""
    dice = Dice(draw)
    kinds = (
        lambda: PropagatedText(dice).keyed(),
        lambda: OverText(dice).whole(),
        lambda: OverText(dice, late=True).whole(),
    )
    return dice.pick(*kinds)()


@given(st.data())
@settings(max_examples=drawn(20))
def test_merged_groups_equal_the_reference_whatever_the_micro_batches_tasks_and_shards(data: st.DataObject) -> None:
    text = data.draw(merged_queries().filter(lambda text: distribution(build(parse(text))).merged))
    query = parse(text, "q")
    names = [stream.name for stream in query.streams]
    arrivals = {name: events for name, events in data.draw(streams()).items() if name in names}
    delay = data.draw(st.sampled_from((0, 3))) * SECOND
    disordered = {name: data.draw(late(events, delay)) for name, events in arrivals.items()} if delay else arrivals
    arrived = interleaved(disordered) if not delay else [(n, *e) for n, events in disordered.items() for e in events]
    blocks = batches(arrived, data.draw(cuts(len(arrived))))
    static, tasks = data.draw(st.booleans()), data.draw(st.sampled_from((1, 2)))
    evaluator = data.draw(st.sampled_from(_able(query)))
    note(f"{text}\nstatic {static}, delay {delay}, {evaluator}")
    job = job_of([query], names, 4, delay, static, None, *evaluator)
    found = run_stages(job, _micro_batches(blocks, names, tasks))
    assert Counter(map(comparable, found.rows)) == Counter(map(comparable, evaluate(query, arrivals)))


def _events(numbers: range, keys: int = 5) -> list[Arrived]:
    """An event a second; of each key first `:a`, then `:b`, `:a` …"""
    found: list[Arrived] = []
    for n in numbers:
        verb = IRI(f"http://ex.org/{'ab'[n // keys % 2]}")
        triple = IRI(f"urn:k{n % keys}"), verb, Literal(str(n % 3), XSD + "integer")
        found.append(("S1", n * SECOND, f"urn:e{n}", frozenset({triple})))
    return found


def test_every_shard_counts_its_matches_and_each_window_is_merged_once() -> None:
    query = parse(COUNTED, "q")
    events = _events(range(60))
    found = run_stages(job_of([query], ["S1"], 4, 0, False), _micro_batches([events[:23], events[23:]], ["S1"], 1))
    assert len({each.unit for outcome in found.outcomes for each in outcome.written}) == 6 == len(found.merged)
    assert sum(len(outcome.written) for outcome in found.outcomes) > 6
    expected = evaluate(query, {"S1": tuple(event[1:] for event in events)})
    assert Counter(map(comparable, found.rows)) == Counter(map(comparable, expected)) and len(found.rows) == 6


@pytest.mark.parametrize(
    ("within", "tail", "words"),
    [
        ("10 SECONDS", "", "sharded by ?k: every step joins it; the groups of all shards are merged when"),
        ("10 SECONDS EVERY 5 SECONDS", "GROUP BY ?v", "the groups of all shards are merged when"),
        ("10 SECONDS", "GROUP BY ?k LIMIT 2", "the groups of all shards are merged when"),
        ("10 SECONDS", "GROUP BY ?k", "sharded by ?k: every step joins it"),
        ("10 SECONDS SLIDING", "", "windows that slide are not merged"),
        ("10 EVENTS", "", "windows of events, which are not merged"),
    ],
)
def test_explain_says_whether_groups_are_merged(within: str, tail: str, words: str) -> None:
    query = parse(TEXT.format(distinct="", shown="", within=within, tail=tail), "q")
    said = sharding_in_words(distribution(build(query)))
    assert words in said, said
    assert ("merged when" in said) == ("merged when" in words)


def test_a_state_with_groups_of_several_keys_is_not_divided() -> None:
    states: dict[int, bytes] = {}
    micro = _micro_batches([_events(range(15))], ["S1"], 1)[:1]
    run_stages(job_of([parse(COUNTED, "q")], ["S1"], 2, 0, False), micro, states=states)
    with pytest.raises(InputError, match="groups of query 'q' hold matches of several keys"):
        rescaled({key_of(number): blob for number, blob in states.items()}, 4)


def _queries() -> list[str]:
    return [
        COUNTED,
        TEXT.format(distinct="", shown="?v", within="12 SECONDS EVERY 4 SECONDS", tail="GROUP BY ?v HAVING (?n > 1)"),
        TEXT.format(distinct="", shown="?k", within="20 SECONDS", tail="GROUP BY ?k LIMIT 3"),
        TEXT.format(distinct="DISTINCT", shown="", within="20 SECONDS", tail="GROUP BY ?k"),
    ]


def _found(rows: list[object]) -> Counter[object]:
    return Counter(comparable(spaseq.spark.row_of(row)) for row in rows)


def test_spark_merges_over_static_dataframes_and_in_a_job_that_is_started_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    queries = [parse(text, f"q{number}") for number, text in enumerate(_queries())]
    events = _events(range(80))
    expected: Counter[object] = Counter()
    for query in queries:
        expected += Counter(map(comparable, evaluate(query, {"S1": tuple(event[1:] for event in events)})))
    spaseq.spark.register(spark)
    folder = tmp_path / "in"
    folder.mkdir()
    options = {"shards": 2, "compiled": False}
    batches_of: list[tuple[int, list[object]]] = []

    def take(frame: DataFrame, number: int) -> None:
        batches_of.append((number, frame.collect()))

    for part, (begin, end) in enumerate(((0, 33), (33, 80))):
        text = to_nquads([event[1:] for event in events[begin:end]]) + "\n"
        (folder / f"{part}.nq").write_text(text, encoding="utf-8")
        stream = spark.readStream.format("spaseq")
        stream = stream.option("end", "true") if part else stream
        outcomes = spaseq.spark.run(spark, queries, {"S1": stream.load(str(folder))}, **options)
        writer = outcomes.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "state"))
        writer.trigger(availableNow=True).start().awaitTermination()
        assert any(rows for _, rows in batches_of), "windows that have passed are reported before the end"
    rows = [row for _, own in batches_of for row in own]
    assert _found(rows) == expected
    assert len({row.id for row in rows}) == len(rows)
    static = spark.read.format("spaseq").load(str(folder))
    assert _found(spaseq.spark.run(spark, queries, {"S1": static}, **options).collect()) == expected
