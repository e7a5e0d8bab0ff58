"""Both stages without Spark: the same functions, driven micro-batch by micro-batch, every shard restored each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spaseq.algebra.build import build
from spaseq.engine import staged
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Knowledge
from spaseq.engine.streams import resolve_streams
from spaseq.inputs.texts import InputText
from spaseq.lang.ast import Query
from spaseq.outputs.dead_letters import DeadLetter
from spaseq.outputs.rows import Row
from spaseq.runtime.spark.shard import ShardOutput, without_hidden
from spaseq.runtime.spark.shuffle_blocks import ShuffleBlock
from spaseq.runtime.spark.tasks import Task
from spaseq.runtime.zero_rows.tally import Tally, TaskTally

Rows = Sequence[InputText]
MicroBatch = Mapping[str, Sequence[Rows]]
"""For each stream, by name, the rows of each of its tasks."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came out, in no order between shards."""

    rows: list[Row]
    letters: list[DeadLetter]
    states: list[int]
    outcomes: list[ShardOutput]
    merged: list[tuple[int, int]]


def job_of(
    queries: Sequence[Query],
    streams: Sequence[str],
    shards: int,
    delay_ns: int,
    static: bool,
    kb: Knowledge | None = None,
    evaluator: str = "auto",
    compiled: bool = False,
) -> staged.StagedJob:
    """A job as `spaseq.spark.outcomes` makes it; `streams` are names."""
    meanings = [build(query) for query in queries]
    keys = {iri: key for iri, (_, key) in resolve_streams(meanings, {name: name for name in streams}).items()}
    options = RunOptions(evaluator=evaluator, max_delay_ns=delay_ns, compiled=compiled, optimise=False)
    plans = staged.planned(meanings, shards, evaluator, compiled)
    return staged.StagedJob(plans, kb or {}, options, keys, shards, static)


def run_stages(
    job: staged.StagedJob,
    batches: Sequence[MicroBatch],
    rdf_format: str = "nquads",
    rows: str = "auto",
    states: dict[int, bytes] | None = None,
    first: int = 0,
    tally: Tally | None = None,
) -> Found:
    """The outcomes of all micro-batches from number `first` on, which change `states`, and are counted by `tally`.

    Static: all blocks go to each shard at once.
    """
    found = Found([], [], [], [], [])
    states = {} if states is None else states
    held: dict[int, list[ShuffleBlock]] = {}
    shards, taken = staged.Shards(job), 0
    for number, batch in enumerate(batches, first):
        blocks = blocks_of(job, number, batch, rdf_format, rows, tally)
        for shard in sorted({block.shard for block in blocks}):
            own = [block for block in blocks if block.shard == shard]
            if job.static:
                held.setdefault(shard, []).extend(own)
                continue
            running = shards.shard(shard)
            if shard in states:
                running.restore(states[shard])
            _collect(found, running.process(own))
            states[shard] = running.snapshot()
            found.states.append(len(states[shard]))
        _merge(job, found, taken)
        taken = len(found.outcomes)
    for shard, own in held.items():
        _collect(found, staged.Shards(job).shard(shard).process(own, last=True))
    _merge(job, found, taken)
    if tally is not None:
        for output in found.outcomes:
            tally.add(output.tally())
        tally.add(Tally(rows=len(found.merged)))
    return found


def blocks_of(
    job: staged.StagedJob,
    number: int,
    batch: MicroBatch,
    rdf_format: str = "nquads",
    rows: str = "auto",
    tally: Tally | None = None,
) -> list[ShuffleBlock]:
    """What stage 1 makes of a micro-batch."""
    blocks: list[ShuffleBlock] = []
    for place, (iri, name) in enumerate(sorted(job.names.items())):
        source = staged.stream_input(job, place, iri, rdf_format, rows)
        for task, own in enumerate(batch.get(name, ())):
            partitioner, dictionary, bases = staged.shard_partitioner(staged.reading(job, iri), iri)
            label = f"{number}.{task}"
            shift = number << 16 if job.static else 0
            counted = partitioner.tally = TaskTally(iri, (number, task), dictionary, partitioner.needs)
            made = list(Task(source, partitioner, dictionary, bases, task + shift, label).blocks(own))
            if tally is not None:
                tally.add(counted.result(ended=any(block.ended for block in made)))
            blocks += made
            bases.close()
    return blocks


def _merge(job: staged.StagedJob, found: Found, first: int) -> None:
    """The third stage of one micro-batch, over the outcomes from number `first` on."""
    units: dict[tuple[int, int], list[bytes]] = {}
    for outcome in found.outcomes[first:]:
        for each in outcome.written:
            units.setdefault((each.query, each.unit), []).append(each.blob)
    for (query, unit), blobs in sorted(units.items()):
        assert (query, unit) not in found.merged, "a unit is merged once"
        found.merged.append((query, unit))
        found.rows.extend(staged.Mergers(job).rows(query, blobs))


def _collect(found: Found, outcomes: ShardOutput) -> None:
    found.rows.extend(without_hidden(row)[0] for _, rows in outcomes.found for row in rows)
    found.letters.extend(outcomes.letters)
    found.outcomes.append(outcomes)
