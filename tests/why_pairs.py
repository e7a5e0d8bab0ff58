"""Random pairs of a query and its streams: what why-not says of each against the reference, from a seed.

    python -m tests.why_pairs                                   every property, 3,000 pairs each
    python -m tests.why_pairs repaired --pairs 500 --seed 7     one of them, other pairs
    python -m tests.why_pairs --at top                          events at the end of the range of times; all: everywhere
    python -m tests.why_pairs furthest --seed 7 --from 4711 --pairs 1     one pair again

The first pair of which a property does not hold is printed and ends it: exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from unittest.mock import patch

from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from automata.plan import expression as nodes
from automata.plan.program import Window
from sparql_gpm.terms import IRI, BlankNode, Term
from spaseq.lang.ast import Query, TopLevelFilter
from spaseq.outputs.attempts import Attempt
from spaseq.runtime.why import furthest as looked_into
from spaseq.runtime.why import runs
from spaseq.runtime.why.analysis import Analysis
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.furthest import Asked, Furthest
from spaseq.runtime.why.overlapping import is_match
from spaseq.runtime.why.search import whole
from tests.placed import PLACES, placed, places_of
from tests.random_pairs import Pair, drawn, shown
from tests.reference.graph import Solution
from tests.reference.run import MATCH, Run
from tests.reference.sequence import NOTHING, Before, Search, Then
from tests.reference.shape import Node, Path, Take, variants
from tests.reference.stream import Events, merge, precedes
from tests.reference.whole import matches
from tests.reference.world import World, partitions, whole_world
from tests.why_evidence import evidence_of, solution_of
from tests.why_explained import check_explained
from tests.why_repairs import REPAIRED, graphs_of, without_part


@dataclass(frozen=True, slots=True)
class Watched(Search):
    """The reference's search, with every run that takes a step."""

    def walk(self, node: Node, run: Run, path: Path, ahead: Before, then: Then) -> Iterator[Run]:
        if not isinstance(node, Take):
            yield from Search.walk(self, node, run, path, ahead, then)
            return
        for events, longer in self.extensions(run, node, path, ahead.limit):
            if self.allowed(ahead, run, events):
                REACHED.append(longer)
                if len(REACHED) > RUNS_MAX:
                    raise TooMany
                yield from then(longer)


class TooMany(Exception):
    """More partial matches than are looked at."""


ATTEMPTS = 3
"""Attempts of a pair whose causes are repaired."""
RUNS_MAX = 5_000
REACHED: list[Run] = []
Reach = tuple[int, int]


def reach(run: Run) -> Reach:
    return len({entry.place for entry in run.entries}), len({entry.event for entry in run.entries})


def partial_matches(
    query: Query, events: Events, more: Attempt | None = None, lacking: Query | None = None
) -> tuple[list[Run], int]:
    """Every partial match by the reference, and the number of matches.

    more, lacking   the event that an attempt was to take has the solutions of this query's patterns, too
    """
    REACHED.clear()
    matches = 0
    for part in worlds_of(query, events, more, lacking):
        search = Watched(part, part.frame.holds)
        owed = frozenset((MATCH, which) for which, _ in enumerate(part.waiting))
        for variant in variants(part.root):
            matches += sum(1 for _ in search.walk(variant, Run((), owed=owed), (), NOTHING, search.complete))
    return list(REACHED), matches


def worlds_of(
    query: Query, events: Events, more: Attempt | None = None, lacking: Query | None = None
) -> Iterator[World]:
    """Every partition; of windows that hop, in each window by itself."""
    for window, inside in windows_of(query, events):
        alone = lacking and replace(lacking, window=window)
        yield from partitions(with_solutions(whole_world(replace(query, window=window), inside, {}), more, alone))


def windows_of(query: Query, events: Events) -> Iterator[tuple[Window, Events]]:
    """The window and all events; each of the windows that hop, and the events in it."""
    window = query.window
    if window.hop is None:
        yield window, events
        return
    places = [event.position if window.in_events else event.time for event in events]
    numbers = [(place - window.start) // window.hop for place in places]
    first = min(numbers, default=0) - window.size // window.hop - 1
    for number in range(max(first, 0) if window.anchored else first, max(numbers, default=-1) + 1):
        begin = window.start + number * window.hop
        inside = tuple(e for e, place in zip(events, places, strict=True) if begin <= place < begin + window.size)
        if inside:
            yield replace(window, start=begin, hop=None, anchored=False), inside


def with_solutions(world: World, more: Attempt | None, lacking: Query | None) -> World:
    if more is None or lacking is None:
        return world
    other, terms, keys = whole_world(lacking, world.events, {}), joined_terms(more), partition_terms(more, lacking)
    solutions = {name: dict(found) for name, found in world.solutions.items()}
    using = None if world.using is None else dict(world.using)
    for event in (event for event in world.events if event.name in graphs_of(more)):
        for step in more.step.split(" & "):
            found = other.solutions.get(step, {}).get(event, [])
            new = [with_terms(each, terms, keys) if using is None else with_terms(each, terms | keys) for each in found]
            solutions[step][event] = [*solutions[step].get(event, []), *new]
        if using is not None and keys:
            own = [dict(solution) for solution in using.get(event, [])] or [{}]
            using[event] = [*using.get(event, []), *(tuple(sorted({**each, **keys}.items())) for each in own)]
    return replace(world, solutions=solutions, using=using)


NO_TERMS: Mapping[str, Term] = {}


def joined_terms(attempt: Attempt) -> dict[str, Term]:
    """The terms of the run that the event was to have."""
    found: dict[str, Term] = {}
    for fault in attempt.faults:
        if fault.cause == "join":
            found.setdefault(fault.detail["variable"], local(fault.detail["run"]))
    return found


def partition_terms(attempt: Attempt, query: Query) -> dict[str, Term]:
    """The terms of the partition that the event was to have; of a new one where there was none.

    Under USING those of joins as well: what the event has there is what its partition or what the step binds.
    """
    lacking = [fault.detail for fault in attempt.faults if fault.cause == "partition"]
    if query.using is not None:
        joined = [fault.detail for fault in attempt.faults if fault.cause == "join"]
        lacking += [detail for detail in joined if detail["variable"] in query.partition]
    return {detail["variable"]: local(detail.get("run", IRI("http://ex.org/new"))) for detail in lacking}


def with_terms(solution: Solution, terms: Mapping[str, Term], keys: Mapping[str, Term] = NO_TERMS) -> Solution:
    bound = dict(solution)
    return tuple(sorted((bound | {v: t for v, t in terms.items() if v in bound} | keys).items()))


def taken(run: Run) -> frozenset[tuple[str, str]]:
    return frozenset((entry.step, entry.event.name) for entry in run.entries)


def attempts_of(query: Query, events: Events) -> tuple[Furthest, list[Attempt], bool]:
    evidence = evidence_of(query, events)
    furthest = Furthest(evidence, Asked({}, {}, TIME_NS_MIN, TIME_NS_MAX))
    found = furthest.look()
    return furthest, [] if found else Analysis(evidence, furthest, {}).attempts(), bool(found)


# --- the matches, and those that come furthest ----------------------------------------------------------------------


def check_matches(number: int, query: Query, events: Events) -> Counter[str]:
    """The runs that are matches are the matches of the reference."""
    expected = Counter(expected_matches(query, events))
    assert Counter(found_matches(query, events)) == expected, number
    return Counter(matches=sum(expected.values()))


def check_furthest(number: int, query: Query, events: Events) -> Counter[str]:
    """The attempts are the partial matches of the reference that come furthest."""
    try:
        partial, matches = partial_matches(query, events)
    except TooMany:
        return Counter()
    furthest, attempts, found = attempts_of(query, events)
    if furthest.ended_early:  # it says that others may have come further: none has once all are looked at
        with patch.multiple(looked_into, TRIES_MAX=sys.maxsize, FIRST_TRIES_MAX=sys.maxsize):
            furthest, attempts, found = attempts_of(query, events)
    assert found == bool(matches), number
    if found:
        return Counter()
    assert attempts, number
    best = max(map(reach, partial), default=(0, 0))
    choices = (node.branches for node in nodes.walk(query.sequence) if isinstance(node, nodes.Choice))
    if any(len(set(branches)) < len(branches) for branches in choices):
        return Counter()  # two branches that are one step in the normal form
    if any(isinstance(node, nodes.AnyOrder) for node in nodes.walk(query.sequence)):
        return Counter()  # the runs of a member are not yet joined with those of the others
    assert furthest.reach == best, number
    expected = {taken(run) for run in partial if reach(run) == best} or {frozenset()}
    mine = {frozenset((s, name) for s, names in attempt.events for name in names) for attempt in attempts}
    assert mine == expected, number
    return Counter(furthest=1)


def merged_events(pair: Pair) -> Events:
    """The events of a pair, by the reference."""
    return merge({s.name: tuple(e[1:] for e in pair.arrived if e[0] == s.name) for s in pair.query.streams})


def expected_matches(query: Query, events: Events) -> Iterator[object]:
    hidden = hidden_variables(query)
    found = {
        (
            tuple(part.given.values()),
            frozenset((e.step, e.event.name, without(hidden, e.solution)) for e in match.entries),
        ): part
        for part in worlds_of(query, events)
        for match in matches(part)
    }
    yield from found


def found_matches(query: Query, events: Events) -> Iterator[object]:
    evidence = evidence_of(query, events)
    for world in evidence.worlds:
        search = whole(world)
        given = tuple(local(evidence.term(value)) for value in world.given.values())
        yield from {(given, identity(evidence, run)) for run in search.complete() if is_match(search, run)}


def identity(evidence: Evidence, run: runs.Run) -> object:
    """The same for matches that are one."""
    patterns, hidden = evidence.compiled.query.patterns, hidden_variables(evidence.compiled.query.parsed)
    return frozenset(
        (patterns[e.symbol].name, evidence.name(e.event), without(hidden, solution_of(evidence, e)))
        for e in run.entries
    )


def hidden_variables(query: Query) -> frozenset[str]:
    """The variables of USING: where a step binds one of them, the product may leave it to the partition."""
    return frozenset(query.partition if query.using else ())


def without(names: frozenset[str], solution: Iterable[tuple[str, Term]]) -> frozenset[tuple[str, Term]]:
    return frozenset((name, term) for name, term in solution if name not in names)


def local(term: Term) -> Term:
    """A term as the reference has it: blank nodes are named in their events."""
    return BlankNode(term.label.partition(".")[2]) if isinstance(term, BlankNode) else term


# --- causes, repaired -----------------------------------------------------------------------------------------------


def check_repaired(number: int, query: Query, events: Events) -> Counter[str]:
    """An attempt goes further once its causes are repaired; nothing is after one at the end."""
    seen: Counter[str] = Counter()
    _, attempts, found = attempts_of(query, events)
    for attempt in () if found else attempts[:ATTEMPTS]:
        causes = {fault.cause for fault in attempt.faults}
        if causes == {"end"}:
            check_end(query, events, attempt)
            seen["end"] += 1
        elif can_be_repaired(query, attempt):
            check_goes_further(number, query, events, attempt)
            seen.update(causes)
    return seen


def can_be_repaired(query: Query, attempt: Attempt) -> bool:
    """True if the reference can be told the repair of every cause."""
    causes = {fault.cause for fault in attempt.faults}
    if "pattern" in causes and "EXISTS" in query.text:
        return False  # what EXISTS reads is a condition once no triple pattern binds it
    texts = [query.text[f.span.start : f.span.end] for f in all_filters(query)]
    read = [variable for variable in query.partition if any(f"?{variable}" in text for text in texts)]
    if read and any(fault.cause == "partition" and "run" not in fault.detail for fault in attempt.faults):
        return False  # nothing says which term the new partition has
    gone = [fault.detail.get("pattern", "") for fault in attempt.faults if fault.cause == "pattern"]
    if query.using is not None and any(f"?{variable}" in pattern for pattern in gone for variable in read):
        return False  # a FILTER that reads it is a condition once no triple pattern binds it
    joined = {fault.detail["variable"] for fault in attempt.faults if fault.cause == "join"}
    if query.using is None and joined & set(query.partition):
        return False  # another term may change the partitions of other events
    if "order" in causes and (" AT ?" in query.text or query.window.in_events):
        return False  # another time is another solution, and another place moves other events
    return causes <= REPAIRED.keys()


def all_filters(query: Query) -> list[TopLevelFilter]:
    return [*query.filters, *(f for define in query.defines for f in define.filters)]


def check_goes_further(number: int, query: Query, events: Events, attempt: Attempt) -> None:
    lacking = query
    for fault in attempt.faults:
        if fault.cause == "pattern":  # of this event: without it others may come in between
            lacking, _ = without_part(lacking, events, attempt, fault.detail)
            read = any(f"?{variable}" in fault.detail.get("filter", "") for variable in query.partition)
            query = lacking if query.using and read else query  # then it is a condition
        else:
            query, events = REPAIRED[fault.cause](query, events, attempt, fault.detail)
    prefix = {(step, name) for step, names in attempt.events for name in names}
    try:
        partial, matches = partial_matches(query, events, attempt, lacking)
    except TooMany:
        return
    if attempt.event is None:
        assert matches, (number, attempt)
    else:
        assert any(prefix < taken(run) for run in partial), (number, attempt)


def check_end(query: Query, events: Events, attempt: Attempt) -> None:
    taken = [event for event in events if any(event.name in names for _, names in attempt.events)]
    last = max(taken, key=lambda event: (event.time, event.position), default=None)
    ended = [
        not any(last is None or precedes(last, event) for event in events if event.stream in define.streams)
        for define in query.defines
        if define.name in attempt.step.split(" & ")
    ]
    assert any(ended), attempt


# --- many pairs -----------------------------------------------------------------------------------------------------

Property = Callable[[int, Query, Events], Counter[str]]
PROPERTIES: Mapping[str, Property] = {
    "matches": check_matches,
    "explained": check_explained,
    "furthest": check_furthest,
    "repaired": check_repaired,
}


def checked(holds: Property, seed: int, numbers: Iterable[int], places: Sequence[str] = ()) -> Counter[str]:
    """Checks a property of pairs, of one after the other at these places; returns what was seen in them."""
    seen: Counter[str] = Counter()
    for number in numbers:
        pair = drawn(seed, number)
        if pair is not None:
            pair = placed(pair, places[number % len(places)]) if places else pair
            seen += holds(number, pair.query, merged_events(pair))
    return seen


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("properties", nargs="*", choices=[*PROPERTIES, []], help=", ".join(PROPERTIES))
    options.add_argument("--pairs", type=int, default=3000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--from", type=int, default=0, dest="begin", metavar="NUMBER")
    options.add_argument("--at", choices=(*PLACES, "all"), help="where in the range of times the events are [2026]")
    given = options.parse_args(arguments)
    places = places_of(given.at)
    for name in given.properties or PROPERTIES:
        seen: Counter[str] = Counter()
        for number in range(given.begin, given.begin + given.pairs):
            try:
                seen += checked(PROPERTIES[name], given.seed, (number,), places)
            except Exception:
                traceback.print_exc()
                pair = drawn(given.seed, number)
                print(f"{name} of pair {number}, seed {given.seed}:\n{shown(pair) if pair else ''}")
                return 1
        print(f"{name}: {given.pairs:,} pairs; {dict(seen)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
