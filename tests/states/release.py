"""What a release writes, for the tests of every later one: `python -m tests.states.release FOLDER`.

FOLDER/engine/NAME.state        the state of an engine, by the options that it was made with
FOLDER/service.tar.gz           the data folder of a service that was ended; killed-service.tar.gz: before that
FOLDER/spark.tar.gz             the checkpoint of a job that was stopped; spark.rows: what it finds in the other half

Each has read the first half of `EVENTS`. It is run once, with the code of the release, and its folder is then kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import spaseq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spaseq.service.core.service import Service

EX = "http://ex.org/"
STREAMS = {"S": f"{EX}s", "T": f"{EX}t"}
KNOWN = f"{EX}kb"
KNOWLEDGE = "".join(f"<{EX}k{n}> <{EX}kind> <{EX}{'even' if n % 2 == 0 else 'odd'}> .\n" for n in range(3))
_STEP = "DEFINE GPM {name} ON {stream} {{ ?{name}x :{verb} ?k ; :v ?{name}v {more} }}"


def _step(name: str, more: str = "", stream: str = "S") -> str:
    return _STEP.format(name=name, stream=stream, verb=name.lower(), more=more)


def _query(select: str, within: str, sequence: str, *steps: str, streams: str = "S", after: str = "") -> str:
    read = " ".join(f"FROM STREAM {name} <{STREAMS.get(name, EX + name.lower())}>" for name in streams)
    defined = "\n  ".join(steps)
    head = f"PREFIX : <{EX}>\n{select}\nWITHIN {within} {read}\n"
    return f"{head}WHERE {{ SEQ({sequence})\n  {defined}\n}} {after}"


A, B, C = _step("A"), _step("B"), _step("C")
QUERIES = {
    "chain": _query("SELECT ?k ?Av ?Cv", "40 SECONDS SLIDING", "A : B : C", A, B, C),
    "conditions": _query("SELECT ?k ?Bv", "40 SECONDS SLIDING", "A ; B+ ; C", A, _step("B", "FILTER(?Bv > ?Av)"), C),
    "subsets": _query("SELECT MAX ?k (SUM(?Bv) AS ?sum)", "30 SECONDS", "A : B+ : C", A, B, C),
    "members": _query("SELECT ?k ?Av ?Bv ?Cv", "20 SECONDS SLIDING", "ALL(A, B, C)", A, B, C),
    "negated": _query("SELECT ?k ?Av", "25 SECONDS", "A ; B!", A, B),
    "limited": _query("SELECT ?Av ?Cv", "60 SECONDS SLIDING", "A ; B! ; WITHIN 9 SECONDS C", A, B, C),
    "first": _query("SELECT ?k", "40 SECONDS SLIDING", "A : C", A, C, after="AFTER MATCH SKIP PAST LAST EVENT"),
    "distinct": _query("SELECT DISTINCT ?k", "50 SECONDS SLIDING", "A : C", A, C, after="LIMIT 3"),
    "counted": _query("SELECT OVER MATCHES ?k (COUNT(*) AS ?n)", "40 SECONDS SLIDING", "A : B : C", A, B, C,
                      after="GROUP BY ?k"),
    "grouped": _query("SELECT OVER MATCHES ?k (COUNT(*) AS ?n) (SUM(?Av + ?Bv) AS ?s)", "30 SECONDS", "A : B", A, B,
                      after="GROUP BY ?k"),
    "hopping": _query("SELECT OVER MATCHES ?k (COUNT(*) AS ?n)", "30 SECONDS EVERY 10 SECONDS", "A : C", A, C,
                      after="GROUP BY ?k"),
    "lanes": _query("SELECT MAX OVER MATCHES ?k (COUNT(*) AS ?n)", "30 SECONDS EVERY 10 SECONDS", "A : B+", A, B,
                    after="GROUP BY ?k"),
    "parts": _query("SELECT ?k ?Av ?Bv", "40 SECONDS SLIDING PARTITION BY ?k", "A , B", A, B),
    "two": _query("SELECT ?k ?Av ?Bv", "40 SECONDS SLIDING", "A : B", A, _step("B", stream="T"), streams="ST"),
    "made": _query(f"REGISTER STREAM <{EX}d> AS CONSTRUCT {{ ?k :sum ?Av , ?Cv }}", "30 SECONDS", "A : C", A, C),
    "reads": _query("SELECT ?k ?v ?w", "40 SECONDS SLIDING", "X ; Y", "DEFINE GPM X ON D { ?k :sum ?v }",
                    "DEFINE GPM Y ON D { ?k :sum ?w }", streams="D"),
    "both": _query("SELECT ?k ?v ?Bv", "60 SECONDS SLIDING", "X ; B", "DEFINE GPM X ON D { ?k :sum ?v }",
                   _step("B", stream="T"), streams="DT"),
}  # fmt: skip
"""Queries whose states are of all kinds, some of which make and read a stream."""
KNOWING = {
    "knowing": _query(
        "SELECT ?k ?Av", "40 SECONDS SLIDING", "A : B", A, _step("B", f"GRAPH <{KNOWN}> {{ ?k :kind :even }}")
    ),
    "enriched": _query(
        "SELECT ?k ?c",
        "40 SECONDS SLIDING",
        "A ; B",
        _step("A", f"OPTIONAL {{ GRAPH <{KNOWN}> {{ ?k :kind ?c }} }}"),
        B,
    ),
}
KNOWING = {name: text.replace("WHERE", f"FROM NAMED <{KNOWN}> WHERE") for name, text in KNOWING.items()}
"""Queries that ask a knowledge base; the release joined matches of the second with it."""
PLACE = "/PLACE"
"""Stands for a job's folder in its checkpoint."""
SPARK = ("chain", "conditions", "negated", "parts", "made", "reads")
"""Queries of the job on Spark."""
ENGINES: dict[str, dict[str, Any]] = {
    "auto": {},
    "kernels": {"compiled": True},
    "columns": {"compiled": False},
    **{name: {"evaluator": name} for name in ("nfa", "cea", "lazy", "tree", "adaptive")},
}
"""The options of engines whose states are kept."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the stream with this name, as Turtle and as N-Quads say it."""

    stream: str
    second: int
    name: str
    subject: str
    verb: str
    key: str
    value: int

    @property
    def turtle(self) -> str:
        """Its graph."""
        return f"<{self.subject}> <{EX}{self.verb}> <{self.key}> ; <{EX}v> {self.value} ."

    @property
    def nquads(self) -> str:
        """Its graph and its time."""
        xsd, prov = "http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/ns/prov#generatedAtTime"
        return (
            f'<{self.name}> <{prov}> "{self.time}"^^<{xsd}dateTime> .\n'
            f"<{self.subject}> <{EX}{self.verb}> <{self.key}> <{self.name}> .\n"
            f'<{self.subject}> <{EX}v> "{self.value}"^^<{xsd}integer> <{self.name}> .\n'
        )

    @property
    def time(self) -> str:
        """Its time, as xsd:dateTime."""
        return f"2026-01-01T00:{self.second // 60:02d}:{self.second % 60:02d}Z"


def _events() -> Iterator[Event]:
    dice = Random(5)
    for number in range(120):
        verb = "abcb"[int(dice.random() * 4)]
        stream = "T" if verb == "b" and dice.random() < 0.4 else "S"
        key, value = int(dice.random() * 3), int(dice.random() * 11)
        yield Event(stream, 2 * number, f"urn:e{number}", f"{EX}x{number}", verb, f"{EX}k{key}", value)


EVENTS = tuple(_events())
HALF = len(EVENTS) // 2


def readable(name: str, options: dict[str, Any]) -> bool:
    """Whether an engine with these options runs the query."""
    engine = spaseq.Engine(**options)
    try:
        engine.register(spaseq.parse(QUERIES[name], name))
    except spaseq.InputError:
        return False
    finally:
        engine.close()
    return True


def pushed(engine: spaseq.Engine, events: Sequence[Event]) -> None:
    """Let an engine read events."""
    read = dict(engine.pushed_streams())
    for event in events:
        if event.stream in read:
            engine.push(event.stream, event.turtle, event.time, event.name)


def engine_of(options: dict[str, Any], on_match: Any = None) -> spaseq.Engine:
    """An engine with all queries that it runs."""
    engine = spaseq.Engine(max_delay_ns=3 * 10**9, history=True, **options)
    for name, text in QUERIES.items():
        if readable(name, options):
            engine.register(spaseq.parse(text, name), on_match)
    return engine


def paused_half(engine: spaseq.Engine) -> None:
    """Let an engine read the first half of the events, and pause two queries in the middle of it."""
    pushed(engine, EVENTS[: HALF // 2])
    for each in engine.registrations:
        if each.name in ("chain", "negated"):
            each.pause()
    pushed(engine, EVENTS[HALF // 2 : HALF])


def write_engines(folder: Path) -> None:
    """The states of engines, each with two paused queries."""
    folder.mkdir(parents=True)
    for name, options in ENGINES.items():
        engine = engine_of(options)
        paused_half(engine)
        (folder / f"{name}.state").write_bytes(engine.snapshot())
        engine.close(flush=False)


def bodies(events: Sequence[Event]) -> list[tuple[str, bytes]]:
    """Streams and N-Quads, in order."""
    parts = groupby(events, key=lambda event: event.stream)
    return [(name, "".join(event.nquads for event in some).encode()) for name, some in parts]


def served(folder: Path, known: Path) -> Service:
    """A service with all queries, over a folder that is not there yet."""
    from spaseq.service.core.service import Service
    from spaseq.service.settings.configuration import Limits
    from spaseq.service.settings.knowledge import KnowledgeSettings
    from spaseq.service.settings.queries import QueryChanges
    from spaseq.service.settings.streams import StreamSettings

    service = Service.open(folder, Limits())
    for name, iri in STREAMS.items():
        service.put_stream(name, StreamSettings(iri, max_delay="3s"))
    service.put_kb("known", KnowledgeSettings(KNOWN, path=str(known)))
    for name, text in {**QUERIES, **KNOWING}.items():
        service.put_query(name, QueryChanges(text))
    return service


def write_service(folder: Path) -> None:
    """The data folder of a service that has taken a snapshot and read on: as a kill leaves it, and ended."""
    with TemporaryDirectory() as place:
        known = Path(place, "kb.nt")
        known.write_text(KNOWLEDGE)
        service = served(Path(place, "data"), known)
        for stream, body in bodies(EVENTS[: HALF // 2]):
            service.accept(stream, body, "nquads")
        service.settled()
        service.pause("chain")
        service.snapshot()
        for stream, body in bodies(EVENTS[HALF // 2 : HALF]):
            service.accept(stream, body, "nquads")
        service.settled()
        _packed(Path(place, "data"), folder / "killed-service.tar.gz")
        service.close()
        _packed(Path(place, "data"), folder / "service.tar.gz")


def job(spark: SparkSession, folder: Path, more: str, **options: Any) -> list[str]:
    """Run the job in a folder until it has read all files there, and one more; the rows that it finds, sorted."""
    import spaseq.spark

    inputs, found = folder / "in", list[str]()
    inputs.mkdir(exist_ok=True)
    (inputs / f"{len(list(inputs.iterdir()))}.nq").write_text(more)
    spaseq.spark.register(spark)
    frame = spark.readStream.format("spaseq").load(str(folder / "in"))
    queries = [spaseq.parse(QUERIES[name], name) for name in SPARK]
    outcomes = spaseq.spark.run(spark, queries, {"S": frame}, shards=2, **options)

    def take(batch: Any, number: int) -> None:
        found.extend(map(str, batch.collect()))

    writer = outcomes.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return sorted(found)


def moved(checkpoint: Path, before: str, now: str) -> None:
    """Let a checkpoint, and the folder beside it that its job reads, be at another place."""
    for name in ("offsets/0", "state/0/_metadata/v2/0"):
        path = checkpoint / name
        *head, last = path.read_text().replace(before, now).split("\n")
        if name == "offsets/0":
            last = json.dumps({**json.loads(last), "names": ""})  # a digest of where the files were
        path.write_text("\n".join([*head, last]))
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def on_spark(events: Sequence[Event]) -> str:
    """The events that the job reads, as N-Quads."""
    return "".join(event.nquads for event in events if event.stream == "S")


def write_spark(folder: Path) -> None:
    """The checkpoint of a job that has read the first half of the events."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    with TemporaryDirectory() as place:
        job(spark, Path(place), on_spark(EVENTS[:HALF]), compiled=False)
        moved(Path(place, "checkpoint"), place, PLACE)
        _packed(Path(place, "checkpoint"), folder / "spark.tar.gz")
        moved(Path(place, "checkpoint"), PLACE, place)
        found = job(spark, Path(place), on_spark(EVENTS[HALF:]), compiled=False)
        (folder / "spark.rows").write_text("".join(f"{row}\n" for row in found))
    spark.stop()


def _packed(folder: Path, path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, arcname=folder.name)


def main() -> None:
    """Write them all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder = parser.parse_args().folder
    write_engines(folder / "engine")
    write_service(folder)
    write_spark(folder)


if __name__ == "__main__":
    sys.exit(main())
