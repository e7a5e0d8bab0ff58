"""Partial matches and matches of one partition, by the words of the specification (3.2).

Solutions are found by the values that a run has bound and by time, so that a run meets few of them. `observer` hears of
every run and the step that it is to take next, before it takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from arrays.times import AFTER_ALL, BEFORE_ALL
from arrays.wanted import check_wanted
from automata.plan import expression as nodes
from automata.plan.expression import Contiguity
from spaseq.runtime.why.observer import ANYTHING, Observer
from spaseq.runtime.why.owed import Owed
from spaseq.runtime.why.places import NOTHING, Before, Path, Place, Step, first_steps, sizes_of, variants
from spaseq.runtime.why.runs import (
    MATCH,
    End,
    Entry,
    Events,
    Gap,
    Run,
    Taken,
    Values,
    clashes,
    seen_from,
)
from spaseq.runtime.why.world import Candidate, World

Then = Callable[[Run], Iterator[Run]]
Extension = tuple[Events, Run]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Search(Owed):
    """The runs of one sequence: the whole SEQ, or a negated group inside a whole match.

    admits  whether the sequence's own events are where they must be: in one window, or strictly between
    after   what follows a negated group
    looks   whether the negation around this one looks at an event
    """

    admits: Callable[[Sequence[int]], bool]
    observer: Observer = ANYTHING
    after: Events | None = None
    looks: Callable[[int], bool] = lambda _: True

    def complete(self) -> Iterator[Run]:
        """Every run that has taken all positive steps, its conditions at the end and negations not asked."""
        world = self.world
        start = Run(owed=frozenset((MATCH, condition) for condition in world.waiting))
        for variant in variants(world.root):
            yield from self.walk(variant, start, (), NOTHING, lambda run: iter((run,)))

    # --- the constructs ---------------------------------------------------------------------------

    def walk(self, place: Place, run: Run, path: Path, ahead: Before, then: Then) -> Iterator[Run]:
        """Every way to match a place after `run`, continued by `then`, as long as they are wanted."""
        check_wanted()
        match place.node:
            case nodes.Step() | nodes.Conjunction():
                step = Step(place, path, ahead.limit)
                if self.observer.attempt(run, step, ahead):
                    for longer in self.taken(run, step, ahead):
                        yield from then(replace(longer, came=(Taken(run, ahead, longer.last),)))
            case nodes.Sequence():
                yield from self._series(place, place.node, 0, run, path, ahead, then)
            case nodes.Choice():
                for branch in place.items:
                    yield from self.walk(branch, run, path, ahead, then)
            case nodes.Repetition():
                inside: Path = (*path, (place.number, 0))
                loop = place.node
                first = place.first or place.items[0]
                yield from self.walk(first, run, inside, ahead, lambda r: self._iterate(place, loop, 0, r, path, then))
            case nodes.AnyOrder():
                yield from self._any_order(place, run, path, ahead.limit, then)
            case nodes.Negation(limit=limit):
                size = None if limit is None else limit.size
                passed = Gap(place.number, path, run.last or None, None, size)
                yield from then(replace(run, open=(*run.open, passed)))
            case nodes.Limited(limit=limit):
                begun = replace(run, bounds=(*run.bounds, (len(run.entries), limit.size)))
                yield from self.walk(place.items[0], begun, path, ahead, lambda r: then(replace(r, bounds=run.bounds)))
            case nodes.Optional():
                raise AssertionError("`variants` settles optional steps first")

    def _series(
        self, place: Place, node: nodes.Sequence[int], index: int, run: Run, path: Path, outer: Before, then: Then
    ) -> Iterator[Run]:
        """The operator is the one written directly before the later step; before the first item, the group's own."""
        if index == len(place.items):
            yield from then(run)
            return
        item, ahead = place.items[index], outer
        if index:
            begins = len(run.entries) == run.start
            limit = None if begins else sizes_of(node)[index]
            ahead = Before(node.operators[index - 1], limit, first_steps(item, path, limit))
        elif not outer.rivals:
            ahead = replace(outer, rivals=first_steps(item, path, outer.limit))
        yield from self.walk(
            item, run, path, ahead, lambda r: self._series(place, node, index + 1, r, path, outer, then)
        )

    def _iterate(
        self, place: Place, loop: nodes.Repetition[int], done: int, run: Run, path: Path, then: Then
    ) -> Iterator[Run]:
        """Every prefix counts; the first step of a later iteration is taken by the repetition's contiguity."""
        goes_on = loop.at_most is None or done + 1 < loop.at_most
        if done + 1 >= loop.at_least:
            left = (End(place, path, done + 1, run, None),) if loop.possessive and goes_on else ()
            yield from then(replace(run, left=(*run.left, *left)))
        elif self.covers is None and self.observer is not ANYTHING:
            yield from then(replace(run, lacks=(*run.lacks, place)))
        if goes_on and loop.contiguity is not None:
            inside: Path = (*path, (place.number, done + 1))
            for variant in variants(place.items[0]):
                ahead = Before(loop.contiguity, None, first_steps(variant, inside, None))
                yield from self.walk(
                    variant, run, inside, ahead, lambda r: self._iterate(place, loop, done + 1, r, path, then)
                )

    def _any_order(self, place: Place, run: Run, path: Path, limit: int | None, then: Then) -> Iterator[Run]:
        """Each member is matched on its own after the events before the ALL( ), then they are joined."""
        fresh = replace(run, start=len(run.entries), open=(), left=())
        found = []
        for member in place.items:
            ends: list[Run] = []
            for variant in variants(member):
                ahead = Before(None, limit, first_steps(variant, path, limit))
                ends += [end for end in self.walk(variant, fresh, path, ahead, lambda r: iter((r,))) if not end.lacks]
            found.append(ends)
        for chosen in product(*found):
            joined = self._join(place, run, path, chosen)
            if joined is not None:
                yield from then(joined)

    def _join(self, place: Place, run: Run, path: Path, ends: Sequence[Run]) -> Run | None:
        """Distinct events, compatible mappings; nothing orders events of different members."""
        common = len(run.entries)
        events = [{entry.event for entry in end.entries[common:]} for end in ends]
        if any(a & b for a, b in combinations(events, 2)):
            return None
        views = [seen_from(end.entries, path, self.world.given) for end in ends]
        if any(True for a, b in combinations(views, 2) for _ in clashes(a, b)):
            return None
        entries, owed = run.entries, set(run.owed)
        gaps, still_open, done, left = run.gaps, list[Gap](), run.ends, list[End]()
        for end in ends:
            shift = len(entries) - common
            owed |= {(own + shift if own >= common else own, which) for own, which in end.owed}
            gaps += end.gaps[len(run.gaps) :]
            still_open += end.open
            done += end.ends[len(run.ends) :]
            left += end.left
            entries += end.entries[common:]
        last = tuple(sorted(set[int]().union(*events)))
        gaps += tuple(replace(gap, after=last) for gap in run.open)
        done += tuple(replace(end, after=last) for end in run.left)
        every = [entry.event for entry in entries]
        if not self.admits(every[self.base :]) or self.overdue(run, every):
            return None
        beside = tuple((limit, tuple(every[begun:])) for begun, limit in run.bounds)
        still_left = tuple(replace(end, beside=(*end.beside, *beside)) for end in left)
        came = tuple(step for end in ends for step in end.came)
        joined = Run(
            entries, run.start, last, frozenset(owed), gaps, tuple(still_open), run.bounds, done, still_left, run.lacks,
            came,
        )  # fmt: skip
        return self.decided(joined, place, path)

    # --- extends ----------------------------------------------------------------------------------

    def taken(self, run: Run, step: Step, ahead: Before) -> Iterator[Run]:
        """The runs that take a step, as its operator lets them."""
        begins = len(run.entries) == run.start
        match None if begins else ahead.operator:
            case Contiguity.STRICT:
                until = self.world.next_time(run.last)
                for events, longer in self.extensions(run, step, until, of_interest=True):
                    if self.world.between(run.last, events) is None:
                        yield longer
            case Contiguity.NEXT:
                nearest = self.nearest(run, ahead)
                if len(ahead.rivals) == 1:
                    yield from (longer for _, longer in self._first_of(nearest) if self._fits(longer, run))
                    return
                until = min([self._end_of(events) for events, _ in nearest], default=AFTER_ALL)
                for events, longer in self.extensions(run, step, until, of_interest=True):
                    if not any(self.world.merged.before(nearer, events) for nearer, _ in nearest):
                        yield longer
            case _:
                yield from (longer for _, longer in self.extensions(run, step, of_interest=True))

    def _fits(self, longer: Run, run: Run) -> bool:
        added = longer.entries[len(run.entries) :]
        return all(self.observer.fits(entry.symbol, entry.event, entry.values) for entry in added)

    def _first_of(self, nearest: Sequence[Extension]) -> Iterator[Extension]:
        """Those that no other one precedes."""
        before = self.world.merged.before
        return ((e, longer) for e, longer in nearest if not any(before(other, e) for other, _ in nearest))

    def nearest(self, run: Run, ahead: Before) -> list[Extension]:
        """The extensions by "this step" up to the time of the first of them: no other blocks one that is free."""
        until, found = AFTER_ALL, list[Extension]()
        for rival in ahead.rivals:
            for extension in self.extensions(run, rival):
                if self._end_of(extension[0]) > until:
                    break
                until = min(until, self._end_of(extension[0]))
                found.append(extension)
        return [extension for extension in found if self._end_of(extension[0]) <= until]

    def _end_of(self, events: Events) -> int:
        return max([self.world.merged.times[event] for event in events])

    def extensions(
        self, run: Run, step: Step, until: int = AFTER_ALL, of_interest: bool = False
    ) -> Iterator[Extension]:
        """Every set of events up to a time, and longer run, with which a step extends a run, whatever the operator.

        of_interest     only events that the observer lets a run take
        """
        times = self.world.merged.times
        begin = max([times[event] for event in run.last], default=BEFORE_ALL)
        if step.limit is not None and run.last:
            until = min(until, begin + step.limit)
        if run.entries and self.covers is None:
            until = min(until, self.world.frame.last_time(min(run.events, key=times.__getitem__)))
        bindings = seen_from(run.entries, step.path, self.world.given)
        symbols, observer = step.place.symbols, self.observer
        for chosen in self._simultaneous(symbols, run, bindings, begin, until):
            check_wanted()
            if of_interest and not all(
                observer.fits(symbol, *each) for symbol, each in zip(symbols, chosen, strict=True)
            ):
                continue
            if not observer.goes_on(run):
                return
            if (longer := self.extend(run, step, chosen, bindings)) is not None:
                yield longer.last, longer

    def _simultaneous(
        self, symbols: Sequence[int], run: Run, bindings: Values, begin: int, until: int
    ) -> Iterator[tuple[Candidate, ...]]:
        """One (event, ν) for each symbol, all at one time after the run's last events."""
        world = self.world
        for candidate in world.solutions[symbols[0]].fitting(bindings, begin, until):
            if not self._follows(run, symbols[0], candidate):
                continue
            if len(symbols) == 1:
                yield (candidate,)
                continue
            time = world.merged.times[candidate[0]]
            others = [
                [c for c in world.solutions[symbol].fitting(bindings, time, time) if self._follows(run, symbol, c)]
                for symbol in symbols[1:]
            ]
            yield from ((candidate, *rest) for rest in product(*others))

    def _follows(self, run: Run, symbol: int, candidate: Candidate) -> bool:
        merged, (event, values) = self.world.merged, candidate
        if event >= merged.count or event in self.world.gone:
            return False
        if not all(merged.precedes(last, event) for last in run.last):
            return False
        return self.covers is not None or all(variable in values for variable in self.world.program.partition)

    def extend(self, run: Run, step: Step, chosen: Sequence[Candidate], bindings: Values) -> Run | None:
        """The run with one more step: ν compatible, decidable conditions hold, window and limits hold."""
        events = [*run.events, *[event for event, _ in chosen]]
        if not self.admits(events[self.base :]) or self.overdue(run, events):
            return None
        together = dict(bindings)
        for _, values in chosen:
            if next(clashes(values, together), None) is not None:
                return None
            together.update(values)
        return self.decided(self.lengthened(run, step, chosen), step.place, step.path)

    def lengthened(self, run: Run, step: Step, chosen: Sequence[Candidate]) -> Run:
        """The run with one more step, whether that extends it or not; what it then owes is not decided."""
        added = tuple(
            Entry(symbol, event, values, step.place.number, step.path)
            for symbol, (event, values) in zip(step.place.symbols, chosen, strict=True)
        )
        last = tuple(sorted({event for event, _ in chosen}))
        return Run(
            run.entries + added,
            run.start,
            last,
            run.owed | self.due(run, added),
            run.gaps + tuple([replace(gap, after=last) for gap in run.open]),
            (),
            run.bounds,
            run.ends + tuple([replace(end, after=last) for end in run.left]),
            (),
            run.lacks,
        )

    def overdue(self, run: Run, events: Sequence[int]) -> bool:
        """True if of the events taken inside some limited step the last is too long after the first."""
        for begun, limit in run.bounds:
            times = [self.world.merged.times[event] for event in events[begun:]]
            if times and max(times) - min(times) > limit:
                return True
        return False

    # --- complete matches -------------------------------------------------------------------------

    def false_at_end(self, run: Run) -> Iterator[tuple[int, int]]:
        """The conditions of a run that has taken all steps that do not hold: now all are decided."""
        at_end = [(MATCH, which) for which in self.world.at_end] if self.covers is None else []
        return (pair for pair in [*sorted(run.owed), *at_end] if not self.true(run, pair))

    def occurring(self, run: Run) -> Iterator[tuple[Gap, Run]]:
        """The negations that remove a complete run, each with all that occurs of what it negates."""
        covers = self._covers(run)
        closed = tuple(replace(gap, after=self.after) for gap in run.open)
        for gap in run.gaps + closed:
            for found in self.occurrences(gap, run, covers):
                yield gap, found

    def extended(self, run: Run) -> Iterator[tuple[End, int]]:
        """The possessive repetitions that one more complete iteration extends, with its first event."""
        covers = self._covers(run)
        for end in run.ends + run.left:
            for longer in self._extending(end, covers):
                yield end, longer.entries[len(end.run.entries)].event

    def _covers(self, run: Run) -> Callable[[int], bool]:
        own = run.events[self.base :]
        return self.covers or (lambda event: self.world.frame.covers(own, event))

    def matches(self, run: Run) -> bool:
        """True if a complete run is a match."""
        whole = next(self.false_at_end(run), None) is None and next(self.occurring(run), None) is None
        return whole and next(self.extended(run), None) is None

    def _extending(self, end: End, covers: Callable[[int], bool]) -> Iterator[Run]:
        """One more complete iteration, its own `!` included, before the next positive step."""
        loop, last = end.loop.node, end.last(self.world.merged.times)
        assert isinstance(loop, nodes.Repetition) and loop.contiguity is not None
        inside: Path = (*end.path, (end.loop.number, end.done))
        start = replace(end.run, gaps=(), open=(), ends=(), left=())
        quiet = replace(self, observer=ANYTHING)
        for variant in variants(end.loop.items[0]):
            ahead = Before(loop.contiguity, None, first_steps(variant, inside, None))
            for longer in quiet.walk(variant, start, inside, ahead, lambda r: iter((r,))):
                events = longer.events[len(start.entries) :]
                times = self.world.merged.times
                if end.after is None and not all(covers(event) and times[event] <= last for event in events):
                    continue
                if end.after is not None and not self.world.merged.before(events, end.after):
                    continue
                gaps = longer.gaps + tuple(replace(gap, after=end.after) for gap in longer.open)
                if not any(True for gap in gaps for _ in self.occurrences(gap, longer, covers)):
                    yield longer

    def occurrences(self, gap: Gap, run: Run, covers: Callable[[int], bool]) -> Iterator[Run]:
        """The run with each occurrence of what is negated, inside the gap and compatible with the whole match."""
        merged = self.world.merged

        def inside(event: int) -> bool:
            after_one = gap.before is None or merged.before(gap.before, (event,))
            before_other = gap.after is None or merged.before((event,), gap.after)
            bounded = gap.before is not None and gap.after is not None
            looked_at = gap.looks_at(event, merged.times) and self.looks(event)
            return looked_at and after_one and before_other and (bounded or covers(event))

        def admits(events: Sequence[int]) -> bool:
            return all(map(inside, events))

        group = Search(
            world=self.world,
            covers=covers,
            base=len(run.entries),
            within=gap.place,
            admits=admits,
            after=gap.after,
            looks=inside,
        )
        start = Run(run.entries, len(run.entries), gap.before or ())
        for variant in variants(self.world.negated[gap.place]):
            for found in group.walk(variant, start, gap.path, NOTHING, lambda r: iter((r,))):
                if group.matches(found):
                    yield found


def whole(world: World, observer: Observer = ANYTHING) -> Search:
    """The search for the whole SEQ."""
    return Search(world=world, admits=world.frame.holds, observer=observer)
