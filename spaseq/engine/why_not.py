"""`spaseq.why_not`: the reasons why there is no match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from automata.plan.program import Selector, Skip
from sparql_gpm.errors import PatternSyntaxError
from sparql_gpm.parse import parse_expression
from sparql_gpm.pattern import Constant
from sparql_gpm.terms import XSD, Literal, Term
from sparql_gpm.times import parse_time
from spaseq.algebra.nodes import AnyQuery, TemporalQuery
from spaseq.algebra.partitions import partition_variable
from spaseq.engine.arguments import meanings_of
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Knowledge
from spaseq.engine.why import RecordedJob, around, asked_query
from spaseq.engine.why_groups import of_matches
from spaseq.engine.why_not_in_groups import in_groups, in_windows
from spaseq.errors import InputError
from spaseq.inputs.terms import own_term
from spaseq.outputs.attempts import Attempt, Fault, WhyNot
from spaseq.outputs.rows import Row, StepEvents
from spaseq.runtime.why.analysis import Analysis, described
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.furthest import Asked, Furthest
from spaseq.runtime.why.reasons import events_of, matches_of
from spaseq.runtime.why.runs import Run, seen_from
from spaseq.runtime.why.waiting import Watermarks, waits_for_decision, with_waiting

_REMOVED_MAX = 10
"""Matches that a selector, AFTER MATCH, DISTINCT or LIMIT removed, and that are looked into."""
Pins = Mapping[str, Sequence[str]]
"""By the name of a step, graphs that are among its events."""


def why_not(
    query: AnyQuery | Sequence[AnyQuery],
    streams: Mapping[str, Any],
    kb: Knowledge | None = None,
    *,
    bind: Mapping[str, Any] | None = None,
    events: Mapping[str, str | Sequence[str]] | None = None,
    since: str | None = None,
    until: str | None = None,
    name: str | None = None,
    **options: Any,
) -> WhyNot:
    """The reasons why there is no match with these bindings and events, in this period.

    query       one or several, of which `name` says the one that is meant
    bind        terms by variable: our own, rdflib's or pyoxigraph's, or texts as in the query, its prefixes included
    events      by the name of a step, the graph or graphs that are among its events
    since, until    xsd:dateTimes between which the events of the match lie
    streams, kb, options    as for `spaseq.run`

    Of a query OVER MATCHES the matches of its groups are asked about. Raises InputError for a variable, step, graph or
    time that is none, and for matches in windows of events that overlap (EVERY): no row says which window it is of.
    """
    meanings = meanings_of(query)
    asked = asked_query(meanings, name)
    pins = {step: (names,) if isinstance(names, str) else tuple(names) for step, names in (events or {}).items()}
    least, most = _time("since", since, TIME_NS_MIN), _time("until", until, TIME_NS_MAX)
    terms = {variable: _term(asked, variable, term) for variable, term in (bind or {}).items()}
    _check_steps(asked, pins)
    job = RecordedJob(meanings, streams, kb, RunOptions.of({**options, "optimise": False}))
    try:
        rows = [row for row in job.run() if row.query == asked.name]
        with job.bases_state:
            bounds = around(asked.window, least, most) if least > TIME_NS_MIN or most < TIME_NS_MAX else None
            matches = asked if asked.over is None else of_matches(asked)
            evidence = job.evidence(matches, *(bounds or (TIME_NS_MIN, TIME_NS_MAX)))
            if asked.over is None:
                fitting = [row for row in rows if _fits(row, pins, least, most)]
                return _answer(job, evidence, fitting, terms, pins, (least, most))
            bindings = _numbered(evidence, terms)
            untold = asked.window.in_events and evidence.compiled.lanes
            every = () if untold else in_windows(job, matches)
            grouped = [
                each for each in every if _fits(each.row, pins, least, most) and _has(evidence, each.row, bindings)
            ]
            if grouped and (found := in_groups(job, asked, evidence, rows, grouped)) is not None:
                return found
            return _answer(job, evidence, (), terms, pins, (least, most))
    finally:
        job.close()


def _answer(
    job: RecordedJob,
    evidence: Evidence,
    rows: Sequence[Row],
    terms: Mapping[str, Term],
    pins: Pins,
    period: tuple[int, int],
) -> WhyNot:
    query = evidence.compiled.query
    bindings = _numbered(evidence, terms)
    matches = sum(1 for row in rows if _has(evidence, row, bindings))
    if matches:
        return WhyNot(query.name, matches, ())
    if missing := [named for names in pins.values() for named in names if not evidence.named(named)]:
        return WhyNot(query.name, 0, tuple(_malformed(job, query, pins, named) for named in missing))
    symbols = {pattern.name: symbol for symbol, pattern in enumerate(query.patterns)}
    pinned = {symbols[s]: frozenset(e for n in names for e in evidence.named(n)) for s, names in pins.items()}
    furthest = Furthest(evidence, Asked(bindings, pinned, *period))
    found = furthest.look()
    watermarks = job.watermarks
    going_on = {name: watermarks[iri] for name, iri in query.streams if iri in watermarks}
    if found:
        return WhyNot(query.name, 0, tuple(_removed(job, evidence, run, going_on) for run in found[:_REMOVED_MAX]))
    attempts = Analysis(evidence, furthest, job.delays(query, len(evidence.batch))).attempts()
    shown = with_waiting(evidence, furthest, attempts, going_on) if going_on else attempts
    return WhyNot(query.name, 0, tuple(shown), furthest.left_out, furthest.ended_early)


def _numbered(evidence: Evidence, terms: Mapping[str, Term]) -> dict[int, int]:
    numbers = {variable: number for number, variable in enumerate(evidence.compiled.query.variables)}
    return {numbers[variable]: evidence.dictionary.intern(term) for variable, term in terms.items()}


def _has(evidence: Evidence, row: Row, bindings: Mapping[int, int]) -> bool:
    """True if a match of a row has some bindings."""
    if not bindings:
        return True
    for found in matches_of(evidence, row):
        seen = seen_from(found.run.entries, (), found.search.world.given)
        if all(seen.get(variable) == value for variable, value in bindings.items()):
            return True
    return False


# --- matches that are no rows ---------------------------------------------------------------------------------------


def _stages(query: TemporalQuery) -> Iterator[tuple[str, TemporalQuery, str]]:
    """All that removes matches, one after the other: the cause, the query up to it, and the least change."""
    bare = replace(query, selector=Selector.ALL, skip=Skip.NO_SKIP, skip_to=None, distinct=False, limit=None)
    if query.selector is not Selector.ALL:
        bare = replace(bare, selector=query.selector)
        yield "selector", bare, "SELECT ALL keeps it"
    if query.skip is not Skip.NO_SKIP:
        bare = replace(bare, skip=query.skip, skip_to=query.skip_to)
        yield "skip", bare, "AFTER MATCH NO SKIP keeps it"
    if query.distinct:
        bare = replace(bare, distinct=True)
        yield "distinct", bare, "without DISTINCT it is a row"
    yield "limit-rows", query, f"raise LIMIT {query.limit}"


def _removed(job: RecordedJob, evidence: Evidence, run: Run, going_on: Watermarks) -> Attempt:
    """The attempt of a match that is no row."""
    taken = events_of(evidence, run)
    if any(row.events == taken for row in job.undecided if row.query == evidence.compiled.query.name):
        return described(evidence, run, waits_for_decision(evidence, run, going_on))
    last = max(evidence.merged.times[event] for event in run.events)
    for cause, query, repair in _stages(evidence.compiled.query):
        rows = [each.row for each in in_windows(job, query)]
        if not any(row.events == taken for row in rows):
            kept = _kept(rows, last, run, evidence)
            detail: dict[str, Any] = {} if kept is None else {"kept": dict(kept)}
            if cause == "limit-rows":
                detail["limit"] = query.limit
            elif cause == "selector":
                detail["selector"] = query.selector.value
            return described(evidence, run, Fault(cause, detail, repair))
    raise AssertionError(taken)


def _kept(rows: Sequence[Row], last: int, run: Run, evidence: Evidence) -> StepEvents | None:
    """The events of a row that took the place of a match: of one that shares an event with it, else of its time."""
    own = {evidence.name(event) for event in run.events}
    sharing = [row for row in rows if any(own.intersection(names) for _, names in row.events)]
    same = [row for row in sharing if row.time == last] or [row for row in rows if row.time == last] or sharing
    return same[0].events if same else None


# --- what is asked about --------------------------------------------------------------------------------------------


def _term(query: TemporalQuery, variable: str, given: Any) -> Term:
    names = {name for pattern in query.patterns for name in pattern.variables if not name.endswith("#")}
    if variable not in names or partition_variable(variable) in query.variables:
        known = ", ".join(f"?{name}" for name in sorted(names)) or "none"
        raise InputError(f"no step of query '{query.name}' binds ?{variable}", hint=f"variables: {known}")
    if not isinstance(given, str) or type(given) is not str:
        try:
            return own_term(given)
        except (TypeError, ValueError) as error:
            raise InputError(f"the value of ?{variable} is no term: {error}") from error
    try:
        parsed = parse_expression(given, dict(query.parsed.prefixes), query.parsed.base)
    except PatternSyntaxError as error:
        raise InputError(f"'{given}' for ?{variable} is no term: {error.message}", hint=_WRITE) from error
    if not isinstance(parsed, Constant):
        raise InputError(f"'{given}' for ?{variable} is no term", hint=_WRITE)
    return parsed.term


_WRITE = 'write it as in the query: <http://…>, :name, 14, "text"'


def _time(option: str, text: str | None, otherwise: int) -> int:
    if text is None:
        return otherwise
    try:
        return parse_time(Literal(text, XSD + ("dateTime" if "T" in text else "date")))
    except ValueError as error:
        raise InputError(f"{option} '{text}' is no time: {error}", hint="2026-01-01T00:00:00Z") from error


def _check_steps(query: TemporalQuery, pins: Pins) -> None:
    known = [pattern.name for pattern in query.patterns[: len(query.patterns) - (query.using is not None)]]
    for step in pins:
        if step not in known:
            hint = f"steps: {', '.join(known)}"
            raise InputError(f"query '{query.name}' has no step {step}", hint=hint)


def _fits(row: Row, pins: Pins, least: int, most: int) -> bool:
    taken = dict(row.events)
    named = all(name in taken.get(step, ()) for step, names in pins.items() for name in names)
    return named and least <= row.start and row.time <= most


def _malformed(job: RecordedJob, query: TemporalQuery, pins: Pins, name: str) -> Attempt:
    """The attempt of a graph that no event has; raises InputError if no malformed input names it either."""
    place = job.malformed_place(name)
    if place is None:
        raise InputError(
            f"no event of query '{query.name}' has the graph <{name}>", hint="graphs are named by their IRIs"
        )
    source, line, reason = place
    step = next(step for step, names in pins.items() if name in names)
    detail = {"source": source, "line": line, "reason": reason, "event": name}
    return Attempt((), (), step, name, (Fault("malformed", detail, f"correct line {line} of {source}: {reason}"),))
