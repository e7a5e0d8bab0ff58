"""The watermark of a source of several partitions: the least of their largest times, idle ones left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable

import spaseq
import spaseq.spark
from spaseq.inputs.texts import InputText
from spaseq.lang.parse import parse
from spaseq.runtime.spark.sources.kafka import KafkaStreamReader
from spaseq.runtime.spark.sources.options import SourceOptions
from spaseq.runtime.spark.sources.rows import END, signal
from tests.drawn import drawn
from tests.driving import comparable
from tests.spark.pipeline import Found, job_of, run_stages
from tests.spark.test_sources import cluster

PAIRS = parse(
    """SELECT ?s ?a ?b WITHIN 20 SECONDS PARTITION BY ?s FROM STREAM S1 <urn:s1>
    WHERE { SEQ(A ; B) DEFINE GPM A ON S1 { ?s <urn:p0> ?a } DEFINE GPM B ON S1 { ?s <urn:p1> ?b } }""",
    "pairs",
)
NAMES = ("events[0]", "events[1]", "events[2]")


def event(second: int, number: int = 0) -> str:
    """An event named after its second; subjects and predicates alternate."""
    name, time = f"<urn:e{second}.{number}>", f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"
    stamp = f'<http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    return f'{name} {stamp} .\n<urn:s{second // 2 % 2}> <urn:p{second % 2}> "{second}" {name} .\n'


@dataclass(frozen=True, slots=True)
class Batch:
    """What a micro-batch reads of each partition, and which are active then."""

    seconds: Sequence[Sequence[int]]
    active: Sequence[str] = NAMES


def found_in(batches: Sequence[Batch], delay_s: int = 0, shards: int = 2) -> Found:
    """What both stages find, as the source cuts its input: a task each partition, the first tells the active ones."""
    taken: list[Any] = []
    for each, parts in zip(batches, numbered(batches), strict=True):
        tasks = [
            [signal(f"partition {name}"), text("".join(event(*one) for one in part))]
            for name, part in zip(NAMES, parts, strict=True)
            if part
        ] or [[]]
        tasks[0].insert(0, signal(" ".join(["partitions", *each.active])))
        taken.append({"S1": tasks})
    return run_stages(job_of([PAIRS], ["S1"], shards, delay_s * 10**9, False), [*taken, {"S1": [[END]]}])


def numbered(batches: Sequence[Batch]) -> list[list[list[tuple[int, int]]]]:
    """The events of each partition in each micro-batch: second, and a number that no other event has."""
    number = count()
    return [[[(second, next(number)) for second in part] for part in each.seconds] for each in batches]


def test_partitions_that_one_task_reads_each_keep_their_time() -> None:
    read = [signal(" ".join(["partitions", *NAMES]))]
    for name, seconds in zip(NAMES, ([0, 30], [1, 12], [20]), strict=True):
        read += [signal(f"partition {name}"), text("".join(map(event, seconds)))]
    more = [signal(f"partition {NAMES[1]}"), text("".join(map(event, (11, 12, 13))))]
    found = run_stages(job_of([PAIRS], ["S1"], 2, 0, False), [{"S1": [read]}, {"S1": [more]}, {"S1": [[END]]}])
    assert ["<urn:e11.0>" in letter.raw for letter in found.letters] == [True]


def text(quads: str) -> InputText:
    return InputText(quads.encode(), "events", format="nquads")


@st.composite
def partitioned(draw: st.DrawFn) -> tuple[list[Batch], int]:
    """Events with distinct times, in three partitions each in order but for the delay, read at any speeds."""
    delay_s = draw(st.sampled_from((0, 3)))
    owners = draw(st.lists(st.integers(0, 2), min_size=1, max_size=12))
    own: list[list[int]] = [[], [], []]
    for second in sorted(range(len(owners)), key=lambda s: s + draw(st.integers(0, delay_s))):
        own[owners[second]].append(second)
    batches = []
    for last in [False] * draw(st.integers(0, 3)) + [True]:
        taken = [len(part) if last else draw(st.integers(0, len(part))) for part in own]
        batches.append(Batch([part[:size] for part, size in zip(own, taken, strict=True)]))
        own = [part[size:] for part, size in zip(own, taken, strict=True)]
    return batches, delay_s


@settings(max_examples=drawn(15))
@given(partitioned(), st.sampled_from((1, 3)))
def test_partitions_in_order_lose_nothing_however_far_one_is_behind(
    example: tuple[list[Batch], int], shards: int
) -> None:
    batches, delay_s = example
    found = found_in(batches, delay_s, shards)
    assert found.letters == []
    events = sorted(one for parts in numbered(batches) for part in parts for one in part)
    whole = text("".join(event(*one) for one in events))
    expected = run_stages(job_of([PAIRS], ["S1"], 1, 0, False), [{"S1": [[whole]]}, {"S1": [[END]]}])
    assert Counter(map(comparable, found.rows)) == Counter(map(comparable, expected.rows))


seconds_read = st.lists(st.integers(0, 30), max_size=4)
anything = st.builds(
    Batch,
    st.tuples(seconds_read, seconds_read, seconds_read),
    st.sets(st.sampled_from(NAMES)).map(sorted),
)


@settings(max_examples=drawn(15))
@given(st.lists(anything, min_size=1, max_size=4))
def test_an_event_is_late_iff_it_is_below_the_least_of_the_active_partitions_largest_times(
    batches: list[Batch],
) -> None:
    largest, watermark, late = dict.fromkeys(NAMES, -1), -1, []
    for each in batches:
        late += [second for part in each.seconds for second in part if second < watermark]
        for name, part in zip(NAMES, each.seconds, strict=True):
            largest[name] = max(largest[name], *part, -1)
        watermark = max(watermark, min((largest[name] for name in each.active), default=max(largest.values())))
    letters = found_in(batches).letters
    assert {letter.kind for letter in letters} <= {"late"}
    assert Counter(int(letter.raw.split(".")[0].removeprefix("<urn:e")) for letter in letters) == Counter(late)


@pytest.fixture
def brokers() -> Iterator[str]:
    yield from cluster()


def produce(brokers: str, partition: int, seconds: Sequence[int]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": brokers})
    for second in seconds:
        producer.produce("events", event(second), partition=partition)
    assert producer.flush(10) == 0


def test_idle_partitions_stand_in_the_offset_so_that_a_replay_gives_the_same(brokers: str) -> None:
    def reader(**more: Any) -> KafkaStreamReader:
        return KafkaStreamReader(SourceOptions(brokers=brokers, topics=("events",), idle_timeout_s=3600.0, **more))

    def signals(start: Any, end: Any) -> list[tuple[str, ...]]:
        return [part.signals for part in reader().partitions(start, end)]  # type: ignore[attr-defined]

    produce(brokers, 0, range(3))
    produce(brokers, 1, range(3))
    start = reader().initialOffset()
    here = json.loads(json.dumps(reader().latestOffset(start, ReadAllAvailable())))
    every = "partitions events[0] events[1] events[2] events[3]"
    assert signals(start, here) == [(every, "partition events[0]"), ("partition events[1]",)]
    assert reader().latestOffset(here, ReadAllAvailable()) == here
    here["#since"]["events[2]"] -= 7200
    idle = json.loads(json.dumps(reader().latestOffset(here, ReadAllAvailable())))
    assert idle["#idle"] == ["events[2]"]
    assert signals(here, idle) == [("partitions events[0] events[1] events[3]",)]
    produce(brokers, 2, range(1))
    assert signals(here, idle) == [("partitions events[0] events[1] events[3]",)]
    awake = reader().latestOffset(idle, ReadAllAvailable())
    assert signals(idle, awake) == [(every, "partition events[2]")]


def test_a_partition_with_a_backlog_loses_no_event_on_spark(spark: Any, brokers: str, tmp_path: Path) -> None:
    ahead, behind = range(300, 310), range(120)
    produce(brokers, 0, ahead)
    produce(brokers, 1, behind)
    produce(brokers, 2, [400])
    produce(brokers, 3, [401])
    options = {"kafka.bootstrap.servers": brokers, "subscribe": "events", "maxOffsetsPerTrigger": "50", "end": "true"}
    spaseq.spark.register(spark)
    frame = spark.readStream.format("spaseq").options(**options).load()
    rows: list[Any] = []
    writer = spaseq.spark.outcomes(spark, PAIRS, {"S1": frame}, shards=2, compiled=False).writeStream
    writer = writer.foreachBatch(lambda batch, number: rows.extend((number, row) for row in batch.collect()))
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()
    path = tmp_path / "sorted.nq"
    path.write_text("".join(map(event, (*behind, *ahead, 400, 401))), encoding="utf-8")
    expected = Counter((row["a"].lexical, row["b"].lexical) for row in spaseq.run(PAIRS, {"S1": path}))
    assert {row.kind for _, row in rows} == {"match"} and len({number for number, _ in rows}) > 1
    assert Counter((row.a.strip('"'), row.b.strip('"')) for _, row in rows) == expected
