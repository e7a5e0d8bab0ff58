"""The reason why a job of two stages gave no row, from the tally of all of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from automata.slices.events import Events, SymbolSolutions
from automata.values import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matching.needs import ANYTHING, Need, Needs
from sparql_gpm.matching.unseen import Unseen
from sparql_gpm.terms import Term
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.funnels import with_funnel
from spaseq.engine.setup import ZERO_ROWS_QUERIES_MAX
from spaseq.engine.staged import PlannedQuery, StagedJob
from spaseq.engine.staged_funnels import funnel_tally
from spaseq.explain.zero_rows import ZeroRows, zero_rows_lines
from spaseq.outputs.dead_letters import LATE
from spaseq.runtime.zero_rows.causes import Watched, zero_rows
from spaseq.runtime.zero_rows.observed import Observed
from spaseq.runtime.zero_rows.tally import JobStep, KeptEvents, Tally, TermNeed


def staged_zero_rows(job: StagedJob, tally: Tally) -> list[str]:
    """At most five lines on why a job that has ended gave no row; none if it gave some."""
    if tally.rows:
        return []
    known = [_known(job, plan, tally) for plan in job.plans[:ZERO_ROWS_QUERIES_MAX]]
    return zero_rows_lines(known, len(job.plans))


def _known(job: StagedJob, plan: PlannedQuery, tally: Tally) -> ZeroRows:
    """The facts about one query."""
    dictionary, query = Dictionary(), plan.query
    needs = [_needs(tally, JobStep(plan.number, symbol), dictionary) for symbol in range(len(query.patterns))]
    watched = Watched(query, _observed(plan, tally, needs, dictionary), needs)
    found = zero_rows(watched, tally.lost, dictionary, ExpressionEvaluator(dictionary))
    if job.options.analyze:
        found = with_funnel(found, query, funnel_tally(plan, tally))
    if tally.first:
        return replace(found, stuck=None, looked_at=None, continued=True)
    given = {iri for _, iri in query.streams if iri in job.names}
    return replace(found, open=not job.static and not given <= tally.ended)


def _needs(tally: Tally, step: JobStep, dictionary: Dictionary) -> Needs:
    alternatives = tally.needs.get(step)
    if alternatives is None:
        return ANYTHING
    return tuple(frozenset(_need(each, dictionary) for each in alternative) for alternative in alternatives)


def _need(need: TermNeed, dictionary: Dictionary) -> Need:
    subject, target = (None if term is None else dictionary.pin(term) for term in (need.subject, need.object))
    return Need(dictionary.pin(need.predicate), subject, target)


def _observed(plan: PlannedQuery, tally: Tally, needs: Sequence[Needs], dictionary: Dictionary) -> Observed:
    """Return what the query has seen, in ids of the dictionary."""
    unseen = Unseen(needs, dictionary)
    unseen.needs -= {_need(each, dictionary) for each in tally.met}
    unseen.vocabulary.properties, unseen.vocabulary.classes = tally.properties, tally.classes
    scopes = [sorted(symbol.scope) for symbol in plan.plan.compiled.program.symbols]
    observed = Observed(scopes, unseen, {})
    streams = {iri: position for position, (_, iri) in enumerate(plan.query.streams)}
    if tally.kept is not None and not tally.lost[LATE]:  # shards leave late events out, which stage 1 has counted
        own = [each for each in tally.kept if each.iri in streams]
        observed.on_slice(*_merged(own, plan, streams, dictionary))
        return observed
    observed.whole = False
    observed.events.update({streams[iri]: count for iri, count in tally.events.items() if iri in streams})
    observed.solutions.update({s: tally.solutions[JobStep(plan.number, s)] for s in range(len(needs))})
    observed.last_time = max((time for iri, time in tally.last.items() if iri in streams), default=None)
    return observed


def _merged(
    kept: Sequence[KeptEvents], plan: PlannedQuery, streams: Mapping[str, int], dictionary: Dictionary
) -> tuple[Events, dict[int, SymbolSolutions]]:
    """The events in merged order, and by symbol the solutions."""
    events = sorted(
        (time, streams[each.iri], each.place, number, part)
        for part, each in enumerate(kept)
        for number, time in enumerate(each.times)
    )
    places = {(part, number): place for place, (_, _, _, number, part) in enumerate(events)}
    times, positions = (np.array([each[n] for each in events], dtype=np.int64) for n in (0, 1))
    query = plan.query
    tables = {
        symbol: _table(kept, JobStep(plan.number, symbol), query, places, dictionary)
        for symbol in range(len(query.patterns))
    }
    return Events(times, positions), tables


def _table(
    kept: Sequence[KeptEvents],
    step: JobStep,
    query: TemporalQuery,
    places: Mapping[tuple[int, int], int],
    dictionary: Dictionary,
) -> SymbolSolutions:
    """The solutions of a step, by event."""
    names = query.patterns[step.symbol].variables
    rows = []
    for part, each in enumerate(kept):
        own = each.solutions.get(step)
        if own is not None:
            columns = [
                [_id(term, dictionary) for term in own.values.get(name, [None] * len(own.events))] for name in names
            ]
            rows += [(places[part, event], [c[n] for c in columns]) for n, event in enumerate(own.events)]
    rows.sort(key=lambda row: row[0])
    cells = np.array([values for _, values in rows], dtype=np.int64).reshape(len(rows), len(names))
    at = np.array([place for place, _ in rows], dtype=np.int64)
    order = {name: number for number, name in enumerate(query.variables)}
    return SymbolSolutions(at, {order[name]: np.ascontiguousarray(cells[:, n]) for n, name in enumerate(names)})


def _id(term: Term | None, dictionary: Dictionary) -> int:
    return UNBOUND if term is None else dictionary.intern(term)
