"""The next step of a history of an engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tests.simulation.bodies import Event
from tests.simulation.drawing import MANY, QUERIES_MAX, Drawing, Put
from tests.simulation.drawn_events import drawn_events
from tests.simulation.engine_steps import (
    Advance,
    Change,
    Open,
    Push,
    PushBatch,
    Register,
    Replace,
    Restore,
    Snapshot,
    Step,
)
from tests.simulation.texts import INPUTS
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import SECOND

_OF_A_QUERY = ("pause", "resume", "unregister", "replace nothing", "replace state", "replace window")
"""Where there are no queries, these ask for one that is not there, as a program does that opened another engine."""
_CONSTANT = re.compile(r"(FILTER\s?\([^\n]*?[<>=] )(\d)")


@dataclass(slots=True)
class EngineDrawing(Drawing):
    """Draws steps of a history of an engine; `now` is the time of the newest event."""

    DELETE: ClassVar[str] = "unregister"
    OTHERS: ClassVar[tuple[str, ...]] = ("http://ex.org/s3",)
    WEIGHTS: ClassVar[Mapping[str, int]] = {
        "register": 8, "replace nothing": 4, "replace state": 4, "replace window": 4, "pause": 5, "resume": 6,
        "unregister": 4, "push": 25, "push batch": 16, "push late": 6, "push malformed": 4, "advance": 8, "open": 2,
        "restore": 8, "snapshot": 4,
    }  # fmt: skip

    def _is_possible(self, kind: str) -> bool:
        match kind:
            case "register":
                return len(self.queries) < QUERIES_MAX
            case "resume":
                return not self.queries or any(query.paused for query in self.queries.values())
        return True

    def _drawn(self, kind: str, dice: SeededDice) -> Step:
        if kind in _OF_A_QUERY and not self.queries:
            name, keep = self._free_name(), kind.removeprefix("replace ")
            return Change(kind, name) if keep == kind else Replace(name, self._text(Put("plain"), dice), keep)
        match kind:
            case "register":
                name, put = self._free_name(), self._new_query(dice, knows=True)
                self.queries[name] = put
                return Register(name, put.text)
            case "replace nothing" | "replace state" | "replace window":
                return self._replace(kind.removeprefix("replace "), dice)
            case "pause" | "resume":
                name = self._name_of(paused=kind == "resume")
                self.queries[name].paused = kind == "pause"
                return Change(kind, name)
            case "unregister":
                name = self._any_name()
                if not self._is_read(name):
                    del self.queries[name]
                return Change(kind, name)
            case "open":
                self.queries.clear()
                return Open(dice.chance(70), int(dice.pick("0", "2")))
            case "restore":
                return Restore()
            case "snapshot":
                return Snapshot()
            case "advance":
                stream = dice.pick(*INPUTS, INPUTS[1], *self.OTHERS)
                self.cursors[stream] = time = max(self.cursors.get(stream, 0), self.now)
                return Advance(stream, time)
        return self._push(kind, dice)

    def _replace(self, keep: str, dice: SeededDice) -> Replace:
        """Another text; where the state is kept, mostly the same one with another constant."""
        name = self._any_name()
        put = self.queries[name]
        if keep == "state" and dice.chance(80):
            put.text = _CONSTANT.sub(lambda found: f"{found[1]}{dice.number(0, 3)}", put.text, count=1)
        else:
            put.text = self._text(put, dice)
        return Replace(name, put.text, keep)

    def _push(self, kind: str, dice: SeededDice) -> Push | PushBatch:
        stream = dice.pick(*INPUTS, *INPUTS, *self.OTHERS)
        number = 1 if kind == "push" else dice.number(*MANY) if self.hour.is_short else dice.number(2, 12)
        gap = dice.number(0, 5) if self.hour.is_ahead(self.now) else dice.number(20, 200)
        begin = max(self.cursors.get(stream, 0), self.now - 60 * SECOND) + gap * SECOND
        events = drawn_events(dice, number, begin, self.first)
        self.first += number
        self.cursors[stream] = end = events[-1].time or begin
        self.now = max(self.now, end)
        if kind == "push":
            return Push(stream, events[0])
        if kind == "push late":
            events = [self._late(each, dice) for each in events]
        elif kind == "push malformed":
            events = [replace(each, time=None) if dice.chance(20) else each for each in events]
        return PushBatch(kind, stream, dice.pick("nquads", "trig"), tuple(events))

    def _late(self, event: Event, dice: SeededDice) -> Event:
        assert event.time is not None
        return replace(event, time=event.time - dice.number(1, 400) * SECOND) if dice.chance(40) else event
