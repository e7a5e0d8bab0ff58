"""States divided among more shards give the rows of a job that always had that many."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import spaseq.spark
from sparql_gpm.terms import IRI, BlankNode, Term, TripleTerm
from spaseq.algebra.build import build
from spaseq.algebra.distribution import distribution
from spaseq.cli import main
from spaseq.engine.rescaling import rescaled
from spaseq.errors import InputError, RunError
from spaseq.lang.parse import parse
from spaseq.runtime.spark import checkpoints
from spaseq.runtime.spark.hadoop import HadoopFiles
from spaseq.runtime.spark.placement import key_of
from tests.drawn import drawn
from tests.driving import comparable
from tests.reference.api import evaluate
from tests.spark.pipeline import job_of, run_stages
from tests.spark.test_job_record import TEXT
from tests.spark.test_job_record import _event as event
from tests.spark.test_stages import _able, _micro_batches
from tests.strategies.keyed import keyed_queries
from tests.strategies.late import late_queries
from tests.strategies.query import queries
from tests.strategies.stream import batches, cuts, interleaved, late, streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PAIRS = drawn(60)
ONE = """PREFIX : <http://ex.org/> SELECT ?k WITHIN 9 SECONDS FROM STREAM S1 <http://ex.org/s1>
    WHERE { SEQ(A , B) DEFINE GPM A ON S1 { ?x :a ?k } DEFINE GPM B ON S1 { ?y :b ?k } }"""

ABSENT = """PREFIX : <http://ex.org/> SELECT ?k WITHIN 60 SECONDS SLIDING FROM STREAM S1 <http://ex.org/s1>
    WHERE { SEQ(A ; B!) DEFINE GPM A ON S1 { ?x :a ?k } DEFINE GPM B ON S1 { ?y :b ?k } }"""
SECOND = 1_000_000_000


@given(st.data())
@settings(max_examples=PAIRS)
def test_a_divided_state_gives_the_rows_of_the_reference(data: st.DataObject) -> None:
    kinds = st.one_of(queries(), late_queries(), keyed_queries())
    text = data.draw(kinds.filter(lambda text: bool(distribution(build(parse(text))).key)))
    query = parse(text, "q")
    names = [stream.name for stream in query.streams]
    arrivals = {name: events for name, events in data.draw(streams()).items() if name in names}
    delay = data.draw(st.sampled_from((0, 3))) * SECOND
    disordered = {name: data.draw(late(events, delay)) for name, events in arrivals.items()} if delay else arrivals
    arrived = interleaved(disordered) if not delay else [(n, *e) for n, events in disordered.items() for e in events]
    blocks = batches(arrived, data.draw(cuts(len(arrived))))
    before, after = data.draw(st.sampled_from(((1, 4), (2, 8), (3, 6))))
    evaluator = data.draw(st.sampled_from(_able(query)))
    micro = _micro_batches(blocks, names, 1)
    cut = data.draw(st.integers(1, len(micro)))
    note(f"{text}\n{before} to {after} after {cut} of {len(micro)}, {evaluator}, delay {delay}")
    states: dict[int, bytes] = {}
    rows = run_stages(job_of([query], names, before, delay, False, None, *evaluator), micro[:cut], states=states).rows
    wide = job_of([query], names, after, delay, False, None, *evaluator)
    states = divided(states, after)
    rows = rows + run_stages(wide, micro[cut:], states=states, first=cut).rows
    assert Counter(map(comparable, rows)) == Counter(map(comparable, evaluate(query, arrivals)))


def divided(states: dict[int, bytes], shards: int) -> dict[int, bytes]:
    """The states, by number, of so many shards."""
    if not states:
        return {}
    found = rescaled({key_of(number): blob for number, blob in states.items()}, shards).states
    return {number: found[key_of(number)] for number in range(shards) if key_of(number) in found}


def test_what_waits_for_an_absence_is_reported_by_the_shard_of_its_key_alone() -> None:
    for end in ("PARTITION BY ?k FROM", "FROM"):
        query = parse(ABSENT.replace("FROM", end, 1), "q")
        events = [("S1", n * SECOND, f"urn:e{n}", frozenset({_triple(n)})) for n in range(9)]
        states: dict[int, bytes] = {}
        micro = _micro_batches([events], ["S1"], 1)
        assert run_stages(job_of([query], ["S1"], 2, 0, False), micro[:1], states=states).rows == []
        states = divided(states, 8)
        found = run_stages(job_of([query], ["S1"], 8, 0, False), micro[1:], states=states, first=1).rows
        assert len(found) == 9 and len({row.bindings for row in found}) == 9


@pytest.mark.parametrize("inside", [False, True])
def test_a_blank_node_is_the_key_of_the_same_shard_in_both_stages(inside: bool) -> None:
    text = ABSENT if inside else ABSENT.replace("?x :a ?k", "?k :a ?x").replace("?y :b ?k", "?k :b ?y")
    query = parse(text, "q")
    x, a, nodes = IRI("urn:x"), IRI("http://ex.org/a"), [BlankNode(f"b{n}") for n in range(20)]
    triples = [(x, a, TripleTerm(x, a, node)) if inside else (node, a, x) for node in nodes]
    events = [("S1", n * SECOND, f"urn:e{n}", frozenset({triple})) for n, triple in enumerate(triples)]
    micro, states = _micro_batches([events], ["S1"], 2), dict[int, bytes]()
    assert run_stages(job_of([query], ["S1"], 2, 0, False), micro[:1], states=states).rows == []
    found = run_stages(job_of([query], ["S1"], 8, 0, False), micro[1:], states=divided(states, 8), first=1).rows
    assert sorted(row.start // SECOND for row in found) == list(range(20))


def _triple(number: int) -> tuple[Term, Term, Term]:
    return IRI("urn:x"), IRI("http://ex.org/a"), IRI(f"urn:k{number}")


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_states_are_not_put_together(shards: int) -> None:
    job = job_of([parse(ONE.replace(",", ";"), "q")], ["S1"], 2, 0, False)
    states: dict[int, bytes] = {}
    run_stages(job, _micro_batches([], ["S1"], 1), states=states)
    with pytest.raises(InputError, match=f"the state of 2 shards cannot be divided among {shards}") as caught:
        divided(states, shards)
    assert caught.value.hint.startswith("a multiple: 4, 6, 8")


def test_a_query_with_one_shard_is_said_to_have_nothing_to_divide() -> None:
    states: dict[int, bytes] = {}
    run_stages(job_of([parse(ONE, "q")], ["S1"], 2, 0, False), _micro_batches([], ["S1"], 1), states=states)
    with pytest.raises(InputError, match="nothing to divide: query 'q' has one shard: `,` needs the very next event"):
        divided(states, 4)


class Job:
    """A job over a folder that grows, started again and again from one checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        spaseq.spark.register(spark)
        self._spark, self._folder, self._files = spark, folder, 0
        self.checkpoint = str(folder / "state")
        (folder / "in").mkdir()

    def start(self, shards: int) -> tuple[StreamingQuery, list[str]]:
        """The query, and the values of ?n of the rows that it finds."""
        spaseq.spark.complete_rescaling(self._spark, self.checkpoint)
        frame = self._spark.readStream.format("spaseq").load(str(self._folder / "in"))
        found: list[str] = []
        outcomes = spaseq.spark.run(self._spark, parse(TEXT, "q0"), {"S1": frame}, shards=shards, compiled=False)
        writer = outcomes.writeStream.foreachBatch(lambda batch, _: found.extend(row.n for row in batch.collect()))
        writer = writer.option("checkpointLocation", self.checkpoint)
        return writer.trigger(availableNow=True).start(), found

    def run(self, shards: int, verb: str) -> list[str]:
        """The values of ?n, once six more events are read."""
        events = (event(8 * self._files + i, verb).replace("org/x>", f"org/x{i}>") for i in range(6))
        (self._folder / "in" / f"{self._files}.nq").write_text("".join(events), encoding="utf-8")
        self._files += 1
        query, found = self.start(shards)
        query.awaitTermination()
        return sorted(found)


SIX = [f'"{n}"' for n in range(6)]


def test_a_checkpoint_is_whole_whatever_step_of_rescaling_breaks_off(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job(spark, tmp_path)
    assert job.run(2, "on") == []
    for place, step in ((checkpoints, "_rows"), (HadoopFiles, "rename")):
        with monkeypatch.context() as broken:
            broken.setattr(place, step, _killed)
            with pytest.raises(Exception, match="killed"):
                spaseq.spark.rescale(spark, job.checkpoint, 4)
    assert job.run(2, "off") == SIX
    with monkeypatch.context() as broken:
        rename = HadoopFiles.rename
        broken.setattr(
            HadoopFiles,
            "rename",
            lambda files, old, new: _killed() if old.endswith(".rescaling") else rename(files, old, new),
        )
        with pytest.raises(RuntimeError, match="killed"):
            spaseq.spark.rescale(spark, job.checkpoint, 4)
    assert not Path(job.checkpoint).exists()
    with pytest.raises(InputError, match=r"the state of 4 shards cannot be divided among 6"):
        spaseq.spark.rescale(spark, job.checkpoint, 6)
    assert job.run(4, "off") == SIX, "a command that was killed before its last step is completed by the job"
    with pytest.raises(SystemExit) as done:
        main(["spark", "rescale", job.checkpoint, "--shards", "8"])
    told = capsys.readouterr().err
    assert not done.value.code and f"when it runs, remove {job.checkpoint}.4-shards" in told, told
    assert len([folder for folder in Path(job.checkpoint, "state", "0").iterdir() if folder.name.isdigit()]) == 8


def _killed(*arguments: object) -> None:
    raise RuntimeError("killed")


def test_what_cannot_be_rescaled_is_said(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing is not the checkpoint of a job"):
        spaseq.spark.rescale(spark, str(tmp_path / "nothing"), 4)
    with pytest.raises(RunError, match='No FileSystem for scheme "nowhere"'):
        spaseq.spark.rescale(spark, "nowhere://bucket/state", 4)
    other = spark.readStream.format("rate").load().writeStream.format("noop")
    other.option("checkpointLocation", str(tmp_path / "other")).trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(InputError, match=r"other has no states of SPAseq's shards|other runs, or its last"):
        spaseq.spark.rescale(spark, str(tmp_path / "other"), 4)
    job = Job(spark, tmp_path)
    job.run(2, "on")
    last = max((Path(job.checkpoint) / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    text = last.read_bytes()
    last.unlink()
    with pytest.raises(InputError, match="runs, or its last micro-batch is not complete"):
        spaseq.spark.rescale(spark, job.checkpoint, 4)
    last.write_bytes(text)
    Path(f"{job.checkpoint}.2-shards").mkdir()
    with pytest.raises(InputError, match=r"state.2-shards is there already"):
        spaseq.spark.rescale(spark, job.checkpoint, 4)
