"""The reasons of a match: its steps with their lineage and conditions, and its absences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from automata.values import UNBOUND
from sparql_gpm.algebra.describe import expression_text
from sparql_gpm.algebra.scope import expression_variables
from sparql_gpm.lineage import TermTriple, lineage
from sparql_gpm.pattern import Expression, Variable
from sparql_gpm.terms import Term, to_ntriples
from spaseq.algebra.partitions import as_written
from spaseq.algebra.written import elements_written, filter_written
from spaseq.outputs.explanations import Absence, ConditionSeen, StepTaken
from spaseq.outputs.rows import Row, StepEvents
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.graph_name import graph_name
from spaseq.runtime.why.observer import Observer
from spaseq.runtime.why.overlapping import is_match
from spaseq.runtime.why.runs import MATCH, Entry, Gap, Run, Values, seen_from
from spaseq.runtime.why.search import Search, whole
from spaseq.runtime.why.world import World


@dataclass(frozen=True, slots=True)
class Found:
    """A match that was found again."""

    search: Search
    run: Run


class _OfRow(Observer):
    """Takes events of a row only."""

    def __init__(self, evidence: Evidence, row: Row) -> None:
        self._allowed: dict[int, set[int]] = {}
        events: Mapping[str, Sequence[str]] = dict(row.events)
        for symbol, pattern in enumerate(evidence.compiled.query.patterns):
            named = [event for name in events.get(pattern.name, ()) for event in evidence.named(name)]
            times = evidence.merged.times
            self._allowed[symbol] = {event for event in named if row.start <= times[event] <= row.time}

    def fits(self, symbol: int, event: int, values: Values) -> bool:
        return event in self._allowed[symbol]


def matches_of(evidence: Evidence, row: Row) -> Iterator[Found]:
    """The matches with the events of a row, and with its values where they are variables, or the name of its graph.

    A match that is reached in two ways is one.
    """
    for world in evidence.worlds:
        search, seen = whole(world, _OfRow(evidence, row)), set[object]()
        for run in search.complete():
            if (
                events_of(evidence, run) == row.events
                and is_match(search, run)
                and _has_values(evidence, world, run, row)
                and run.identity not in seen
            ):
                seen.add(run.identity)
                yield Found(search, run)


def events_of(evidence: Evidence, run: Run) -> StepEvents:
    """The names of the events of each step, as a row has them: one that a step took twice (`A & A`) is there twice."""
    found = []
    for symbol, pattern in enumerate(evidence.compiled.query.patterns):
        events = sorted(entry.event for entry in run.entries if entry.symbol == symbol)
        if events:
            found.append((pattern.name, tuple(map(evidence.name, events))))
    return tuple(found)


def _has_values(evidence: Evidence, world: World, run: Run, row: Row) -> bool:
    if row.graph is not None:
        return graph_name(evidence, run) == row.graph
    query, shown = evidence.compiled.query, dict(row.bindings)
    numbers = {name: number for number, name in enumerate(query.variables)}
    seen = seen_from(run.entries, (), world.given)
    computed = {bind.name for bind in query.binds}
    for column in query.columns:
        match column.expression:
            case Variable(name) if name in numbers and name not in computed:
                value = seen.get(numbers[name], UNBOUND)
                if (evidence.term(value) if value else None) != shown.get(column.name):
                    return False
    return True


def steps_taken(evidence: Evidence, found: Found) -> tuple[StepTaken, ...]:
    """The steps of a match, by position and then in the order of SEQ; conditions of the match stand at the last."""
    entries = found.run.entries
    order = sorted(range(len(entries)), key=lambda place: (entries[place].event, entries[place].step))
    return tuple(_step(evidence, found, place, place == order[-1]) for place in order)


def _step(evidence: Evidence, found: Found, place: int, last: bool) -> StepTaken:
    entry, query = found.run.entries[place], evidence.compiled.query
    pattern = query.patterns[entry.symbol]
    own = {as_written(name): term for name, term in bound(evidence, entry.values)}
    traced = lineage(
        pattern.pattern,
        own,
        evidence.single(entry.event),
        evidence.dictionary,
        evidence.evaluator,
        evidence.background,
    )
    knowledge = {iri: _lines(triples) for iri, triples in sorted(traced.knowledge.items())}
    seen = [*_of_pattern(evidence, entry), *conditions_of(evidence, found.search, found.run, place)]
    if last:
        seen += conditions_of(evidence, found.search, found.run, MATCH)
    return StepTaken(
        pattern.name, evidence.name(entry.event), _lines(traced.triples), knowledge, tuple(own.items()), tuple(seen)
    )


def _lines(triples: Mapping[TermTriple, None]) -> tuple[str, ...]:
    return tuple(sorted(f"{to_ntriples(s)} {to_ntriples(p)} {to_ntriples(o)} ." for s, p, o in triples))


def bound(evidence: Evidence, values: Values) -> list[tuple[str, Term]]:
    """The terms of variables, in the order of the query."""
    names = evidence.compiled.query.variables
    return [(names[v], evidence.term(values[v])) for v in sorted(values)]


def _of_pattern(evidence: Evidence, entry: Entry) -> Iterator[ConditionSeen]:
    """The FILTERs at the top of the step's GPM that belong to its pattern: they hold for its solution."""
    query = evidence.compiled.query
    pattern = query.patterns[entry.symbol]
    define = next(define for define in query.parsed.defines if define.name == pattern.name)
    own = dict(bound(evidence, entry.values))
    for written in define.filters:
        if written.expression not in pattern.conditions:
            names = sorted(expression_variables(written.expression) & own.keys())
            yield ConditionSeen(filter_written(query, written.expression), tuple((n, own[n]) for n in names))


def conditions_of(evidence: Evidence, search: Search, run: Run, place: int) -> Iterator[ConditionSeen]:
    """The conditions of an entry's step, or those of the match, with what they read when they were decided."""
    world = search.world
    owned = (*world.waiting, *world.at_end) if place == MATCH else world.owned[run.entries[place].symbol]
    for condition in owned:
        yield condition_seen(evidence, search, _when_decided(search, run, (place, condition)), (place, condition))


def _when_decided(search: Search, run: Run, pair: tuple[int, int]) -> Run:
    """The run as far as it was when a condition held; a later iteration may have left unbound what it reads."""
    ends = range(len(run.entries), max(pair[0], 0), -1)
    return next((each for end in ends if search.true(each := replace(run, entries=run.entries[:end]), pair)), run)


def condition_seen(evidence: Evidence, search: Search, run: Run, pair: tuple[int, int]) -> ConditionSeen:
    """A condition of a run, as its step's iteration sees it."""
    query, expression = evidence.compiled.query, evidence.compiled.conditions[pair[1]]
    read = search.world.referred(pair[1], run.entries, search.path_of(run, pair))
    values = tuple((_shown(evidence, pair[1], name), evidence.term(value)) for name, value in read if value)
    return ConditionSeen(filter_written(query, expression), values, search.true(run, pair))


def _shown(evidence: Evidence, condition: int, name: str) -> str:
    for reference in evidence.compiled.program.conditions[condition].references:
        if evidence.compiled.name(reference) == name:
            node: Expression = evidence.compiled.nodes[reference]
            return as_written(node.name) if isinstance(node, Variable) else expression_text(node)
    raise AssertionError(name)


def absences(evidence: Evidence, found: Found) -> tuple[Absence, ...]:
    """Everything that a match says did not occur, and the times between which it was looked for."""
    run, query = found.run, evidence.compiled.query
    seen = []
    for gap in (*run.gaps, *run.open):
        text = elements_written(query, [found.search.world.negated[gap.place].node])
        seen.append(Absence(text, *_looked_at(found, gap)))
    return tuple(seen)


def _looked_at(found: Found, gap: Gap) -> tuple[int, int]:
    """The times between which a negation of a match looks."""
    world, events = found.search.world, found.run.events
    times = world.merged.times
    begin, end = world.frame.bounds(events)
    if gap.before is not None:
        begin = max(times[event] for event in gap.before)
        end = end if gap.limit is None else min(end, begin + gap.limit)
    if gap.after is not None:
        end = min(end, min(times[event] for event in gap.after))
        begin = max(begin, end - gap.limit) if gap.limit is not None and gap.before is None else begin
    return begin, end
