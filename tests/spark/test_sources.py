"""The data source: whole events from files, Kafka and sockets, the same ones after a restart."""

from __future__ import annotations

import gzip
import io
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException

import spaseq.spark
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import EventReader, Malformed, ReadOptions
from spaseq.errors import InputError, RunError
from spaseq.inputs.cutting import cut_nquads
from spaseq.inputs.formats import texts_of
from spaseq.inputs.texts import InputText
from spaseq.lang.parse import parse
from spaseq.runtime.spark.sources.directory import Directory, FilePosition
from spaseq.runtime.spark.sources.kafka_offsets import KafkaPlace
from spaseq.runtime.spark.sources.options import SourceOptions, read_options
from tests.waiting import PATIENCE_S

STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
TIME = '"2026-01-01T00:00:%02dZ"^^<http://www.w3.org/2001/XMLSchema#dateTime>'


def event_lines(number: int, triples: int = 2, stamp_first: bool = True) -> list[str]:
    graph = f"<urn:e{number}>"
    stamp = f"{graph} {STAMP} {TIME % (number % 60)} ."
    body = [f'<urn:s> <urn:p{i}> "a . b {i}" {graph} .' for i in range(triples)]
    return [stamp, *body] if stamp_first else [*body, stamp]


def nquads(numbers: range, triples: int = 2) -> bytes:
    return "".join(line + "\n" for n in numbers for line in event_lines(n, triples, n % 2 == 0)).encode()


def trig(numbers: range) -> bytes:
    head = "@prefix : <urn:> .\n@prefix prov: <http://www.w3.org/ns/prov#> .\n"
    body = [f"<urn:e{n}> prov:generatedAtTime {TIME % (n % 60)} .\n<urn:e{n}> {{\n  :s :p {n} . }}\n" for n in numbers]
    return (head + "".join(body)).encode()


def names_of(texts: list[bytes], rdf_format: str = "nquads") -> list[str]:
    """The graphs of all texts, each read by itself: an event that was split would come twice."""
    found: list[str] = []
    for text in texts:
        faults: list[Malformed] = []
        reader = EventReader(Dictionary(), ReadOptions(), faults.append)
        for located in reader.read(io.BytesIO(text), rdf_format):
            found += located.events.names
        assert faults == []
    return found


def named(numbers: range) -> list[str]:
    return [f"urn:e{n}" for n in numbers]


@given(
    events=st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12),
    noise=st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["", "# a comment", "not a quad"])), max_size=4),
    size=st.integers(1, 300),
    block=st.integers(1, 4),
)
def test_pieces_are_the_text_cut_between_events(
    events: list[tuple[int, bool]], noise: list[tuple[int, str]], size: int, block: int
) -> None:
    lines = [line for number, (triples, first) in enumerate(events) for line in event_lines(number, triples, first)]
    for place, text in noise:
        lines.insert(min(place, len(lines)), text)
    encoded = [line.encode() + b"\n" for line in lines]
    blocks = [b"".join(encoded[i : i + block]) for i in range(0, len(encoded), block)]
    found = list(cut_nquads(blocks, size))
    assert b"".join(document.text for document in found) == b"".join(encoded)
    assert [document.line for document in found] == [
        b"".join(document.text for document in found[:i]).count(b"\n") for i in range(len(found))
    ]
    graphs = [set(_graphs(document)) for document in found]
    assert sum(map(len, graphs)) == len(set().union(*graphs)) if graphs else True


def _graphs(document: InputText) -> Iterator[str]:
    for line in document.text.decode().splitlines():
        if line.startswith("<"):
            yield line.split()[0] if STAMP in line else line.split()[-2]


@pytest.mark.parametrize("size", [1, 200, 1 << 22])
def test_pieces_of_trig_stand_alone_and_keep_their_lines(size: int) -> None:
    text = trig(range(9))
    found = list(texts_of(io.BytesIO(text), "trig", size))
    assert len(found) == (9 if size == 1 else 5 if size == 200 else 1)
    assert names_of([document.text for document in found], "trig") == named(range(9))
    for document in found:
        graph = document.text[document.text.index(b"<urn:e") :].split(b">")[0] + b"> {"
        line = document.text[: document.text.index(graph)].count(b"\n") + document.line
        assert text[: text.index(graph)].count(b"\n") == line


def test_prefixes_declared_on_the_way_hold_from_there_on() -> None:
    text = b"@prefix : <urn:a#> . :g1 { :s :p 1 } @prefix : <urn:b#> . :g2 { :s :p 1 } :g3 { :s :p 2 }\n"
    found = [document.text for document in texts_of(io.BytesIO(text), "trig", 1)]
    assert len(found) == 3
    assert b"urn:a#" in found[0] and b"urn:b#" in found[2]


def test_damaged_input_is_told_and_not_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.nq.gz"
    path.write_bytes(gzip.compress(nquads(range(2000)), mtime=0)[:-300])
    (part,) = Directory(str(path)).ranges(FilePosition(), 100)
    assert str(list(part.texts())[-1].breaks_off).startswith("the compressed data ends too early")


@given(bytes_max=st.integers(1, 900), cuts=st.lists(st.integers(1, 2000), max_size=4))
def test_ranges_cover_each_event_once_wherever_reading_stops(
    bytes_max: int, cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("slices")
    (folder / "a.nq").write_bytes(nquads(range(5)))
    (folder / "b.nq.gz").write_bytes(gzip.compress(nquads(range(5, 8))))
    (folder / "c.trig").write_bytes(trig(range(8, 10)))
    (folder / "d.nq").write_bytes(nquads(range(10, 14)))
    (folder / ".ignored.nq").write_bytes(b"nonsense")
    directory = Directory(str(folder))
    found: list[bytes] = []
    here = FilePosition()
    for limit in [*cuts, 10**9, 10**9, 10**9, 10**9]:
        first = next(iter(directory.ranges(here, limit)), None)
        if first is None:
            break
        there = directory.after(first)
        between = list(directory.ranges(FilePosition.of(here.offset()), bytes_max, FilePosition.of(there.offset())))
        for part in between:
            for document in part.texts():
                found.append(document.text)
                if part.end is not None:
                    whole = Path(part.file).read_bytes()
                    assert document.line == whole[: whole.index(document.text)].count(b"\n")
        here = there
    assert names_of([text for text in found if b"{" not in text] + [trig(range(8, 10))[:0]]) == named(range(8)) + named(
        range(10, 14)
    )
    assert len([text for text in found if b"{" in text]) == 1


def test_a_file_that_sorts_before_what_was_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "b.nq").write_bytes(nquads(range(2)))
    directory = Directory(str(tmp_path))
    (part,) = directory.ranges(FilePosition(), 10**6)
    here = directory.after(part)
    (tmp_path / "a.nq").write_bytes(nquads(range(2, 4)))
    with pytest.raises(RunError, match="a file has appeared"):
        list(directory.ranges(here, 10**6))


def read_up(reader: Any, start: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The offset after all there is, as JSON keeps it, and the texts on the way to it."""
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    end = reader.latestOffset(start, ReadAllAvailable())
    texts = [row["value"] for part in reader.partitions(start, end) for row in rows_of(reader.read(part))]
    return json.loads(json.dumps(end)), texts


def rows_of(batches: Iterator[Any]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def gone(folder: Path) -> None:
    (folder / "a.nq").unlink()


def made_anew(folder: Path) -> None:
    for name in "abc":
        (folder / f"{name}.nq").unlink()
    (folder / "b.nq").write_bytes(nquads(range(3)))


def renamed(folder: Path) -> None:
    (folder / "a.nq").rename(folder / "aa.nq")


def cut(folder: Path) -> None:
    (folder / "c.nq").write_bytes(nquads(range(1)))


def appended_to_a_whole_file(folder: Path) -> None:
    with open(folder / "c.nq.gz", "ab") as file:
        file.write(gzip.compress(nquads(range(1))))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (gone, "of the 3 files that were read, up to .*c.nq, 1 are gone"),
        (made_anew, "3 files that were read, up to .*c.nq, 2 are gone"),
        (renamed, "the files up to .*c.nq are others than those that were read"),
        (cut, "c.nq has .* bytes, and had .* when it was read"),
        (appended_to_a_whole_file, "c.nq.gz has .* bytes, and had .* when it was read"),
    ],
)
def test_files_that_were_read_and_are_no_longer_there_are_told(
    harm: Callable[[Path], None], said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from spaseq.runtime.spark.sources.files import FilesStreamReader

    for number, name in enumerate("abc"):
        (tmp_path / f"{name}.nq").write_bytes(nquads(range(4 * number, 4 * number + 4)))
    if harm is appended_to_a_whole_file:
        (tmp_path / "c.nq").unlink()
        (tmp_path / "c.nq.gz").write_bytes(gzip.compress(nquads(range(8, 12))))
    options = SourceOptions(path=str(tmp_path), text=True)
    here, texts = read_up(FilesStreamReader(options), FilesStreamReader(options).initialOffset())
    assert names_of(texts) == named(range(12))
    harm(tmp_path)
    (tmp_path / "d.nq").write_bytes(nquads(range(20, 22)))
    for use in (
        lambda: read_up(FilesStreamReader(options), here),
        lambda: FilesStreamReader(options).partitions(here, here),
    ):
        with pytest.raises(RunError, match=said):
            use()
    skipping = FilesStreamReader(replace(options, on_data_loss="skip"))
    there, texts = read_up(skipping, here)
    assert names_of(texts) == named(range(20, 22))
    assert re.search(said, caplog.text)
    assert read_up(FilesStreamReader(options), there) == (there, [])


def test_files_of_a_micro_batch_that_is_run_again_are_told_if_they_are_gone(tmp_path: Path) -> None:
    from spaseq.runtime.spark.sources.files import FilesStreamReader

    for name in "ab":
        (tmp_path / f"{name}.nq").write_bytes(nquads(range(2)))
    reader = FilesStreamReader(SourceOptions(path=str(tmp_path)))
    start = reader.initialOffset()
    end, _ = read_up(reader, start)
    (tmp_path / "a.nq").unlink()
    with pytest.raises(RunError, match=r"of the 2 files that were read, up to .*b\.nq, 1 are gone"):
        reader.partitions(start, end)


def test_input_after_the_end_of_a_stream_is_told(tmp_path: Path) -> None:
    from spaseq.runtime.spark.sources.files import FilesStreamReader

    def reader(*, end: bool = True) -> FilesStreamReader:
        made = FilesStreamReader(SourceOptions(path=str(tmp_path), text=True, end=end))
        made.prepareForTriggerAvailableNow()
        return made

    (tmp_path / "a.nq").write_bytes(nquads(range(2)))
    here, _ = read_up(reader(), reader().initialOffset())
    ended, texts = read_up(reader(), here)
    assert texts == [b"#!spaseq end\n"] and read_up(reader(), ended) == (ended, [])
    with pytest.raises(RunError, match="has ended for this checkpoint: begin with a new checkpoint"):
        read_up(reader(end=False), ended)
    (tmp_path / "b.nq").write_bytes(nquads(range(2, 4)))
    with pytest.raises(RunError, match="has ended for this checkpoint, and there is more input now"):
        read_up(reader(), ended)


def test_the_checkpoint_of_an_earlier_version_is_checked_by_what_it_has(tmp_path: Path) -> None:
    from spaseq.runtime.spark.sources.files import FilesStreamReader

    (tmp_path / "a.nq").write_bytes(nquads(range(2)))
    reader = FilesStreamReader(SourceOptions(path=str(tmp_path), text=True))
    old = {
        "file": str(tmp_path / "a.nq"),
        "byte": (tmp_path / "a.nq").stat().st_size,
        "line": 6,
        "files": 1,
        "ended": False,
    }
    (tmp_path / "b.nq").write_bytes(nquads(range(2, 4)))
    _, texts = read_up(reader, old)
    assert names_of(texts) == named(range(2, 4))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "has no input"),
        ({"path": "a", "host": "b"}, "exclude each other"),
        ({"path": "a", "colour": "b"}, "no option 'colour'"),
        ({"subscribe": "a"}, "needs kafka.bootstrap.servers"),
        ({"path": "a", "maxBytesPerTrigger": "0"}, "no number from 1"),
        ({"path": "a", "rdfFormat": "rdfxml"}, "unknown format 'rdfxml'"),
        ({"host": "a", "port": "1", "rdfFormat": "turtle"}, "a socket sends lines of N-Quads"),
    ],
)
def test_options_that_cannot_be_used_are_named(given: dict[str, str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_options(given)


def collected(spark: Any, folder: Path, options: dict[str, str], **trigger: Any) -> list[tuple[int, Any]]:
    """The rows of a streaming run with their micro-batches, kept in files as a restart would find them."""
    found: list[tuple[int, Any]] = []

    def keep(frame: Any, number: int) -> None:
        found.extend((number, row) for row in frame.collect())

    events = spark.readStream.format("spaseq").options(**options).load()
    query = (
        events.writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(folder))
        .trigger(**(trigger or {"availableNow": True}))
        .start()
    )
    assert query.awaitTermination(600)
    return found


@pytest.fixture(scope="module")
def source(spark: Any) -> Any:
    from spaseq.runtime.spark.sources import register

    register(spark)
    return spark


def test_a_batch_of_files_is_a_static_dataframe(source: Any, tmp_path: Path) -> None:
    (tmp_path / "a.nq").write_bytes(nquads(range(400)))
    (tmp_path / "b.nq.gz").write_bytes(gzip.compress(nquads(range(400, 500))))
    frame = source.read.format("spaseq").option("maxPartitionBytes", 10_000).option("text", "true")
    rows = frame.load(str(tmp_path)).collect()
    assert len(rows) == 9
    assert names_of([bytes(row.value) for row in rows]) == named(range(500))
    assert {row.format for row in rows} == {"nquads"}


def test_text_left_in_its_file_gives_the_same_matches(source: Any, tmp_path: Path) -> None:
    (tmp_path / "a.nq").write_bytes(nquads(range(140)))
    (tmp_path / "b.trig").write_bytes(trig(range(140, 200)))
    (tmp_path / "c.nq").write_bytes(b"#!spaseq end\n")
    query = parse(
        """SELECT ?o WITHIN 1 MINUTES FROM STREAM S1 <urn:s1>
        WHERE { SEQ(A) DEFINE GPM A ON S1 { ?s <urn:p0>|<urn:p> ?o } }""",
        "each",
    )
    found = []
    for text in ("true", "false"):
        frame = source.read.format("spaseq").option("maxPartitionBytes", 10_000).option("text", text)
        frame = frame.load(str(tmp_path))
        left = frame.where("value is null").select("source", "first_byte").collect()
        assert bool(left) == (text == "false") and all(row.first_byte is not None for row in left)
        matches = spaseq.spark.run(source, query, {"S1": frame}, shards=1).collect()
        found.append({(row.events[0].graphs[0], row.o) for row in matches})
    assert found[0] == found[1] and {graph for graph, _ in found[0]} == set(named(range(200)))


def test_a_folder_is_read_within_limits_and_goes_on_after_a_restart(source: Any, tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    (folder / "a.nq").write_bytes(nquads(range(200)))
    options = {"path": str(folder), "maxBytesPerTrigger": "20000", "text": "true"}
    first = collected(source, tmp_path / "checkpoint", options)
    assert len({number for number, _ in first}) >= 2
    (folder / "b.trig").write_bytes(trig(range(200, 205)))
    second = collected(source, tmp_path / "checkpoint", {**options, "end": "true"})
    assert names_of([bytes(row.value) for _, row in first]) == named(range(200))
    assert [bytes(row.value) for _, row in second][-1] == b"#!spaseq end\n"
    assert names_of([bytes(second[0][1].value)], second[0][1].format) == named(range(200, 205))
    assert collected(source, tmp_path / "checkpoint", {**options, "end": "true"}) == []


@pytest.fixture
def brokers() -> Iterator[str]:
    yield from cluster()


@pytest.fixture
def other_brokers() -> Iterator[str]:
    """To the reader, the same cluster after all of its topics were deleted and made again."""
    yield from cluster()


def cluster() -> Iterator[str]:
    """Kafka's protocol, served by librdkafka itself; the cluster lives as long as its producer."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1})
    metadata = producer.list_topics(timeout=PATIENCE_S)
    (broker,) = metadata.brokers.values()
    yield f"{broker.host}:{broker.port}"
    producer.flush(5)


def produce(brokers: str, topic: str, numbers: range) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": brokers})
    for number in numbers:
        text = "\n".join(event_lines(number))
        producer.produce(topic, text, partition=number % 2)
    assert producer.flush(10) == 0


def test_kafka_messages_come_once_each_over_restarts(source: Any, tmp_path: Path, brokers: str) -> None:
    options = {"kafka.bootstrap.servers": brokers, "subscribe": "events", "maxOffsetsPerTrigger": "30"}
    produce(brokers, "events", range(80))
    first = collected(source, tmp_path / "checkpoint", options)
    produce(brokers, "events", range(80, 100))
    second = collected(source, tmp_path / "checkpoint", {**options, "end": "true"})
    texts = [bytes(row.value) for _, row in first + second]
    assert texts.pop() == b"#!spaseq end\n"
    assert len({number for number, _ in first}) == 3
    assert sorted(names_of(texts)) == sorted(named(range(100)))
    static = source.read.format("spaseq").options(**options).load().collect()
    assert sorted(names_of([bytes(row.value) for row in static])) == sorted(named(range(100)))


def kafka_reader(brokers: str, **more: Any) -> Any:
    from spaseq.runtime.spark.sources.kafka import KafkaStreamReader

    return KafkaStreamReader(SourceOptions(brokers=brokers, topics=("events",), **more))


@pytest.mark.parametrize("count", [3, 30])
def test_a_topic_that_was_made_anew_is_told_however_far_it_has_come(
    brokers: str, other_brokers: str, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    produce(brokers, "events", range(10))
    here, texts = read_up(kafka_reader(brokers), kafka_reader(brokers).initialOffset())
    assert sorted(names_of(texts)) == sorted(named(range(10)))
    assert read_up(kafka_reader(brokers), here) == (here, [])
    produce(other_brokers, "events", range(100, 100 + count))
    said = "the topic was made anew"
    for use in (lambda reader: read_up(reader, here), lambda reader: reader.partitions(here, here)):
        with pytest.raises(RunError, match=said):
            use(kafka_reader(other_brokers))
    there, texts = read_up(kafka_reader(other_brokers, on_data_loss="skip"), here)
    assert sorted(names_of(texts)) == sorted(named(range(100, 100 + count)))
    assert said in caplog.text
    assert read_up(kafka_reader(other_brokers), there) == (there, [])


def test_messages_past_retention_are_told(brokers: str, caplog: pytest.LogCaptureFixture) -> None:
    from confluent_kafka import Producer

    produce(brokers, "events", range(10))
    reader = kafka_reader(brokers)
    start = reader.initialOffset()
    here, _ = read_up(reader, start)
    long = Producer({"bootstrap.servers": brokers})
    for number in range(80):  # a partition of the mock keeps 5 MB
        long.produce("events", "\n".join([*event_lines(200 + number), "#" + "x" * 100_000]), partition=0)
    assert long.flush(20) == 0
    with pytest.raises(RunError, match=r"messages 5 to \d+ of events\[0\] are no longer kept"):
        read_up(kafka_reader(brokers), here)
    with pytest.raises(RunError, match=r"messages 0 to \d+ of events\[0\] are no longer kept"):
        kafka_reader(brokers).partitions(start, here)
    with pytest.raises(RunError, match=r"messages 2 to \d+ of events\[0\] are no longer kept"):
        given = kafka_reader(brokers, starting_offsets='{"events": {"0": 2}}')
        read_up(given, given.initialOffset())
    _, texts = read_up(kafka_reader(brokers, on_data_loss="skip"), here)
    kept = names_of(texts)
    assert kept == named(range(280 - len(kept), 280)) and 30 < len(kept) < 60
    assert "are no longer kept" in caplog.text


def test_a_job_on_spark_ends_with_what_it_has_lost_or_goes_on_without_it(
    source: Any, tmp_path: Path, brokers: str, other_brokers: str
) -> None:
    produce(brokers, "events", range(20))
    options = {"subscribe": "events", "kafka.bootstrap.servers": brokers}
    collected(source, tmp_path / "checkpoint", options)
    produce(other_brokers, "events", range(30, 70))
    options["kafka.bootstrap.servers"] = other_brokers
    with pytest.raises(PySparkException, match="is another one: the topic was made anew"):
        collected(source, tmp_path / "checkpoint", options)
    found = collected(source, tmp_path / "checkpoint", {**options, "onDataLoss": "skip"})
    assert sorted(names_of([bytes(row.value) for _, row in found])) == sorted(named(range(30, 70)))


@pytest.mark.parametrize(
    ("lost", "kept"),
    [
        (("events[1] is no longer there",), {"events": {"0": 0}}),
        (("messages 0 to 2 of events[2] are no longer kept",), {"events": {"0": 4, "1": 6, "2": 3}}),
        ((), {"events": {"0": 4, "1": 6}, "others": {"0": 0}}),
    ],
)
def test_partitions_that_are_gone_or_new_are_told(lost: tuple[str, ...], kept: dict[str, dict[str, int]]) -> None:
    bounds = {
        topic: {number: (low if number == "2" else 0, 9) for number, low in found.items()}
        for topic, found in kept.items()
    }
    place = KafkaPlace({"events": {"0": 4, "1": 6}})
    assert tuple(place.lost(bounds, {})) == lost
    assert place.kept(bounds, {}).next == kept


def test_a_socket_gives_whole_events_and_then_the_end(source: Any, tmp_path: Path) -> None:
    text = nquads(range(50))
    sent = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for part in (text[:1000], text[1000:1033], text[1033:]):
                    connection.sendall(part)
                    sent.wait(0.4)

        thread = threading.Thread(target=serve)
        thread.start()
        found: list[Any] = []
        events = source.readStream.format("spaseq").options(host="127.0.0.1", port=str(port)).load()
        query = (
            events.writeStream.foreachBatch(lambda frame, _: found.extend(frame.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        try:
            for _ in range(300):
                query.processAllAvailable()
                if found and bytes(found[-1].value).startswith(b"#!spaseq end"):
                    break
        finally:
            query.stop()
            thread.join()
    texts = [bytes(row.value) for row in found]
    assert texts.pop() == b"#!spaseq end\n"
    assert names_of(texts) == named(range(50))


def test_offsets_are_plain_json() -> None:
    place = FilePosition("a.nq", 12, 3, 1, True)
    assert FilePosition.of(json.loads(json.dumps(place.offset()))) == place
