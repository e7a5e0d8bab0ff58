"""Queries made ready for two stages in many processes: matching, which has no state, and sequences, which have.

A `StagedJob` is a value that goes to the workers; there each stage is built from it. Both stages must agree on what a
query means, so nothing in it depends on what a worker sees: queries are not rewritten, and which evaluator runs each is
decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from automata.plan.program import RUNS_MAX
from kb.base import KnowledgeBases
from kb.source import Source
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.counted_matcher import compile_counted
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.pattern import Variable
from spaseq.algebra.build import build
from spaseq.algebra.distribution import Distribution, distribution, negated_symbols
from spaseq.algebra.nodes import AnyQuery, Column, TemporalQuery
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Knowledge, Setup, named_knowledge
from spaseq.engine.stream_formats import check_names, contexts_of, stream_format
from spaseq.engine.streams import prefixes_of
from spaseq.errors import InputError, RunError
from spaseq.inputs.graphs import is_graph
from spaseq.inputs.paths import is_elsewhere, plain
from spaseq.inputs.storage import local_copy
from spaseq.lang.canonical import canonical_text
from spaseq.outputs.rows import Row
from spaseq.physical.plan import PhysicalPlan
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from spaseq.runtime.embedded.counted_operator import CountedOperator
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.funnel.counting import ordered_steps
from spaseq.runtime.funnel.tally import FunnelTally
from spaseq.runtime.spark.job_record import JobRecord, RecordedQuery
from spaseq.runtime.spark.shard import HIDDEN, KEY_COLUMN, PARTITION_COLUMN, Shard
from spaseq.runtime.spark.shard_partitioner import QueryPartitioning, ShardPartitioner, StepPattern, stable_hash
from spaseq.runtime.spark.solutions import SolvedPatterns, mark
from spaseq.runtime.spark.tasks import StreamInput
from spaseq.runtime.stages.groups import TooManyGroups
from spaseq.runtime.stages.merged_units import UnitMerger, WrittenUnits
from spaseq.runtime.stages.partition_values import partition_values
from spaseq.runtime.stages.pattern_solver import label_of
from spaseq.runtime.stages.pattern_stage import PatternStage
from spaseq.runtime.stages.sequence_stage import SequenceStage


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """One query of a job.

    number      which query of the job it is
    text        canonical
    plan        of stage 2; its query has hidden columns for the values of PARTITION BY
    home        its shard, if it has only one
    derived     positions in FROM of the streams that other queries of the job make
    """

    number: int
    text: str
    plan: PhysicalPlan
    distribution: Distribution
    home: int
    derived: tuple[int, ...]

    @property
    def query(self) -> TemporalQuery:
        """Its meaning."""
        return self.plan.compiled.query

    @property
    def graphs(self) -> bool:
        """True if its conditions read the graphs of events."""
        return self.plan.compiled.keeps_graphs

    def position(self, iri: str) -> int | None:
        """Of a stream in FROM; None if the query does not read it."""
        return next((number for number, (_, stream) in enumerate(self.query.streams) if stream == iri), None)

    @property
    def looks(self) -> bool:
        """True if stage 2 needs its patterns."""
        return self.graphs or bool(self.derived)


@dataclass(frozen=True, slots=True)
class StagedJob:
    """The queries of a job and their options.

    plans   of the queries, as `planned` makes them
    kb      paths and URLs that mean the same on every worker
    names   of the input streams, by IRI; derived streams are not among them
    static  the input is all there: nothing is late
    """

    plans: tuple[PlannedQuery, ...]
    kb: Knowledge
    options: RunOptions
    names: Mapping[str, str]
    shards: int
    static: bool

    def setup(
        self, plans: Sequence[PlannedQuery], dictionary: Dictionary, bases: KnowledgeBases | None = None
    ) -> Setup:
        """Some of the queries and their knowledge bases, loaded unless given; InputError for one that is of no use."""
        queries = [plan.query for plan in plans]
        named = named_knowledge(queries, self.kb) if bases is None else {}
        known = {iri: _here(iri, given) for iri, given in named.items()}
        return Setup(known, self.options, dictionary, queries, bases)


def _here(iri: str, given: Any) -> Source:
    """The knowledge base, copied to this machine from another file system; InputError for one that may change."""
    if is_graph(given):
        raise InputError(f"knowledge base <{iri}> is a graph of this process", hint="on Spark it is a path or a URL")
    source = Source.of(given)
    if not is_elsewhere(source.location):
        return replace(source, location=plain(source.location))
    if source.refresh_s is not None:
        hint = "leave out --kb-refresh, and start the job again when it has changed; or give a path of this machine"
        raise InputError(f"{source.location}, the knowledge base <{iri}>, is copied when a job starts", hint=hint)
    return replace(source, location=local_copy(source.location))


def planned(
    queries: Sequence[AnyQuery], shards: int, evaluator: str = "auto", compiled: bool = False, max_runs: int = RUNS_MAX
) -> tuple[PlannedQuery, ...]:
    """The plans of a job; queries that feed each other share a shard. InputError if the evaluator cannot run one."""
    meanings = [build(query) for query in queries]
    made = {meaning.register for meaning in meanings if meaning.register}
    found = []
    for number, meaning in enumerate(meanings):
        derived = tuple(position for position, (_, iri) in enumerate(meaning.streams) if iri in made)
        own = distribution(meaning)
        home = stable_hash([meaning.name.encode()]) % shards
        if derived or meaning.register:
            reason, home = "queries that feed each other share a shard", 0
            own = replace(own, key=(), reason=reason, merged=False)
        shown = _with_key(meaning, () if own.merged else own.key)
        plan = plan_query(compile_program(shown, max_runs), evaluator, compiled).in_columns()
        found.append(PlannedQuery(number, canonical_text(meaning.parsed), plan, own, home, derived))
    return tuple(found)


def check(job: StagedJob) -> None:
    """Raises InputError for a job that cannot run, on the machine that starts it: the workers see the same inputs."""
    check_names(job.options, (*job.names, *job.names.values()))
    if job.options.analyze and (derived := next((plan.query.name for plan in job.plans if plan.derived), None)):
        hint = "without --runtime spark every event is counted"
        raise InputError(f"query '{derived}' reads what another one derives, which is not counted on Spark", hint=hint)
    setup = replace(job, options=replace(job.options, compiled=False)).setup(job.plans, Dictionary())
    try:
        network = Network(Dictionary(), 0)
        for plan in job.plans:
            network.add(setup.operator(plan.query), lambda rows: None)
    finally:
        setup.bases.close()


def variables(job: StagedJob) -> list[str]:
    """The projected variables of the queries, in order."""
    names = (column.name for plan in job.plans for column in plan.query.columns)
    return [name for name in names if not name.startswith(HIDDEN)]


def record(job: StagedJob) -> JobRecord:
    """The record of a job in its checkpoint."""
    queries = tuple(RecordedQuery(each.query.name, each.text, each.distribution.merged) for each in job.plans)
    return JobRecord(queries, tuple(sorted(job.names)), job.shards)


def stream_input(job: StagedJob, number: int, iri: str, rdf_format: str, rows: str) -> StreamInput:
    """The input of stage 1 for a stream."""
    options = job.options
    reading = options.time_reading(prefixes_of(plan.query for plan in job.plans))
    delay = None if job.static else options.max_delay_ns
    how = stream_format(options, (job.names[iri], iri), reading)
    return StreamInput(
        number, iri, job.names[iri], how.name or rdf_format, rows, reading, options.batch_events_for(1), delay,
        options.strict, job.shards, bool(options.compiled), options.max_line,
        how, contexts_of(options),
    )  # fmt: skip


def reading(job: StagedJob, iri: str) -> StagedJob:
    """The part of a job that reads a stream: all that `shard_partitioner` needs of it."""
    return replace(job, plans=tuple(plan for plan in job.plans if plan.position(iri) is not None))


def shard_partitioner(job: StagedJob, iri: str) -> tuple[ShardPartitioner, Dictionary, KnowledgeBases]:
    """Stage 1 for a stream, its dictionary, and the knowledge bases that it asks; InputError if one cannot be used."""
    dictionary = Dictionary()
    setup = job.setup(job.plans, dictionary)
    queries = []
    for plan in job.plans:
        query, position = plan.query, plan.position(iri)
        assert position is not None, iri
        background = setup.background(query)
        negated = negated_symbols(query.sequence)
        ordered = ordered_steps(query) if job.options.analyze else []
        steps = tuple(
            StepPattern(
                symbol,
                compile_pattern(pattern.pattern, dictionary, setup.evaluator, background, pattern.conditions),
                mark(dictionary, plan.number, symbol),
                pattern.variables,
                symbol in negated,
                replace(label_of(query, symbol), streams=((job.names[iri], iri),)),  # the one stream of stage 1
                compile_counted(pattern.pattern, ordered[symbol], dictionary, setup.evaluator, background)
                if symbol < len(ordered)
                else None,
            )
            for symbol, pattern in enumerate(query.patterns)
            if position in pattern.streams
        )
        own = plan.distribution
        queries.append(
            QueryPartitioning(
                plan.number,
                steps,
                own.key,
                plan.home,
                own.whole_order,
                plan.graphs,
                query.template is not None,
                setup.entailed,
                partition_values(query, [{name: name for name in in_scope(p.pattern)} for p in query.patterns]),
            )
        )
    return ShardPartitioner(queries, job.shards, dictionary, job.options.match_bounds), dictionary, setup.bases


class Shards:
    """Stage 2 of a job in one process: its shards, one at a time, and the knowledge bases, loaded once for all of them.

    A shard, and its output, are valid until the next one is asked for. Like every run, it looks for changed files of
    knowledge bases where `refresh_s` says so.
    """

    def __init__(self, job: StagedJob) -> None:
        self._job = job
        self._dictionary = Dictionary()
        if job.options.compiled:
            self._dictionary.table()
        self._bases: KnowledgeBases | None = None

    def shard(self, number: int) -> Shard:
        """A shard without a past; raises InputError for a knowledge base that cannot be used."""
        job, dictionary = self._job, self._dictionary
        dictionary.retain([])
        setup = job.setup([plan for plan in job.plans if plan.looks], dictionary, self._bases)
        self._bases = setup.bases
        marks = [[mark(dictionary, p.number, s) for s in range(len(p.query.patterns))] for p in job.plans]
        every = [identifier for own in marks for identifier in own]
        written = {plan.number: WrittenUnits(dictionary) for plan in job.plans if plan.distribution.merged}
        operators = {
            plan.number: _operator(plan, own, every, setup, dictionary, written.get(plan.number), job)
            for plan, own in zip(job.plans, marks, strict=True)
            if plan.distribution.key or plan.home == number
        }
        counted = {number: each for number, each in operators.items() if isinstance(each, CountedOperator)}
        return Shard(
            number, operators.values(), dictionary, job.names, job.options.max_delay_ns, record(job),
            setup.letters, setup.bases, written, counted,
        )  # fmt: skip

    def close(self) -> None:
        """Closes the connections and files of the knowledge bases."""
        if self._bases is not None:
            self._bases.close()


class Mergers:
    """The last stage of a job in one process: rows of OVER MATCHES from units that shards have written."""

    def __init__(self, job: StagedJob) -> None:
        self._job = job

    def rows(self, query: int, blobs: Sequence[bytes]) -> list[Row]:
        """The rows of a unit of the query with this number; RunError for more groups than are allowed."""
        plan, dictionary = self._job.plans[query], Dictionary()
        setup = self._job.setup([], dictionary)
        try:
            return UnitMerger(plan.plan.compiled, dictionary, setup.evaluator).rows(blobs)
        except TooManyGroups as reason:
            raise RunError(f"query '{plan.query.name}' was stopped: {reason}", hint=TooManyGroups.hint) from reason
        finally:
            setup.bases.close()


def _operator(
    plan: PlannedQuery,
    marks: Sequence[int],
    all_marks: Sequence[int],
    setup: Setup,
    dictionary: Dictionary,
    written: WrittenUnits | None,
    job: StagedJob,
) -> QueryOperator:
    compiled = plan.plan.compiled
    background = setup.background(plan.query) if plan.looks else None
    patterns = None
    if background is not None and plan.derived:
        patterns = PatternStage(compiled, (), setup.pool, background, setup.entailed)
    solved = SolvedPatterns(compiled, marks, all_marks, plan.derived, patterns)
    sequence = SequenceStage(plan.plan, dictionary, setup.evaluator, background, setup.pool, written)
    if job.options.analyze:
        tells_lost = (
            job.static and not plan.distribution.key
        )  # events of other shards are not tried; states are without it
        return CountedOperator(plan.plan, solved, sequence, None, lambda: None, FunnelTally(()), tells_lost)
    return QueryOperator(plan.plan, solved, sequence)


def _with_key(query: TemporalQuery, key: Sequence[str]) -> TemporalQuery:
    """The query with hidden columns for the values of PARTITION BY, or else of the key of its shards.

    A group of OVER MATCHES is of no partition; the key of its shards is part of GROUP BY.
    """
    if query.template is not None:
        return query
    of_partition = query.partition and query.over is None
    prefix, names = (PARTITION_COLUMN, query.partition) if of_partition else (KEY_COLUMN, key)
    hidden = tuple(Column(f"{prefix}{name}", Variable(name)) for name in names)
    return replace(query, columns=query.columns + hidden)
