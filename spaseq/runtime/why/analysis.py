"""The attempts that came furthest, each with the least that keeps it from going on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, product

from arrays.progress import advance, expect
from arrays.times import AFTER_ALL, BEFORE_ALL
from arrays.wanted import check_wanted
from spaseq.algebra.partitions import as_written
from spaseq.outputs.attempts import CAUSES, Attempt, Fault
from spaseq.runtime.why.alike import likeness_key
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.faults import Faults
from spaseq.runtime.why.furthest import Furthest, Stuck
from spaseq.runtime.why.in_the_way import in_the_way, written
from spaseq.runtime.why.overlapping import in_windows
from spaseq.runtime.why.places import NOTHING, Place, Step
from spaseq.runtime.why.reasons import bound, events_of
from spaseq.runtime.why.relaxed import Relaxed
from spaseq.runtime.why.runs import MATCH, Run, Values, clashes, seen_from
from spaseq.runtime.why.search import whole
from spaseq.runtime.why.world import Candidate

LOOKS_MAX = 64
"""Events that an attempt is tried with, of each kind: nearest first."""
WINDOWS_MAX = 50
"""Windows that overlap in which a match is looked into."""
ALIKE_MAX = 100_000
"""Solutions of a step up to which those with terms that are alike are looked for."""


Found = tuple[int | None, Sequence[Fault]]
"""The event that was to be taken next, and its faults."""


def _fewer(one: Found | None, other: Found | None) -> Found | None:
    """The one with fewer faults, else the first."""
    if one is None or other is None:
        return one or other
    return other if len(other[1]) < len(one[1]) else one


_TERMS, _TIMES = ("pattern", "join"), ("order", "end")
_RANKS = {cause: ((cause in _TERMS) + 2 * (cause in _TIMES), place) for place, cause in enumerate(CAUSES)}
"""Of attempts with as many causes, those come last that only other terms, or events at another time, would help."""
_LIKELY = {"seen", "same"}
"""The details of what is likely a mistake of the query: events have a similar predicate, or a term that is alike."""


def _size(attempt: Attempt) -> tuple[int, int]:
    """The number of causes, and of faults, of an attempt."""
    return len({fault.cause for fault in attempt.faults}), len(attempt.faults)


class Analysis:
    """The faults of attempts."""

    def __init__(self, evidence: Evidence, furthest: Furthest, late: Mapping[int, int]) -> None:
        self._evidence = evidence
        self._furthest = furthest
        self._late = late
        self._relaxed: dict[int, Relaxed] = {}
        self._by_time: dict[tuple[int, int], tuple[list[int], list[Candidate]]] = {}
        self._keys: dict[int, object] = {}
        self._likenesses: dict[tuple[int, tuple[int, ...]], dict[tuple[object, ...], list[Candidate]]] = {}

    def attempts(self) -> list[Attempt]:
        """Every attempt that was kept, once, those with the fewest causes first."""
        found: dict[object, tuple[tuple[object, ...], Attempt]] = {}
        expect(len(self._furthest.kept))
        for stuck in self._furthest.kept:
            advance()
            attempt = self._removed(stuck) if stuck.step is None else self._stuck(stuck, stuck.step)
            if attempt is None:
                continue
            likely = any(f.detail.keys() & _LIKELY for f in attempt.faults)
            rank = (*_size(attempt), not likely, _RANKS[attempt.cause])
            identity = (frozenset((e.symbol, e.event, *e.values.items()) for e in stuck.run.entries), attempt.step)
            if identity not in found or rank < found[identity][0]:
                found[identity] = (rank, attempt)
        order = [(rank, place) for place, (rank, _) in enumerate(found.values())]
        ranked = list(found.values())
        return [ranked[place][1] for _, place in sorted(order)]

    # --- attempts with a step to go -------------------------------------------------------------------

    def _stuck(self, stuck: Stuck, step: Step) -> Attempt | None:
        best = self._best(stuck, step)
        if best is None:
            return None
        event, faults = best
        names = [self._evidence.compiled.query.patterns[symbol].name for symbol in step.place.symbols]
        if faults[0].cause != "iterations" or event is not None:
            return self._attempt(stuck, " & ".join(names), event, faults)
        return self._attempt(stuck, self._written(stuck.run.lacks[0]), None, faults)

    def _best(self, stuck: Stuck, step: Step) -> Found | None:
        """The event with the fewest faults, and these: after the run, if need be without a part of the pattern; before.

        One that has another term than is asked about comes after those, unless the terms are alike.
        An event that comes too early is named only if no later one lacks as little.
        """
        whole_pattern = (None,) * len(step.place.symbols)
        best = self._least(stuck, step, whole_pattern, after=True)
        otherwise = None if best is not None and len(best[1]) == 1 else self._otherwise_bound(stuck, step)
        if otherwise is not None and any("same" in fault.detail for fault in otherwise[1]):
            best = _fewer(best, otherwise)
        for lacks in self._lacking(step):
            if best is not None and len(best[1]) == 1:
                return best
            best = _fewer(best, self._least(stuck, step, lacks, after=True))
        best = _fewer(best, otherwise)
        if best is not None and len(best[1]) == 1:
            return best
        best = _fewer(best, self._least(stuck, step, whole_pattern, after=False))
        later = [next(self._later(stuck, symbol), None) for symbol in step.place.symbols]
        if None in later and (best is None or len(best[1]) > 1):
            ended = [symbol for symbol, event in zip(step.place.symbols, later, strict=True) if event is None]
            return None, (*self._faults(stuck).too_few(stuck.run), self._end(stuck, ended))
        return best if best is not None or later[0] is None else self._nothing_fits(stuck, step, later[0])

    def _otherwise_bound(self, stuck: Stuck, step: Step) -> Found | None:
        """Of the events that have other terms than are asked about, one with terms that are alike, else the nearest."""
        asked, (symbol, *others) = self._furthest.asked, step.place.symbols
        if others or not asked.bindings:
            return None
        times, faults = self._evidence.merged.times, self._faults(stuck)
        seen = seen_from(stuck.run.entries, step.path, stuck.search.world.given)
        open_ = {variable: value for variable, value in asked.bindings.items() if variable not in seen}
        time = max((times[event] for event in stuck.run.last), default=None)
        best: Found | None = None
        for event, values in chain(
            self._alike(symbol, open_, asked.least), self._around(symbol, None, time, after=True)
        ):
            found = [faults.asked(v, open_[v], values[v]) for v in clashes(values, open_)]
            if found and self._furthest.fits(symbol, event, {}):
                found += self._of(stuck, step, [()], [(event, values)])
                best = _fewer(best, (event, sorted(found, key=lambda fault: CAUSES.index(fault.cause))))
        return best

    def _lacking(self, step: Step) -> Iterator[tuple[int | None, ...]]:
        """Each part of the patterns of a step's symbols, as what is left out of them."""
        symbols = step.place.symbols
        for place, symbol in enumerate(symbols):
            for part in self.relaxed(symbol).choices:
                yield tuple(part if place == other else None for other in range(len(symbols)))

    def _end(self, stuck: Stuck, symbols: Sequence[int]) -> Fault:
        streams = self._streams(symbols)
        where = f"stream {streams[0]}" if len(streams) == 1 else f"streams {', '.join(streams)}"
        after = "" if not stuck.run.last else f" after <{self._evidence.name(stuck.run.last[-1])}>"
        return Fault("end", {"streams": streams}, f"wait for an event on {where}{after}")

    def _nothing_fits(self, stuck: Stuck, step: Step, event: int) -> Found | None:
        """The faults of an event that lacks several parts of the step's pattern."""
        lacks, chosen = list[Sequence[int]](), list[Candidate]()
        for symbol in step.place.symbols:
            parts, candidate = self._lacking_least(stuck, symbol, event)
            lacks.append(parts)
            chosen.append(candidate)
        faults = self._of(stuck, step, lacks, chosen)
        return (chosen[-1][0], faults) if faults else None

    def _lacking_least(self, stuck: Stuck, symbol: int, event: int) -> tuple[Sequence[int], Candidate]:
        """The parts that an event, or else the nearest one on the streams of a symbol, lacks, and what it has."""
        relaxed, merged = self.relaxed(symbol), self._evidence.merged
        for candidate in self._at(symbol, None, merged.times[event]):
            together = merged.times[candidate[0]] == merged.times[event]
            if together and merged.before(stuck.run.last, (candidate[0],)):
                return (), candidate
        if not relaxed.on_streams(event):
            event = relaxed.nearest(event)
        parts, values = relaxed.least(event)
        return parts, (event, values)

    def _of(self, stuck: Stuck, step: Step, lacks: Sequence[Sequence[int]], chosen: Sequence[Candidate]) -> list[Fault]:
        """The faults of events for a step that lack parts of its patterns, in the order of CAUSES; raises NotWanted."""
        check_wanted()
        faults = self._faults(stuck)
        found = [
            faults.among(chosen, candidate, self.relaxed(symbol).fault(part, *candidate))
            for symbol, parts, candidate in zip(step.place.symbols, lacks, chosen, strict=True)
            for part in parts
            if part != self.relaxed(symbol).partition
        ]
        found += faults.of(stuck.run, step, stuck.ahead or NOTHING, chosen)
        return sorted(found, key=lambda fault: CAUSES.index(fault.cause))

    def _least(self, stuck: Stuck, step: Step, lacks: Sequence[int | None], after: bool) -> Found | None:
        """Of the events that have solutions of the patterns without these parts, the one with the fewest faults."""
        best: Found | None = None
        for chosen in self._choices(stuck, step, lacks, after):
            faults = self._of(stuck, step, [() if part is None else (part,) for part in lacks], chosen)
            if faults and (best is None or len(faults) < len(best[1])):
                best = chosen[-1][0], faults
                if len(faults) == 1:
                    break
        return best

    def _choices(
        self, stuck: Stuck, step: Step, lacks: Sequence[int | None], after: bool
    ) -> Iterator[tuple[Candidate, ...]]:
        """Events for the step, after a run: those that agree with it, then the nearest ones; or those up to it."""
        symbol, *others = step.place.symbols
        world, run = stuck.search.world, stuck.run
        times = world.merged.times
        time = max((times[event] for event in run.last), default=None)
        found: Iterable[Candidate] = self._around(symbol, lacks[0], time, after)
        if after and lacks[0] is None:
            bindings = seen_from(run.entries, step.path, world.given)
            begin = BEFORE_ALL if time is None else time
            fitting = world.solutions[symbol].fitting(bindings, begin, AFTER_ALL)
            found = chain(islice(fitting, LOOKS_MAX), self._alike(symbol, bindings, begin), found)
        for candidate in found:
            if candidate[0] in run.events or not self._furthest.fits(symbol, *candidate):
                continue
            if not others:
                yield (candidate,)
                continue
            rest = [self._at(other, part, times[candidate[0]]) for other, part in zip(others, lacks[1:], strict=True)]
            for chosen in islice(product(*rest), LOOKS_MAX):
                if not any(event in run.events for event, _ in chosen):
                    yield candidate, *chosen

    def _around(self, symbol: int, part: int | None, time: int | None, after: bool) -> Sequence[Candidate]:
        """Solutions after a time, the nearest first; or those up to it."""
        times, found = self._sorted(symbol, part)
        begin = 0 if time is None else bisect_right(times, time)
        return found[begin : begin + LOOKS_MAX] if after else found[max(begin - LOOKS_MAX, 0) : begin][::-1]

    def _alike(self, symbol: int, bindings: Values, begin: int) -> Iterator[Candidate]:
        """Solutions from a time on that agree with bindings but in terms that are alike."""
        certain = self._evidence.compiled.program.symbols[symbol].certain
        key = tuple(variable for variable in sorted(certain) if variable in bindings)
        if not key or len(self._evidence.found[symbol]) > ALIKE_MAX:
            return
        if (symbol, key) not in self._likenesses:
            times, index = self._evidence.merged.times, dict[tuple[object, ...], list[Candidate]]()
            for candidate in sorted(self._evidence.found[symbol], key=lambda each: (times[each[0]], each[0])):
                index.setdefault(self._likeness_of(candidate[1], key), []).append(candidate)
            self._likenesses[symbol, key] = index
        alike = self._likenesses[symbol, key].get(self._likeness_of(bindings, key), ())
        times = self._evidence.merged.times
        differing = (each for each in alike if any(each[1][v] != bindings[v] for v in key))
        yield from islice((each for each in differing if times[each[0]] >= begin), LOOKS_MAX)

    def _likeness_of(self, values: Values, key: Sequence[int]) -> tuple[object, ...]:
        """The same for solutions whose terms are alike."""
        for value in {values[variable] for variable in key} - self._keys.keys():
            self._keys[value] = likeness_key(self._evidence.term(value))
        return tuple(self._keys[values[variable]] for variable in key)

    def _at(self, symbol: int, part: int | None, time: int) -> list[Candidate]:
        """Solutions at a time; if there is none, the nearest one."""
        times, found = self._sorted(symbol, part)
        begin, end = bisect_left(times, time), bisect_right(times, time)
        here = [each for each in found[begin:end] if self._furthest.fits(symbol, *each)]
        near = [each for each in found[max(begin - 1, 0) : end + 1] if self._furthest.fits(symbol, *each)]
        own = self._evidence.merged.times
        return here or sorted(near, key=lambda each: abs(own[each[0]] - time))[:1]

    def _sorted(self, symbol: int, part: int | None) -> tuple[list[int], list[Candidate]]:
        key = (symbol, -1 if part is None else part)
        if key not in self._by_time:
            own = self._evidence.found[symbol] if part is None else self.relaxed(symbol).without(part)
            times = self._evidence.merged.times
            found = sorted(own, key=lambda each: (times[each[0]], each[0]))
            self._by_time[key] = [times[event] for event, _ in found], found
        return self._by_time[key]

    def _later(self, stuck: Stuck, symbol: int) -> Iterator[int]:
        """The events on the streams of a symbol that come after a run, and may be taken."""
        merged, asked = stuck.search.world.merged, self._furthest.asked
        begin = min(stuck.run.last, default=0)
        pins = [] if symbol in self._furthest.repeated else [own for s, own in asked.pins.items() if s == symbol]
        for event in range(begin, merged.count):
            read = self.relaxed(symbol).on_streams(event)
            named = all(event in own for own in pins)
            inside = asked.least <= merged.times[event] <= asked.most
            if read and named and inside and merged.before(stuck.run.last, (event,)):
                yield event

    def _streams(self, symbols: Sequence[int]) -> tuple[str, ...]:
        query = self._evidence.compiled.query
        read = {stream for symbol in symbols for stream in query.patterns[symbol].streams}
        return tuple(query.streams[stream][0] for stream in sorted(read))

    # --- attempts that have taken all steps -----------------------------------------------------------

    def _removed(self, stuck: Stuck) -> Attempt | None:
        """A run that has taken all steps and is no match; of windows that overlap, in that with the fewest faults."""
        if stuck.run.lacks:
            return self._removed_in(stuck)
        windows = islice(in_windows(stuck.search, stuck.run), WINDOWS_MAX)
        found = [self._removed_in(replace(stuck, search=search)) for search in windows]
        return min((each for each in found if each is not None), key=_size, default=None)

    def _removed_in(self, stuck: Stuck) -> Attempt | None:
        run, search, faults = stuck.run, stuck.search, self._faults(stuck)
        found = list(faults.too_few(run))
        step = self._written(run.lacks[0]) if found else ""
        failing = list(search.false_at_end(run))
        for pair in failing:
            found.append(faults.condition(run, pair))
            owner = run.entries[-1 if pair[0] == MATCH else pair[0]]
            step = step or self._evidence.compiled.query.patterns[owner.symbol].name
        if failing:
            world = search.world.relaxed(False, [condition for _, condition in failing])
            found += faults.passed_over(world, run)
            faults = replace(faults, search=whole(world))
        for name, fault in in_the_way(faults, run):
            found.append(fault)
            step = step or name
        return self._attempt(stuck, step, None, found) if found else None

    # --- values ---------------------------------------------------------------------------------------

    def _attempt(self, stuck: Stuck, step: str, event: int | None, faults: Sequence[Fault]) -> Attempt:
        evidence, given = self._evidence, stuck.search.world.given
        seen = bound(evidence, seen_from(stuck.run.entries, (), given if stuck.run.entries else {}))
        named = tuple((as_written(name), term) for name, term in seen)
        return Attempt(
            events_of(evidence, stuck.run),
            named,
            step,
            None if event is None else evidence.name(event),
            tuple(faults),
        )

    def _written(self, place: Place) -> str:
        return written(self._evidence, place)

    def _faults(self, stuck: Stuck) -> Faults:
        return Faults(self._evidence, stuck.search, self._late)

    def relaxed(self, symbol: int) -> Relaxed:
        """The pattern of a symbol without some of its parts."""
        if symbol not in self._relaxed:
            self._relaxed[symbol] = Relaxed(self._evidence, symbol)
        return self._relaxed[symbol]


def described(evidence: Evidence, run: Run, fault: Fault) -> Attempt:
    """The attempt of a match that something after it removed."""
    last = max(run.entries, key=lambda entry: (entry.event, entry.step))
    named = tuple((as_written(name), term) for name, term in bound(evidence, seen_from(run.entries, (), {})))
    return Attempt(events_of(evidence, run), named, evidence.compiled.query.patterns[last.symbol].name, None, (fault,))
