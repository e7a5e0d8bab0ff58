"""Before anything runs: queries compiled, inputs found, everything named supplied."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kb.access import Access
from kb.base import KnowledgeBases, may_entail
from kb.errors import KnowledgeBaseError
from kb.source import Source
from sparql_gpm.algebra.traversal import exists_in, walk
from sparql_gpm.background import BackgroundError
from sparql_gpm.bounds import Exceeded
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.labels import PatternLabel
from sparql_gpm.matching.unseen import Unseen
from sparql_gpm.pattern import Graph, Pattern, Service, Variable
from sparql_gpm.shared import Entailed, PatternPool
from sparql_gpm.terms import IRI
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.arguments import check_knowledge
from spaseq.engine.kernels import KernelsThatPay, background_kernels
from spaseq.engine.options import RunOptions
from spaseq.errors import InputError, RunError
from spaseq.inputs.graphs import graph_batch, is_graph
from spaseq.optimise.driver import NothingProven, Optimised, optimise
from spaseq.outputs.dead_letters import DeadLetter, left_out_letter
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from spaseq.runtime.embedded.dormant import DormantOperator, may_sleep
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.stages.pattern_stage import PatternStage
from spaseq.runtime.stages.sequence_stage import SequenceStage
from spaseq.runtime.zero_rows.observed import Observed

if TYPE_CHECKING:
    from kb.base import Base

_EXCHANGED = "it may be put again while the query runs"
_NOTHING: Mapping[str, Iterable[str]] = {}
ZERO_ROWS_QUERIES_MAX = 5
"""Queries without a row of which the reason is looked for."""

Knowledge = Mapping[str, Any]
"""Of each knowledge base, by IRI, the path of its files or the URL of its endpoint, or a Source that says more; or a
Graph or Store of rdflib, or a Store of pyoxigraph, as it is when queries are set up."""


class Setup:
    """Compiles queries against one dictionary and some knowledge bases.

    queries     those that will be compiled, None: not known yet; triples that they cannot use are not kept
    bases       the knowledge bases, loaded before by a setup for the same arguments
    operators   what queries become
    changing    knowledge bases are exchanged while queries run: nothing is proven about them

    Raises InputError for a knowledge base or an option that cannot be used.
    """

    def __init__(
        self,
        kb: Knowledge,
        options: RunOptions,
        dictionary: Dictionary,
        queries: Sequence[TemporalQuery] | None = None,
        bases: KnowledgeBases | None = None,
        operators: type[QueryOperator] = QueryOperator,
        changing: bool = False,
    ) -> None:
        if options.runtime != "embedded":
            raise InputError(
                f"this version has no runtime '{options.runtime}'",
                hint="leave --runtime out: queries run in this process",
            )
        self._options = options
        self._operators, self._changing = operators, changing
        self._dictionary = dictionary
        self.evaluator = ExpressionEvaluator(dictionary)
        self.pool = PatternPool(dictionary, self.evaluator, options.match_bounds, self._leave_out)
        self._letters: list[DeadLetter] = []
        self._named: dict[tuple[frozenset[str], frozenset[str]], KnowledgeBases] = {}

        def usable(iri: str) -> Collection[Pattern] | None:
            return None if queries is None else _queried_at(iri, queries)

        graphs = {iri: given for iri, given in kb.items() if is_graph(given)}
        with _told_to_the_user():
            access, located = Access.to(options.allow_hosts), {iri: kb[iri] for iri in kb if iri not in graphs}
            self.bases = (
                bases
                if bases is not None
                else KnowledgeBases.load(
                    located, dictionary, self.evaluator, access=access, usable=usable, progress=options.loading
                )
            )
        for number, (iri, given) in enumerate(graphs.items()):
            self.bases.supply_graph(iri, graph_batch(given, iri, f"kg{number}", dictionary))

    def optimised(self, query: TemporalQuery) -> Optimised:
        """The query as it is run, and why; raises InputError for a knowledge base that cannot be used."""
        with _told_to_the_user():
            return optimise(query, NothingProven(_EXCHANGED) if self._changing else self.background(query))

    def operator(self, query: TemporalQuery, max_runs: int | None = None) -> QueryOperator:
        """The query, planned and ready; raises InputError for a knowledge base that it names and nobody supplies.

        max_runs    its partial matches; None: as the options say
        """
        with _told_to_the_user():
            return self._planned(query, max_runs).wake()

    def live_operator(self, query: TemporalQuery, max_runs: int | None = None) -> QueryOperator | DormantOperator:
        """As `operator`, dormant until the first event touches it where that makes no difference."""
        with _told_to_the_user():
            planned = self._planned(query, max_runs)
            asleep = may_sleep(planned.plan) and not query.knowledge and not endpoints_of(query)
            asleep = asleep and not self._options.analyze
            return planned if asleep else planned.wake()

    def _planned(self, query: TemporalQuery, max_runs: int | None = None) -> DormantOperator:
        """The query, with its patterns in the pool."""
        background = self.background(query)
        if self._options.optimise:
            query = self.optimised(query).query
        compiled = compile_program(query, max_runs or self._options.max_runs)
        plan = plan_query(compiled, self._options.evaluator, self._options.compiled)
        patterns = PatternStage(plan.compiled, plan.conjunctions, self.pool, background, self.entailed)
        if self._options.analyze:
            from spaseq.runtime.funnel.counting import counting

            patterns.counting = counting(plan.compiled.query, self.pool, background)
            plan = replace(plan, row_events_max=0, shares=False)
        return DormantOperator(plan, patterns, background, self._operator)

    def _operator(self, planned: DormantOperator) -> QueryOperator:
        plan, patterns = planned.plan, planned.patterns
        kernels = KernelsThatPay(background_kernels()) if self._options.analyze else background_kernels()
        dictionary, background = self._dictionary, planned.background
        with dictionary.pins() as pins:
            try:
                sequence = SequenceStage(plan, dictionary, self.evaluator, background, self.pool, kernels=kernels)
            except BackgroundError:
                patterns.release()
                dictionary.unpin(pins)
                raise
        needs = [named.shared.matcher.needs for named in patterns.patterns]
        scopes = [sorted(symbol.scope) for symbol in plan.compiled.program.symbols]
        observed = Observed(scopes, Unseen(needs, dictionary), patterns.narrowed)
        release = partial(dictionary.unpin, pins)
        if self._options.analyze:
            from spaseq.runtime.embedded.counted_operator import CountedOperator
            from spaseq.runtime.funnel.counting import Counting

            assert isinstance(patterns.counting, Counting), patterns.counting
            return CountedOperator(plan, patterns, sequence, observed, release, patterns.counting.tally, lost=True)
        return self._operators(plan, patterns, sequence, observed, release)

    def zero_rows(
        self, network: Network, lost: Mapping[str, int], left_out: Mapping[str, Iterable[str]] = _NOTHING
    ) -> list[str]:
        """At most five lines on the queries without a row.

        lost        the events that none read, by reason
        left_out    properties of triples that were not read, by stream
        """
        some, silent = network.silent(ZERO_ROWS_QUERIES_MAX)
        if not silent:
            return []
        from spaseq.explain.zero_rows import zero_rows_lines
        from spaseq.runtime.zero_rows.causes import Watched, zero_rows

        known = []
        for operator in some:
            assert isinstance(operator.patterns, PatternStage) and operator.observed is not None
            needs = [named.shared.matcher.needs for named in operator.patterns.patterns]
            for _, iri in operator.query.streams:
                operator.observed.unseen.vocabulary.add_properties(left_out.get(iri, ()))
            watched = Watched(operator.query, operator.observed, needs)
            found = zero_rows(watched, lost, self._dictionary, self.evaluator)
            if self._options.analyze:
                from spaseq.engine.funnels import with_funnel
                from spaseq.runtime.embedded.counted_operator import CountedOperator

                assert isinstance(operator, CountedOperator), operator
                found = with_funnel(found, operator.query, operator.tally)
            known.append(found)
        return zero_rows_lines(known, silent)

    @property
    def entailed(self) -> Entailed | None:
        """The function that adds to events what follows by the schemas of knowledge bases; None: no schema applies."""
        return self.bases.entailed if self.bases.entails else None

    def letters(self) -> list[DeadLetter]:
        """The letters of events that exceeded a bound since the last call."""
        letters, self._letters = self._letters, []
        return letters

    def _leave_out(self, label: PatternLabel, batch: EventBatch, exceeded: Exceeded) -> None:
        self._letters.append(left_out_letter(label, batch, exceeded, self._dictionary))

    def supply(self, iri: str, source: Source) -> Base | None:
        """Add a knowledge base, or use another one for the IRI: queries that are planned from now on see it.

        Returns the one that it replaces, to be closed when no query uses it.
        """
        with _told_to_the_user():
            replaced = self.bases.supply(iri, source)
        self._named.clear()
        return replaced

    @contextmanager
    def over_older(self, older: Mapping[str, Base]) -> Iterator[None]:
        """Plan over older knowledge bases, by IRI; `supply` returned each of them when it replaced it."""
        if not older:
            yield
            return
        now = self.bases, self._named
        self.bases, self._named = self.bases.with_older(older), {}
        try:
            yield
        finally:
            self.bases, self._named = now

    def background(self, query: TemporalQuery) -> KnowledgeBases:
        """The knowledge bases that a query names: one object for all queries that name the same."""
        endpoints = endpoints_of(query)
        named = frozenset(query.knowledge), frozenset(endpoints)
        if named not in self._named:
            self._named[named] = self.bases.named(query.knowledge, endpoints)
        return self._named[named]


def endpoints_of(query: TemporalQuery) -> tuple[str, ...]:
    """The IRIs that SERVICE names, each once, in the order written."""
    services = (node.endpoint for node in _parts(query) if isinstance(node, Service))
    return tuple(dict.fromkeys(endpoint.value for endpoint in services if isinstance(endpoint, IRI)))


def _queried_at(iri: str, queries: Sequence[TemporalQuery]) -> tuple[Pattern, ...]:
    """The patterns that some query evaluates over a knowledge base; a variable stands for all knowledge bases."""
    found: dict[Pattern, None] = {}
    for node in (node for query in queries for node in _parts(query)):
        match node:
            case Graph(name, inner) if isinstance(name, Variable) or name == IRI(iri):
                found[inner] = None
            case Service(endpoint, inner) if endpoint == IRI(iri):
                found[inner] = None
    return tuple(found)


def _parts(query: TemporalQuery) -> Iterator[Pattern]:
    for pattern in query.patterns:
        yield from walk(pattern.pattern)
        for condition in pattern.conditions:
            for exists in exists_in(condition):
                yield from walk(exists.pattern)


@contextmanager
def _told_to_the_user() -> Iterator[None]:
    """Before anything runs, a knowledge base that cannot be used is wrong input."""
    try:
        yield
    except BackgroundError as error:
        raise _visible(error, InputError) from error


class BatchOver:
    """A slice of work over one state of the knowledge bases; raises RunError when one of them fails in it."""

    def __init__(self, bases: KnowledgeBases) -> None:
        self._bases = bases

    def __enter__(self) -> None:
        try:
            self._bases.refresh()
        except KnowledgeBaseError as error:
            raise _visible(error, RunError) from error

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, BackgroundError):
            raise _visible(error, RunError) from error


def _visible(error: BackgroundError, kind: type[InputError | RunError]) -> InputError | RunError:
    """The error of background knowledge as one that a user sees."""
    return kind(error.located, hint=error.hint) if isinstance(error, KnowledgeBaseError) else kind(str(error))


def skipped_rows(bases: KnowledgeBases) -> dict[str, int]:
    """For each endpoint that failed and was to be skipped, how many rows were joined with nothing."""
    return {iri: asked.skipped_rows for iri, asked in bases.counts().items() if asked.skipped_rows}


def named_knowledge(queries: Sequence[TemporalQuery], kb: Knowledge) -> dict[str, Any]:
    """The knowledge bases that some query names, or whose schemas apply to events; no other is read."""
    check_knowledge(kb)
    named = {iri for query in queries for iri in (*query.knowledge, *endpoints_of(query))}
    return {
        iri: given
        for iri, given in kb.items()
        if iri in named or (queries and not is_graph(given) and may_entail(given))
    }
