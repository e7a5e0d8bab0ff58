"""Hopping windows (specification 3.3): matches found once and counted in every window, or window by window.

In each window the query up to AFTER MATCH is evaluated by itself, as if it tumbled. Where only the events of a match
decide whether it is one, each match is found once, in a sliding window of the same length, and belongs to every window
that has all its events. Elsewhere (a negation at an end looks as far as the window, a selector and AFTER MATCH look at
other matches) every so manieth window is evaluated by a lane: its windows do not overlap, so that they tumble.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from automata import layouts
from automata.matches.match_table import PARTITION, MatchTable
from automata.plan.automaton import START
from automata.plan.plan import Plan
from automata.plan.program import Selector, Skip, Window
from automata.protocol import Restorable
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids, Match

LANES_MAX = 256
"""Windows that may overlap where each is evaluated by itself."""


def sliding_once(window: Window) -> Window:
    """The sliding window that has every match of a hopping one; of the others it may have some that no window has."""
    return Window(window.size if window.in_events else window.size - 1, window.in_events, sliding=True)


def why_by_window(plan: Plan) -> str | None:
    """The reason why hopping windows are evaluated one by one, or None: a match depends on its own events alone."""
    program = plan.program
    if program.selector is not Selector.ALL:
        return f"the selector {program.selector.value} compares the matches of a window"
    if program.skip is not Skip.NO_SKIP:
        return f"AFTER MATCH {program.skip.value} drops matches of a window"
    if plan.trails or any(edge.source == START and edge.passed for edge in plan.edges):
        return "what is absent at its beginning or end is absent as far as the window reaches"
    return None


def lane_windows(window: Window) -> tuple[Window, ...]:
    """The windows of each lane, which do not overlap; they leave a gap where the hop does not divide the size."""
    assert window.hop is not None, window
    lanes = -(-window.size // window.hop)
    period = lanes * window.hop
    hop = None if period == window.size else period
    return tuple(replace(window, start=window.start + lane * window.hop, hop=hop) for lane in range(lanes))


class Lanes(Restorable):
    """One evaluator for the windows of each lane; the `partition` of their matches is the number of the lane."""

    def __init__(self, plans: Sequence[Plan], make: Callable[[Plan], Restorable]) -> None:
        self._lanes = [make(plan) for plan in plans]

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        return self._found([lane.on_batch(events, solutions) for lane in self._lanes])

    def on_watermark(self, time: int) -> Sequence[Match]:
        return self._found([lane.on_watermark(time) for lane in self._lanes])

    def due(self) -> int:
        """The earliest time at which some lane is due."""
        return min(lane.due() for lane in self._lanes)

    def skip(self, gap: Gap) -> None:
        """The next events, none of which has a solution, or a time at which a lane is due."""
        for lane in self._lanes:
            lane.skip(gap)

    def finish(self) -> Sequence[Match]:
        return self._found([lane.finish() for lane in self._lanes])

    @property
    def runs(self) -> int:
        return sum(lane.runs for lane in self._lanes)

    def live_ids(self) -> list[Ids]:
        return [ids for lane in self._lanes for ids in lane.live_ids()]

    def oldest_position(self) -> int:
        return min(lane.oldest_position() for lane in self._lanes)

    def oldest_output_time(self, watermark: int) -> int:
        return min(lane.oldest_output_time(watermark) for lane in self._lanes)

    @property
    def needs_whole_slots(self) -> bool:
        return any(lane.needs_whole_slots for lane in self._lanes)

    @property
    def state_kind(self) -> str:
        return f"{len(self._lanes)} of {self._lanes[0].state_kind}"

    def snapshot(self) -> dict[str, Any]:
        return layouts.LANES.written(lanes=[lane.snapshot() for lane in self._lanes])

    def restore(self, state: Mapping[str, Any]) -> None:
        for lane, own in zip(self._lanes, layouts.LANES.read(state)["lanes"], strict=True):
            lane.restore(own)

    def _found(self, by_lane: Sequence[Sequence[Match]]) -> Sequence[Match]:
        numbered = [_numbered(matches, lane) for lane, matches in enumerate(by_lane) if len(matches)]
        if numbered and all(isinstance(matches, MatchTable) for matches in numbered):
            return MatchTable.concatenate([matches for matches in numbered if isinstance(matches, MatchTable)])
        return [match for matches in numbered for match in matches]


def _numbered(matches: Sequence[Match], lane: int) -> Sequence[Match]:
    """The matches of a lane with its number."""
    if not isinstance(matches, MatchTable):
        return [match._replace(partition=lane) for match in matches]
    facts = matches.facts.copy()
    facts[:, PARTITION] = lane
    return MatchTable(facts, matches.registers, matches.outputs, matches.entries, matches.ends)
