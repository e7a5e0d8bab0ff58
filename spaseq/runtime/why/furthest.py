"""The partial matches that came furthest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from arrays.progress import advance, expect
from automata.plan import expression as nodes
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.observer import Observer
from spaseq.runtime.why.overlapping import is_match
from spaseq.runtime.why.places import Before, Step, steps_of
from spaseq.runtime.why.runs import Run, Values, seen_from
from spaseq.runtime.why.search import Search, whole
from spaseq.runtime.why.world import World

KEPT_MAX = 200
"""Attempts that are looked into; of more that came as far, the first ones."""
TRIES_MAX = 25_000
"""Events that are tried as the next step of some partial match: those are looked for in the order of time."""
FIRST_TRIES_MAX = 2_000
"""So many of them for the partial matches that begin with one event."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The matches that are asked about.

    bindings        by variable
    pins            by symbol, events that are among those of its steps
    least, most     the times between which their events lie
    """

    bindings: Values
    pins: Mapping[int, frozenset[int]]
    least: int
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Stuck:
    """A run, and the step that it was to take; None: it has taken all."""

    search: Search
    run: Run
    step: Step | None
    ahead: Before | None


class Furthest(Observer):
    """The runs that came furthest, of all partitions."""

    def __init__(self, evidence: Evidence, asked: Asked) -> None:
        self.evidence = evidence
        self.asked = asked
        self.reach = (0, 0)
        self.kept: list[Stuck] = []
        self.left_out = 0
        self.ended_early = False
        self._tries = self._first_tries = 0
        self._search: Search | None = None
        self._bound: tuple[int, int] | None = None
        self.repeated = frozenset(symbol for world in evidence.worlds[:1] for symbol in _repeated(world))
        self._free = frozenset(variable for world in evidence.worlds[:1] for variable in world.loops)

    def look(self) -> list[Run]:
        """Searches every partition; returns the matches that are asked about, once in whichever ways reached."""
        found: dict[object, Run] = {}
        expect(len(self.evidence.worlds))
        for number, world in enumerate(self.evidence.worlds):
            self._search = search = whole(world, self)
            self._bound = _bound(world)
            for run in search.complete():
                if not self._as_asked(run, world):
                    continue
                if not run.lacks and is_match(search, run):
                    found.setdefault((number, run.identity), run)
                self._note(Stuck(search, run, None, None))
            advance()
        return list(found.values())

    def attempt(self, run: Run, step: Step, before: Before) -> bool:
        """Keeps the attempt if none came further."""
        if not self._possible(run):
            return False
        assert self._search is not None
        self._note(Stuck(self._search, run, step, before))
        return not run.lacks and not self._enough

    @property
    def _enough(self) -> bool:
        """True once none can come further, and as many as are kept have come as far."""
        return self._bound is not None and self.reach >= self._bound and len(self.kept) == KEPT_MAX

    def goes_on(self, run: Run) -> bool:
        self._tries += 1
        self._first_tries = self._first_tries + 1 if run.entries else 0
        going = self._tries <= TRIES_MAX and self._first_tries <= FIRST_TRIES_MAX
        self.ended_early = self.ended_early or not going
        return going

    def fits(self, symbol: int, event: int, values: Values) -> bool:
        asked = self.asked
        if not asked.least <= self.evidence.merged.times[event] <= asked.most:
            return False
        if any(values.get(v, value) != value for v, value in asked.bindings.items() if v not in self._free):
            return False
        pins = asked.pins.get(symbol)
        return pins is None or event in pins or symbol in self.repeated

    def _possible(self, run: Run) -> bool:
        """True if the events that are asked for have been taken, or may still be."""
        precedes, taken = self.evidence.merged.precedes, {(e.symbol, e.event) for e in run.entries}
        waiting = (event for s, pins in self.asked.pins.items() for event in pins if (s, event) not in taken)
        return not any(precedes(event, last) for event in waiting for last in run.last)

    def _as_asked(self, run: Run, world: World) -> bool:
        taken = {(entry.symbol, entry.event) for entry in run.entries}
        seen = seen_from(run.entries, (), world.given)
        return all((s, event) in taken for s, pins in self.asked.pins.items() for event in pins) and all(
            seen.get(variable) == value for variable, value in self.asked.bindings.items()
        )

    def _note(self, stuck: Stuck) -> None:
        reach = stuck.run.reach
        if reach > self.reach:
            self.reach, self.left_out = reach, 0
            self.kept.clear()
        if reach == self.reach:
            if len(self.kept) < KEPT_MAX:
                self.kept.append(stuck)
            else:
                self.left_out += 1


def _bound(world: World) -> tuple[int, int] | None:
    """The furthest that a run can come, where the sequence is one of single steps, and one has no solution."""
    items = world.root.items or (world.root,)
    steps = [item for item in items if not isinstance(item.node, nodes.Negation)]
    if not all(isinstance(item.node, nodes.Step) for item in steps):
        return None
    lacking = [place for place, item in enumerate(steps) if not world.solutions[item.symbols[0]].all]
    return (lacking[0], lacking[0]) if lacking else None


def _repeated(world: World) -> Iterator[int]:
    """The symbols that a match may take more than once."""
    places = list(steps_of(world.root))
    counted = [symbol for place in places for symbol in place.symbols]
    for place in places:
        around = any(isinstance(above.node, nodes.Repetition) for above, _ in world.lines[place.number])
        yield from (symbol for symbol in place.symbols if around or counted.count(symbol) > 1)
