"""The conditions that a partial match owes, and when they are decided (specification 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from spaseq.runtime.why.places import Path, Place, followers
from spaseq.runtime.why.runs import MATCH, Entry, Run, rebinds, seen_from
from spaseq.runtime.why.world import World


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Owed:
    """The conditions of the runs of one sequence: the whole SEQ, or a negated group inside a whole match.

    covers  whether an event is in the window of the whole match; None for SEQ itself, where each match has its own
    base    how many entries belong to the whole match that a negated group is looked for in
    within  the number of that negation
    """

    world: World
    covers: Callable[[int], bool] | None = None
    base: int = 0
    within: int | None = None

    def due(self, run: Run, added: Sequence[Entry]) -> frozenset[tuple[int, int]]:
        """The new steps' conditions, and those of which a later iteration rebinds a variable."""
        world, known = self.world, len(run.entries)
        due = {(known + i, which) for i, entry in enumerate(added) for which in world.owned[entry.symbol]}
        if any(entry.path for entry in added):
            due |= {
                (i, which)
                for i, entry in enumerate(run.entries[self.base :], self.base)
                for which in world.owned[entry.symbol]
                if any(rebinds(new, entry.path, world.watched[which]) for new in added)
            }
            due |= {
                (MATCH, which)
                for which in world.waiting
                if self.covers is None and any(rebinds(new, (), world.watched[which]) for new in added)
            }
        return frozenset(due)

    def decided(self, run: Run, at: Place, path: Path) -> Run | None:
        """The run with every condition decided that waits for nothing; None when one does not hold."""
        if not run.owed:
            return run
        waiting = frozenset([pair for pair in run.owed if self.waits(run, pair, at, path)])
        if all(self.true(run, pair) for pair in run.owed - waiting):
            return replace(run, owed=waiting)
        return None

    def failing(self, run: Run, at: Place, path: Path) -> list[tuple[int, int]]:
        """The conditions that wait for nothing and do not hold."""
        return sorted(p for p in run.owed if not self.waits(run, p, at, path) and not self.true(run, p))

    def path_of(self, run: Run, pair: tuple[int, int]) -> Path:
        """The iterations that a condition is seen from."""
        return () if pair[0] == MATCH else run.entries[pair[0]].path

    def waits(self, run: Run, pair: tuple[int, int], at: Place, path: Path) -> bool:
        """True if a variable is not its own GPM's, not bound so far, and a step that can still follow binds it."""
        world, own = self.world, self.path_of(run, pair)
        if not world.foreign[pair[1]]:
            return False
        unbound = world.foreign[pair[1]] - seen_from(run.entries, own, world.given).keys()
        if not unbound:
            return False
        can_follow = followers(world.lines, at.number, path, own, self.within)
        return any(unbound & world.program.symbols[symbol].scope for step in can_follow for symbol in step.symbols)

    def true(self, run: Run, pair: tuple[int, int]) -> bool:
        """True if a condition holds, as its step's iteration sees the match."""
        event = -1 if pair[0] == MATCH else run.entries[pair[0]].event
        return self.world.holds(pair[1], run.entries, self.path_of(run, pair), event)
