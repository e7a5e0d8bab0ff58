"""Matches, by trying everything (specification 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from automata.plan.expression import Contiguity
from sparql_gpm.pattern import Exists
from sparql_gpm.terms import Term
from tests.reference.expression import holds
from tests.reference.gpm import Condition, dataset_of
from tests.reference.graph import Solution, compatible
from tests.reference.graph import exists as pattern_exists
from tests.reference.run import MATCH, End, Gap, Run, events_of, rebinds, time_of_last, within
from tests.reference.shape import (
    AnyOrder,
    Bounded,
    Either,
    Loop,
    Maybe,
    Never,
    Node,
    Path,
    Series,
    Take,
    firsts,
    followers,
    variants,
)
from tests.reference.stream import Event, Events, before
from tests.reference.view import Entries, Entry, scope_of, seen_from, with_binds
from tests.reference.world import World

Step = tuple[Take, Path, int | None]
"""A step, where it stands, and the limit of the operator before it."""


@dataclass(frozen=True, slots=True)
class Before:
    """The operator before the first positive step of a node, with its limit, and all that "this step" means for `;`."""

    op: Contiguity | None
    limit: int | None
    rivals: Sequence[Step]


NOTHING = Before(None, None, ())
Then = Callable[[Run], Iterator[Run]]


@dataclass(frozen=True, slots=True)
class Search:
    """The matches of one sequence: the whole SEQ, or a negated group inside a whole match.

    admits  whether the sequence's own events are where they must be: in one window, or strictly between
    covers  whether an event is in the window of the whole match; None for SEQ itself, where each match has its own
    after   what follows a negated group
    base    how many entries belong to the whole match that a negated group is looked for in
    within  the place of that negation
    looks   whether the negation around this one looks at an event
    """

    world: World
    admits: Callable[[Sequence[Event]], bool]
    covers: Callable[[Event], bool] | None = None
    after: Events | None = None
    base: int = 0
    within: int | None = None
    looks: Callable[[Event], bool] = lambda _: True
    extended: dict[tuple[Run, int, Path, int | None], list[tuple[Events, Run]]] = field(default_factory=dict)

    def matches(self, node: Node, run: Run, path: Path) -> Iterator[Run]:
        """Every complete match of the sequence that starts from `run`."""
        for variant in variants(node):
            yield from self.walk(variant, run, path, NOTHING, self.complete)

    # --- the constructs ---------------------------------------------------------------------------

    def walk(self, node: Node, run: Run, path: Path, ahead: Before, then: Then) -> Iterator[Run]:
        """Every way to match a node after `run`, continued by `then`."""
        match node:
            case Take():
                for events, longer in self.extensions(run, node, path, ahead.limit):
                    if self.allowed(ahead, run, events):
                        yield from then(longer)
            case Series():
                yield from self.series(node, 0, run, path, ahead, then)
            case Either(branches):
                for branch in branches:
                    yield from self.walk(branch, run, path, ahead, then)
            case Loop(first=first, place=place):
                inside: Path = (*path, (place, 0))
                yield from self.walk(first, run, inside, ahead, lambda r: self.iterate(node, 0, r, path, then))
            case AnyOrder():
                yield from self.any_order(node, run, path, ahead.limit, then)
            case Never(place=place, limit=limit):
                passed = Gap(place, path, run.last or None, None, limit)
                yield from then(replace(run, open=(*run.open, passed)))
            case Bounded(inner, limit):
                begun = replace(run, bounds=(*run.bounds, (len(run.entries), limit)))
                yield from self.walk(inner, begun, path, ahead, lambda r: then(replace(r, bounds=run.bounds)))
            case Maybe():
                raise AssertionError("`variants` settles optional steps first")

    def series(
        self,
        node: Series,
        index: int,
        run: Run,
        path: Path,
        outer: Before,
        then: Then,
    ) -> Iterator[Run]:
        """The operator is the one written directly before the later step; before the first item, the group's own."""
        if index == len(node.items):
            yield from then(run)
            return
        item = node.items[index]
        ahead = outer
        if index:
            begins = len(run.entries) == run.start
            limit = None if begins else node.limits[index]
            ahead = Before(node.operators[index], limit, firsts(item, path, limit))
        elif not outer.rivals:
            ahead = replace(outer, rivals=firsts(item, path, outer.limit))
        yield from self.walk(item, run, path, ahead, lambda r: self.series(node, index + 1, r, path, outer, then))

    def iterate(self, loop: Loop, done: int, run: Run, path: Path, then: Then) -> Iterator[Run]:
        """Every prefix counts; the first step of a later iteration is taken by the repetition's contiguity."""
        goes_on = loop.at_most is None or done + 1 < loop.at_most
        if done + 1 >= loop.at_least:
            left = (End(loop, path, done + 1, run, None),) if loop.possessive and goes_on else ()
            yield from then(replace(run, left=(*run.left, *left)))
        if goes_on:
            inside: Path = (*path, (loop.place, done + 1))
            for variant in variants(loop.inner):
                yield from self.walk(
                    variant,
                    run,
                    inside,
                    Before(loop.between, None, firsts(variant, inside, None)),
                    lambda r: self.iterate(loop, done + 1, r, path, then),
                )

    def any_order(self, node: AnyOrder, run: Run, path: Path, limit: int | None, then: Then) -> Iterator[Run]:
        """Each member is matched on its own after the events before the ALL( ), then they are joined."""
        fresh = replace(run, start=len(run.entries), open=(), left=())
        found = [
            [
                end
                for variant in variants(member)
                for end in self.walk(
                    variant, fresh, path, Before(None, limit, firsts(variant, path, limit)), lambda r: iter((r,))
                )
            ]
            for member in node.members
        ]
        for ends in product(*found):
            joined = self.join(node, run, path, ends)
            if joined is not None:
                yield from then(joined)

    def join(self, node: AnyOrder, run: Run, path: Path, ends: Sequence[Run]) -> Run | None:
        """Distinct events, compatible mappings; nothing orders events of different members."""
        common = len(run.entries)
        events = [{entry.event for entry in end.entries[common:]} for end in ends]
        if any(a & b for a, b in combinations(events, 2)):
            return None
        views = [seen_from(end.entries, path, self.world.given) for end in ends]
        if not all(compatible(a, b) for a, b in combinations(views, 2)):
            return None
        entries, owed = run.entries, set(run.owed)
        gaps, still_open = run.gaps, list[Gap]()
        done, left = run.ends, list[End]()
        for end in ends:
            shift = len(entries) - common
            owed |= {(place + shift if place >= common else place, which) for place, which in end.owed}
            gaps += end.gaps[len(run.gaps) :]
            still_open += end.open
            done += end.ends[len(run.ends) :]
            left += end.left
            entries += end.entries[common:]
        last = tuple(sorted(set[Event]().union(*events), key=lambda event: event.position))
        gaps += tuple(replace(gap, after=last) for gap in run.open)
        done += tuple(replace(end, after=last) for end in run.left)
        every = [entry.event for entry in entries]
        if not self.admits(every[self.base :]) or not within(run.bounds, every):
            return None
        beside = tuple((limit, tuple(every[begun:])) for begun, limit in run.bounds)
        still_left = tuple(replace(end, beside=(*end.beside, *beside)) for end in left)
        passed = gaps, tuple(still_open), run.bounds, done, still_left
        joined = Run(entries, run.start, last, frozenset(owed), *passed)
        return self.decide(joined, node.place, path)

    # --- extends ----------------------------------------------------------------------------------

    def allowed(self, ahead: Before, run: Run, events: Events) -> bool:
        """What the operator asks beyond *extends*; nothing of the first step of a sequence."""
        if ahead.op is None or ahead.op is Contiguity.ANY or len(run.entries) == run.start:
            return True
        if ahead.op is Contiguity.STRICT:
            return self.world.contiguous(run.last, events)
        return not any(before(nearer, events) for rival in ahead.rivals for nearer, _ in self.extensions(run, *rival))

    def extensions(self, run: Run, take: Take, path: Path, limit: int | None) -> list[tuple[Events, Run]]:
        """Every (event set, longer partial match) with which a step extends r, whatever the operator."""
        key = (run, take.place, path, limit)
        if key not in self.extended:
            self.extended[key] = [
                (longer.last, longer)
                for members in take.alternatives
                for chosen in self.simultaneous(members, run)
                if limit is None or not run.last or events_of(chosen)[0].time - time_of_last(run.last) <= limit
                if (longer := self.extend(run, take, members, chosen, path)) is not None
            ]
        return self.extended[key]

    def simultaneous(self, members: Sequence[str], run: Run) -> Iterator[tuple[tuple[Event, Solution], ...]]:
        """One (event, ν) per member, all at one time after e."""
        negated = self.covers is not None
        options = [
            [pair for pair in self.world.candidates(name, negated) if before(run.last, (pair[0],))] for name in members
        ]
        for chosen in product(*options):
            if len({event.time for event, _ in chosen}) == 1:
                yield chosen

    def extend(
        self, run: Run, take: Take, members: Sequence[str], chosen: Sequence[tuple[Event, Solution]], path: Path
    ) -> Run | None:
        """r with one more step: ν compatible, decidable conditions hold, the window holds."""
        events = [*(entry.event for entry in run.entries), *events_of(chosen)]
        if not self.admits(events[self.base :]) or not within(run.bounds, events):
            return None
        bindings = seen_from(run.entries, path, self.world.given)
        for _, solution in chosen:
            nu = dict(solution)
            if not compatible(nu, bindings):
                return None
            bindings |= nu
        added = tuple(
            self.world.entry(name, event, solution, take.place, path)
            for name, (event, solution) in zip(members, chosen, strict=True)
        )
        longer = Run(
            entries=run.entries + added,
            start=run.start,
            last=events_of(chosen),
            owed=run.owed | self.due(run, added),
            gaps=run.gaps + tuple(replace(gap, after=events_of(chosen)) for gap in run.open),
            bounds=run.bounds,
            ends=run.ends + tuple(replace(end, after=events_of(chosen)) for end in run.left),
        )
        return self.decide(longer, take.place, path)

    # --- conditions -------------------------------------------------------------------------------

    def conditions(self, entry: Entry) -> tuple[Condition, ...]:
        """The conditions of an entry's step."""
        return self.world.gpms[entry.step].conditions

    def due(self, run: Run, added: Entries) -> frozenset[tuple[int, int]]:
        """The new steps' conditions, and those of which a later iteration rebinds a variable."""
        known = len(run.entries)
        fresh = {(known + i, which) for i, entry in enumerate(added) for which, _ in enumerate(self.conditions(entry))}
        again = {
            (i, which)
            for i, entry in enumerate(run.entries)
            if i >= self.base
            for which, condition in enumerate(self.conditions(entry))
            if any(rebinds(new, entry.path, condition) for new in added)
        }
        again |= {
            (MATCH, which)
            for which, condition in enumerate(self.world.waiting)
            if self.covers is None and any(rebinds(new, (), condition) for new in added)
        }
        return frozenset(fresh | again)

    def condition(self, entries: Entries, pair: tuple[int, int]) -> tuple[Condition, Path]:
        """A condition, and the iterations that it is seen from."""
        place, which = pair
        if place == MATCH:
            return self.world.waiting[which], ()
        return self.conditions(entries[place])[which], entries[place].path

    def decide(self, run: Run, at: int, path: Path) -> Run | None:
        """The run with every condition decided that waits for nothing; None when one does not hold."""
        waiting = frozenset(pair for pair in run.owed if self.waits(run, pair, at, path))
        if all(self.true(run.entries, pair) for pair in run.owed - waiting):
            return replace(run, owed=waiting)
        return None

    def waits(self, run: Run, pair: tuple[int, int], at: int, path: Path) -> bool:
        """Waits iff a variable is not its own GPM's, not bound so far, and a step that can still follow binds it."""
        condition, own = self.condition(run.entries, pair)
        if not condition.foreign:
            return False
        unbound = condition.foreign - seen_from(run.entries, own, self.world.given).keys()
        can_follow = followers(self.world.lines, at, path, own, self.within)
        return any(unbound & self.world.gpms[name].scope for name in can_follow)

    def true(self, entries: Entries, pair: tuple[int, int]) -> bool:
        """Whether a condition holds, as its step's iteration sees the match."""
        world = self.world
        condition, own = self.condition(entries, pair)

        def exists(pattern: Exists, bindings: Mapping[str, Term]) -> bool:
            event = entries[pair[0]].event
            return pattern_exists(pattern, bindings, dataset_of(event, world.named), event.triples)

        scope = scope_of(entries, own, world.given, world.loops)
        return holds(condition.expression, replace(scope, exists=exists))

    # --- complete matches -------------------------------------------------------------------------

    def complete(self, run: Run) -> Iterator[Run]:
        """Every condition is decided at the latest now; negation removes complete matches only."""
        if not all(self.true(run.entries, pair) for pair in run.owed):
            return
        if self.covers is None and not self.true_at_end(run.entries):
            return
        own = [entry.event for entry in run.entries[self.base :]]
        covers = self.covers or (lambda event: self.world.frame.covers(own, event))
        closed = tuple(replace(gap, after=self.after) for gap in run.open)
        if any(self.occurs(gap, run.entries, covers) for gap in run.gaps + closed):
            return
        if not any(self.is_extended(end, covers) for end in run.ends + run.left):
            yield run

    def true_at_end(self, entries: Entries) -> bool:
        """Whether the FILTERs hold that are decided when the match is complete; they see the values of BIND."""
        scope = with_binds(scope_of(entries, (), self.world.given, self.world.loops), self.world.query.binds)
        return all(holds(expression, scope) for expression in self.world.at_end)

    def is_extended(self, end: End, covers: Callable[[Event], bool]) -> bool:
        """Whether one more complete iteration, its own `!` included, comes before the next positive step."""
        inside: Path = (*end.path, (end.loop.place, end.done))
        start = replace(end.run, gaps=(), open=(), ends=(), left=())
        for variant in variants(end.loop.inner):
            ahead = Before(end.loop.between, None, firsts(variant, inside, None))
            for longer in self.walk(variant, start, inside, ahead, lambda r: iter((r,))):
                events = [entry.event for entry in longer.entries[len(start.entries) :]]
                if end.after is None and not all(covers(event) and event.time <= end.last for event in events):
                    continue
                if end.after is not None and not before(tuple(events), end.after):
                    continue
                gaps = longer.gaps + tuple(replace(gap, after=end.after) for gap in longer.open)
                if not any(self.occurs(gap, longer.entries, covers) for gap in gaps):
                    return True
        return False

    def occurs(self, gap: Gap, entries: Entries, covers: Callable[[Event], bool]) -> bool:
        """Whether what is negated has a match strictly inside the gap, compatible with the whole match."""

        def inside(event: Event) -> bool:
            after_one = gap.before is None or before(gap.before, (event,))
            before_other = gap.after is None or before((event,), gap.after)
            bounded = gap.before is not None and gap.after is not None
            looked_at = gap.looks_at(event) and self.looks(event)
            return looked_at and after_one and before_other and (bounded or covers(event))

        def admits(events: Sequence[Event]) -> bool:
            return all(map(inside, events))

        group = Search(self.world, admits, covers, gap.after, len(entries), gap.place, inside)
        start = Run(entries, len(entries), gap.before or ())
        return any(True for _ in group.matches(self.world.negated[gap.place], start, gap.path))
