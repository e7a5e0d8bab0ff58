"""The next step of a history of a service."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tests.simulation.bodies import RDF_FORMATS, SINGLE_FORMATS, TABLE_FORMATS, Event
from tests.simulation.drawing import MANY, QUERIES_MAX, Drawing
from tests.simulation.drawn_events import drawn_events, drawn_knowledge
from tests.simulation.service_steps import (
    Advance,
    Delete,
    Follow,
    FullDisk,
    Kill,
    Know,
    Pass,
    Pause,
    Power,
    Push,
    Read,
    Register,
    Replace,
    Request,
    Restart,
    Resume,
    Snapshot,
    Step,
    StepClock,
    Vanish,
)
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import ORIGIN, SECOND

SKEW_S_MAX = 900
"""By which the wall clock is wrong at most: identities are remembered by it, for an hour."""
CLIENTS = ("c1", "c2", "c3")
_FAILING = ("register", "replace now", "pause", "resume", "knowledge", "push", "push again", "advance", "delete")
"""What is asked while the disk fails, or when power is lost."""


@dataclass(slots=True)
class ServiceDrawing(Drawing):
    """Draws steps of a history of a service.

    pushed      the last bodies
    clients     the queries that they follow
    knows       the knowledge base has been put
    skew_s      by which the wall clock is wrong
    """

    OTHERS: ClassVar[tuple[str, ...]] = ("http://ex.org/arrivals", "http://ex.org/tables")
    WEIGHTS: ClassVar[Mapping[str, int]] = {
        "register": 6, "replace now": 4, "replace window": 2, "pause": 5, "resume": 9, "delete": 4, "knowledge": 4,
        "push": 12, "push late": 3, "push malformed": 3, "push again": 4, "advance": 6, "snapshot": 7, "restart": 2,
        "kill": 2, "power": 2, "full disk": 4, "clock step": 5, "time passes": 8, "follow": 6, "read": 8, "vanish": 5,
    }  # fmt: skip

    pushed: deque[Push] = field(default_factory=lambda: deque(maxlen=20))
    clients: dict[str, str] = field(default_factory=dict)
    knows: bool = False
    skew_s: int = 0

    # --- kinds ------------------------------------------------------------------------------------

    def _is_possible(self, kind: str) -> bool:
        match kind:
            case "register":
                return len(self.queries) < QUERIES_MAX
            case "replace now" | "replace window" | "pause" | "delete" | "follow":
                return bool(self.queries)
            case "resume":
                return any(query.paused for query in self.queries.values())
            case "push again":
                return bool(self.pushed)
            case "read" | "vanish":
                return bool(self.clients)
        return True

    def _drawn(self, kind: str, dice: SeededDice) -> Step:
        match kind:
            case "snapshot":
                return Snapshot()
            case "restart":
                return self._passed(Restart(dice.number(0, 20)))
            case "kill":
                return self._passed(self._kill(dice))
            case "power":
                return self._passed(self._power(dice))
            case "full disk":
                kind = self._any_failing(dice)
                code = int(dice.pick(str(errno.ENOSPC), str(errno.EIO)))
                request = self._request(kind, dice, is_done=False)
                return FullDisk(request, dice.number(0, 1), code)
            case "clock step":
                low, high = -SKEW_S_MAX - self.skew_s, SKEW_S_MAX - self.skew_s
                seconds = dice.number(max(low, -600), min(high, 600))
                self.skew_s += seconds
                return StepClock(seconds)
            case "time passes":
                long = not self.hour.is_ahead(self.now)
                return self._passed(Pass(dice.number(120, 1200) if long else dice.number(1, 20)))
            case "follow":
                client, query = dice.pick(*CLIENTS), self._any_name()
                self.clients[client] = query
                return Follow(client, query, int(dice.pick("0", "1000000000")))
            case "read":
                return Read(self.random.choice(list(self.clients)), dice.number(1, 5))
            case "vanish":
                return Vanish(self.random.choice(list(self.clients)))
        return self._request(kind, dice)

    def _passed(self, step: Restart | Kill | Power | Pass) -> Step:
        seconds = step.seconds if isinstance(step, Pass) else step.down_s
        self.now += seconds * SECOND
        return step

    def _kill(self, dice: SeededDice) -> Kill:
        down_s = dice.number(0, 20)
        match dice.pick("idle", "unread", "unread", "torn"):
            case "unread":
                return Kill(down_s, self._request(self._any_failing(dice), dice))
            case "torn":
                request = self._request("push", dice)
                return Kill(down_s, request, dice.number(0, 2), int(dice.pick("0", "50", "100")))
        return Kill(down_s)

    def _power(self, dice: SeededDice) -> Power:
        down_s, seed = dice.number(0, 20), self.random.getrandbits(32)
        again = dice.number(0, 60) if dice.chance(25) else None
        match dice.pick("idle", "unread", "torn", "at work", "at work", "snapshot"):
            case "unread":
                return Power(down_s, seed, self._request(self._any_failing(dice), dice), None, again)
            case "torn":
                return Power(down_s, seed, self._request("push", dice), dice.number(0, 3), again)
            case "at work":
                return Power(down_s, seed, self._request(self._any_failing(dice), dice), dice.number(0, 60), again)
            case "snapshot":
                return Power(down_s, seed, Snapshot(), dice.number(0, 150), again)
        return Power(down_s, seed, again=again)

    def _any_failing(self, dice: SeededDice) -> str:
        return dice.pick(*(each for each in _FAILING if self._is_possible(each)))

    # --- requests ---------------------------------------------------------------------------------

    def _request(self, kind: str, dice: SeededDice, is_done: bool = True) -> Request:
        """A request of a kind; `is_done`: it is remembered that it was granted."""
        match kind:
            case "register":
                name = self._free_name()
                put = self._new_query(dice, self.knows)
                request: Request = Register(name, put.text)
                if is_done:
                    self.queries[name] = put
            case "replace now" | "replace window":
                name = self._any_name()
                text = self._text(self.queries[name], dice)
                request = Replace(name, text, "window" if kind == "replace window" else "now")
            case "pause":
                request = Pause(self._name_of(paused=False))
                self.queries[request.name].paused |= is_done
            case "resume":
                request = Resume(self._name_of(paused=True))
                self.queries[request.name].paused &= not is_done
            case "delete":
                name = self._any_name()
                if is_done and not self._is_read(name):
                    del self.queries[name]
                request = Delete(name)
            case "knowledge":
                self.knows |= is_done
                request = Know(drawn_knowledge(dice))
            case "advance":
                request = self._advance(dice)
            case _:
                request = self._push(kind, dice)
        return request

    def _advance(self, dice: SeededDice) -> Advance:
        stream = dice.pick("s1", "s2", "s2", "arrivals", "tables")
        time = max(self.cursors.get(stream, self.now), self.now if dice.chance(50) else ORIGIN)
        if stream != "arrivals":
            self.cursors[stream] = time
        return Advance(stream, time if stream != "arrivals" else self.now - SKEW_S_MAX * SECOND)

    # --- bodies -----------------------------------------------------------------------------------

    def _push(self, kind: str, dice: SeededDice) -> Push:
        if kind == "push again":
            return replace(self._again(self.random.choice(self.pushed), dice), way=kind, after_s=0)
        stream = dice.pick("s1", "s1", "s1", "s2", "s2", "arrivals", "tables")
        push = self._body(stream, dice)
        if kind == "push late":
            push = replace(push, events=tuple(self._late(each, dice) for each in push.events))
        elif kind == "push malformed":
            push = replace(push, events=self._malformed(push, dice))
        self.pushed.append(push)
        return replace(push, way=kind)

    def _body(self, stream: str, dice: SeededDice) -> Push:
        """A body of events that are neither late nor malformed."""
        is_table, is_stamped = stream == "tables", stream == "arrivals"
        single = not is_table and dice.chance(15)
        number = 1 if single else dice.number(2, 12) if is_stamped or not self.hour.is_short else dice.number(*MANY)
        begin = max(self.cursors.get(stream, ORIGIN), self.now - 60 * SECOND)
        events = drawn_events(dice, number, begin, self.first, single)
        self.first += number
        self.cursors[stream] = end = events[-1].time or begin
        after_s = dice.number(0, 3) if is_stamped else max(0, (end - self.now) // SECOND)
        self.now += after_s * SECOND
        if is_stamped:
            events = [replace(each, time=None) for each in events]
        formats = (*(SINGLE_FORMATS if single else TABLE_FORMATS if is_table else RDF_FORMATS),)
        format_ = formats[0] if number >= MANY[0] and dice.chance(70) else dice.pick(*formats)  # the others take longer
        key = f"key {self.first}" if dice.chance(30 if single else 10) else None
        identifier = f"event {self.first}" if single and dice.chance(40) else None
        return Push("push", stream, format_, tuple(events), key, identifier, after_s)

    def _late(self, event: Event, dice: SeededDice) -> Event:
        if event.time is None or not dice.chance(40):
            return event
        return replace(event, time=event.time - dice.number(1, 400) * SECOND)

    def _malformed(self, push: Push, dice: SeededDice) -> tuple[Event, ...]:
        """Some events without a time or, where that is refused, far ahead; or none at all."""
        if dice.chance(10):
            return ()
        ahead = 7_200 * SECOND if push.stream == "s1" and dice.chance(40) else None
        return tuple(
            replace(each, time=None if ahead is None or each.time is None else each.time + ahead)
            if dice.chance(20)
            else each
            for each in push.events
        )

    def _again(self, push: Push, dice: SeededDice) -> Push:
        """An earlier body, or parts of it among new events."""
        if dice.chance(50) or push.format in SINGLE_FORMATS:
            return push
        some = tuple(each for each in push.events if dice.chance(50))
        return replace(push, events=some, key=push.key if dice.chance(30) else None)
