"""The constraints that keep a partial match from taking an event as its next step (specification 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity
from sparql_gpm.terms import to_ntriples
from spaseq.algebra.words import duration_in_words, window_in_words
from spaseq.outputs.attempts import CAUSES, Fault
from spaseq.runtime.why.alike import likeness
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.places import Before, Step
from spaseq.runtime.why.reasons import condition_seen
from spaseq.runtime.why.runs import Run, Values, clashes, seen_from
from spaseq.runtime.why.search import Search, whole
from spaseq.runtime.why.world import Candidate, Frame, World

_COMPARED = {"value": "values", "text": "texts", "number": "numbers", "case": "texts in lower case"}
"""In words, what is compared of terms that have it in common."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of the runs of one search.

    late    by event that was late, the delay in nanoseconds with which it would not have been
    """

    evidence: Evidence
    search: Search
    late: Mapping[int, int]

    def of(self, run: Run, step: Step, ahead: Before, chosen: Sequence[Candidate]) -> list[Fault]:
        """Everything that keeps a run from taking these events as its next step, in the order of CAUSES."""
        taken = [event for event, _ in chosen]
        window = list(self.window(self.search.world.frame.joined_by(taken), [*run.events, *taken]))
        limits, failing = list(self._limits(run, step, chosen)), self._failing(run, step, chosen)
        found = [
            *self._late(chosen),
            *self._order(run, chosen),
            *self._join(run, step, chosen),
            *self._partition(chosen),
            *(self.condition(longer, pair) for longer, pair in failing),
            *limits,
            *window,
            *self.too_few(run),
        ]
        world = self.search.world.relaxed(bool(window), [condition for _, (_, condition) in failing])
        ordered = not any(fault.cause == "order" for fault in found)
        if failing:
            found += self.passed_over(world if ordered else world.without(frozenset(taken)), run)
        if ordered:
            if limits:
                run, ahead = replace(run, bounds=()), ahead.unlimited()
            found += self._contiguity(whole(world), run, ahead, taken)
        return sorted(found, key=lambda fault: CAUSES.index(fault.cause))

    def _late(self, chosen: Sequence[Candidate]) -> Iterator[Fault]:
        for event, _ in chosen:
            if event in self.late:
                delay = duration_in_words(self.late[event])
                detail = {"event": self.evidence.name(event), "delay": delay}
                yield Fault("late", detail, f"allow a delay of {delay}: --max-delay {self.late[event] / 1e9:g}s")

    def _order(self, run: Run, chosen: Sequence[Candidate]) -> Iterator[Fault]:
        merged, name = self.search.world.merged, self.evidence.name
        for event, _ in chosen:
            before = [last for last in run.last if not merged.precedes(last, event)]
            if before:
                detail = {"event": name(event), "after": name(before[-1])}
                yield Fault("order", detail, f"let <{name(event)}> come after <{name(before[-1])}>")
        times = {merged.times[event] for event, _ in chosen}
        if len(times) > 1:
            events = tuple(name(event) for event, _ in chosen)
            together = " and ".join(f"<{event}>" for event in events)
            yield Fault("order", {"events": events}, f"let {together} have one time")

    def _join(self, run: Run, step: Step, chosen: Sequence[Candidate]) -> Iterator[Fault]:
        bindings, of_steps = self._bindings(run, step), self.evidence.of_steps
        for symbol, candidate in zip(step.place.symbols, chosen, strict=True):
            values = candidate[1]
            clashing = set(clashes(values, bindings))
            for variable in sorted(clashing - {of_steps[v] for v in clashing & of_steps.keys() if of_steps[v] != v}):
                fault = self.join(symbol, variable, bindings[variable], values[variable])
                yield self.among(chosen, candidate, fault)
            bindings = {**values, **bindings}

    def _bindings(self, run: Run, step: Step) -> Values:
        """The bindings of a run for its next step; those of the partition also by the variables of steps."""
        given, of_steps = self.search.world.given, self.evidence.of_steps
        return {**{of_steps[v]: value for v, value in given.items()}, **seen_from(run.entries, step.path, given)}

    def join(self, symbol: int, variable: int, run: int, event: int) -> Fault:
        """Two terms of a variable, the latter of a solution of a symbol."""
        name = self.evidence.variable(variable)
        mine, other = self.evidence.term(run), self.evidence.term(event)
        detail: dict[str, Any] = {"variable": name, "run": mine, "event": other}
        alike = likeness(mine, other)
        if alike is None:
            return Fault("join", detail, f"let ?{name} be the same: it is {to_ntriples(mine)} and {to_ntriples(other)}")
        detail["same"] = alike.name
        if variable in self.search.world.program.partition:
            return Fault("join", detail, f"write {to_ntriples(mine)} and {to_ntriples(other)} in one way")
        query = self.evidence.compiled.query
        step = query.patterns[symbol].name
        names = (f"{name}_{step}{number or ''}" for number in count())
        other_name = next(each for each in names if each not in query.variables)
        compared = alike.written(other_name, name)
        repair = f"name it ?{other_name} in {step}, and compare the {_COMPARED[alike.name]}: {compared}"
        return Fault("join", detail, repair)

    def asked(self, variable: int, asked: int, event: int) -> Fault:
        """A term that is asked about, and the one that an event has in its place."""
        name = self.evidence.variable(variable)
        mine, other = self.evidence.term(asked), self.evidence.term(event)
        alike = likeness(mine, other)
        same = {} if alike is None else {"same": alike.name}
        return Fault("join", {"variable": name, "run": mine, "event": other, **same}, f"ask for {to_ntriples(other)}")

    def _partition(self, chosen: Sequence[Candidate]) -> Iterator[Fault]:
        world = self.search.world
        for candidate in chosen:
            event, values = candidate
            for variable in world.program.partition:
                if variable not in values:
                    name = self.evidence.variable(variable)
                    detail: dict[str, Any] = {"variable": name}
                    if variable in world.given:
                        detail["run"] = self.evidence.term(world.given[variable])
                    repair = f"let <{self.evidence.name(event)}> {self._binds(name)}"
                    yield self.among(chosen, candidate, Fault("partition", detail, repair))

    def _binds(self, name: str) -> str:
        if self.evidence.compiled.query.using is None:
            return f"bind ?{name}"
        return f"have a solution of the pattern of USING that agrees with it in ?{name}"

    def among(self, chosen: Sequence[Candidate], candidate: Candidate, fault: Fault) -> Fault:
        """A fault of one of the events that are to be taken at one time, with its graph."""
        if len(chosen) == 1:
            return fault
        return replace(fault, detail={**fault.detail, "graph": self.evidence.name(candidate[0])})

    def _failing(self, run: Run, step: Step, chosen: Sequence[Candidate]) -> list[tuple[Run, tuple[int, int]]]:
        longer = self.search.lengthened(run, step, self._agreeing(run, step, chosen))
        return [(longer, pair) for pair in self.search.failing(longer, step.place, step.path)]

    def _agreeing(self, run: Run, step: Step, chosen: Sequence[Candidate]) -> list[Candidate]:
        """The events with the run's terms where theirs differ: so conditions are decided once joins are repaired."""
        bindings = self._bindings(run, step)
        found: list[Candidate] = []
        for event, values in chosen:
            found.append((event, {variable: bindings.get(variable, value) for variable, value in values.items()}))
            bindings = {**values, **bindings}
        return found

    def condition(self, run: Run, pair: tuple[int, int]) -> Fault:
        """A condition that does not hold."""
        seen = condition_seen(self.evidence, self.search, run, pair)
        return Fault("condition", {"text": seen.text, "values": dict(seen.values)}, f"leave out {seen.text}")

    def _limits(self, run: Run, step: Step, chosen: Sequence[Candidate]) -> Iterator[Fault]:
        times = self.search.world.merged.times
        ends = [times[event] for event, _ in chosen]
        if step.limit is not None and run.last:
            took = min(ends) - max(times[event] for event in run.last)
            if took > step.limit:
                yield _limit(step.limit, took)
        for begun, limit in run.bounds:
            inside = [*(times[event] for event in run.events[begun:]), *ends]
            if max(inside) - min(inside) > limit:
                yield _limit(limit, max(inside) - min(inside))

    def window(self, frame: Frame, events: Sequence[int]) -> Iterator[Fault]:
        """The fault of events that fall into no window."""
        if frame.holds(events):
            return
        places = [frame.on_axis(event) for event in events]
        written, window = window_in_words(frame.window).removeprefix("within "), frame.window
        spread = max(places) - min(places)
        needed = f"{int(spread) + 1} events" if window.in_events else duration_in_words(int(spread) or 1)
        if window.anchored and min(places) < window.start:
            repair = "let the windows start earlier: STARTING AT"
        elif window.sliding or spread >= window.size:
            repair = f"widen the window to {needed}"
        else:
            repair = f"let the window slide: its borders part the events, which {needed} span"
        yield Fault("window", {"window": written, "needed": needed}, repair)

    def too_few(self, run: Run) -> Iterator[Fault]:
        """The repetitions that were left after too few iterations."""
        for place in run.lacks:
            loop = place.node
            assert isinstance(loop, nodes.Repetition)
            done = 1 + [turn for e in run.entries for number, turn in e.path if number == place.number][-1]
            detail: dict[str, Any] = {"at_least": loop.at_least, "taken": done}
            repair = f"let {done} {'iteration' if done == 1 else 'iterations'} be enough, not {loop.at_least}"
            yield Fault("iterations", detail, repair)

    def passed_over(self, world: World, run: Run) -> Iterator[Fault]:
        """The nearer events of the steps that a run has taken, once conditions are left out that were in their way."""
        for step in run.taken:
            yield from self._contiguity(whole(world), step.run, step.ahead, step.events)

    def _contiguity(self, search: Search, run: Run, ahead: Before, taken: Sequence[int]) -> Iterator[Fault]:
        """The nearer events, once what else is in the way has been repaired: it may be in their way, too."""
        if ahead.operator in (None, Contiguity.ANY) or len(run.entries) == run.start:
            return
        world, events = search.world, tuple(sorted(set(taken)))
        nearer = [n for n, _ in search.nearest(run, ahead) if world.merged.before(n, events)]
        if ahead.operator is Contiguity.STRICT:
            between = world.between(run.last, events)
            if between is not None:
                operator = ":" if nearer else ";"
                yield self._in_between(",", operator, between)
        elif nearer:
            yield self._in_between(";", ":", nearer[0][0])

    def _in_between(self, written: str, enough: str, event: int) -> Fault:
        name = self.evidence.name(event)
        detail = {"operator": written, "event": name}
        return Fault("contiguity", detail, f"write '{enough}' for '{written}': <{name}> is between")


def _limit(limit: int, took: int) -> Fault:
    detail = {"limit": duration_in_words(limit), "took": duration_in_words(took)}
    return Fault("limit", detail, f"raise the limit to {duration_in_words(took)}")
