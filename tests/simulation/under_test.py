"""The service under test, and its twin that nothing befalls."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import msgspec

from spaseq.service.core.copies import PART
from spaseq.service.core.folder import DataFolder
from spaseq.service.core.records import Accepted, KnowledgePut, Record, SetAside
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.log.groups import Torn, groups
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.streams import StreamSettings
from tests.service.faulty_files import FaultyFiles
from tests.service.lost_power import Disk, PowerLost
from tests.service.unsynced import after_power_loss
from tests.simulation.bodies import TEMPLATE
from tests.simulation.faults import SteppedClock, held, losing_power, settled_or_stuck, stop
from tests.simulation.service_steps import Kill, Power, Request

LIMITS = Limits(event_solutions=3)
"""So few that some events are set aside."""
DISK = (503, 507)
"""The statuses with which a request is refused as the disk fails."""


def streams(folder: Path) -> dict[str, StreamSettings]:
    """The streams of every history: two with times of their own, one that stamps events, one of tables."""
    template = folder / "template.trig"
    template.write_text(TEMPLATE)
    return {
        "s1": StreamSettings("http://ex.org/s1", max_delay="2s", idle_timeout="60s", max_ahead="1h"),
        "s2": StreamSettings("http://ex.org/s2", max_delay="0s"),
        "arrivals": StreamSettings("http://ex.org/arrivals", clock="arrival", idle_timeout="30s"),
        "tables": StreamSettings("http://ex.org/tables", max_delay="1s", idle_timeout="90s", template=str(template)),
    }


class UnderTest:
    """A service whose clock is set, whose disks fail and lose their power, and which is killed and started again.

    folder  is its own
    read    the number of the last record that `records` has given
    """

    def __init__(self, folder: Path, clock: SteppedClock) -> None:
        self.folder, self.clock = folder, clock
        self.files, self.disk = FaultyFiles(), Disk()
        self.read = 0
        self._ends: dict[str, int] = {}
        self.service = self._opened()
        for name, settings in streams(folder).items():
            self.service.put_stream(name, settings)

    def restart(self, down_s: int) -> None:
        """End as SIGTERM does, and begin again."""
        self.service.close()
        self.clock.pass_seconds(down_s)
        self.service = self._opened()

    def kill(self, step: Kill, said: Callable[[Service], None]) -> None:
        """Die, with what a `Kill` says; `said` is called with the service while it reads nothing."""
        over = None
        if step.during is not None:
            over = held(self.service)
            said(self.service)
        left = self.files.crashed(lambda size: size * step.kept // 100)
        stop(self.service, self.files, over)
        self.files = left
        self.clock.pass_seconds(step.down_s)
        self.service = self._opened()

    def lose_power(self, step: Power, said: Callable[[Service], None]) -> None:
        """Lose power, as a `Power` says; `said` is called with the service, while it reads nothing if it says so."""
        dice, over = Random(step.seed), None
        if step.at is not None:
            with losing_power(self.files, self.disk, step.at):
                said(self.service)
                settled_or_stuck(self.service)
        elif step.during is not None:
            over = held(self.service)
            said(self.service)
        self._lose_power(dice, lambda: stop(self.service, self.files, over))
        self.clock.pass_seconds(step.down_s)
        if step.again is not None:
            self._start_in_vain(dice, step.again)
        self.service = self._opened()

    def _start_in_vain(self, dice: Random, again: int) -> None:
        """Lose power again while the service starts."""
        folder = self.folder / "data"
        opened: list[DataFolder] = []
        with losing_power(self.files, self.disk, again), suppress(PowerLost, OSError):
            opened.append(DataFolder(folder, self.files, self.disk.connect))
            Service(opened[0], LIMITS, self.clock).recover()

        def end() -> None:
            for each in opened:
                each.close()

        self._lose_power(dice, end)

    def _lose_power(self, dice: Random, end: Callable[[], None]) -> None:
        """Let the folder be what a machine finds; `end` lets go of it."""
        self.disk.lose_power(dice)
        left = self.files.lost_power(dice)
        end()
        self.files = left
        self.disk.power_on()
        copies = self.folder / "data" / "kb"
        for copy in sorted(copies.glob("*.nt"))[:1]:  # another one was under way
            part = after_power_loss(b"", [(0, copy.read_bytes())], dice)
            (copies / f"{dice.randbytes(32).hex()}.nt{PART}").write_bytes(part)

    def records(self) -> Iterator[tuple[int, bytes]]:
        """The records of the log since the last call; where two segments have one, that of the later one counts."""
        log = self.service._log
        bounds = [segment.first for segment in log._segments[1:]] + [log.next]
        for segment, bound in zip(log._segments, bounds, strict=True):
            begin = self._ends.get(segment.name, segment.begin)
            for group in groups(io.BytesIO(self.files.contents[segment.name].written[: segment.good]), begin):
                if isinstance(group, Torn):
                    break
                self._ends[segment.name] = group.offset + group.size
                for number, record in enumerate(group.records, group.first):
                    if self.read < number < bound:
                        assert number == self.read + 1, (number, self.read)
                        self.read = number
                        yield number, record

    def close(self) -> None:
        """End; a second call does nothing."""
        if self.service._matcher._thread.is_alive():
            stop(self.service, self.files)
        self.disk.close()

    def _opened(self) -> Service:
        """The service at work, without the thread that looks at the clock of the machine."""
        service = Service(DataFolder(self.folder / "data", self.files, self.disk.connect), LIMITS, self.clock)
        service.recover()
        service._matcher.start()
        return service


class _Decided(Exception):
    """The record that the twin would write."""

    def __init__(self, record: Record) -> None:
        self.record = record


class Twin:
    """A service that is never ended: it decides about requests by itself, and reads the records of the other one."""

    def __init__(self, folder: Path, clock: SteppedClock) -> None:
        self.folder = folder
        self._number = 0
        self.service = Service(DataFolder(folder / "twin", FaultyFiles()), LIMITS, clock)
        self.service.recover()
        self.service._matcher.at_work = True  # it reads what it is given
        self._admission = self.service._admission
        self._admission._submit = _decided
        self._aside = self.service._queries.operators.aside
        self.service._matcher._storing._decide = self._forget_aside

    def decision(self, request: Request) -> Record | Refused | None:
        """The record that a request is to become, its refusal, or None where it changes nothing."""
        try:
            request.ask(self.service, self.folder)
        except _Decided as decided:
            return decided.record
        except Refused as refused:
            return refused
        finally:
            for memory in self._admission._memories.values():
                memory.identities.give_up()
        return None

    def know(self, record: Record) -> None:
        """Know what the other one has set aside, before its events are read."""
        if isinstance(record, SetAside):
            self._aside.know(record.events)

    def _forget_aside(self) -> None:
        """Say nothing of what it sets aside by itself: in other batches, other events are matched for nothing."""
        self._aside.take(0)

    def take(self, number: int, record: Record, data: bytes, copies: Path) -> None:
        """Read the next record of the other one, whose copies of knowledge bases are in a folder."""
        if isinstance(record, KnowledgePut) and not (own := self.folder / "twin" / "kb" / record.copy).exists():
            shutil.copyfile(copies / record.copy, own)
        place = self.service._log.append([data])
        assert place.number == number
        self._admission.replay(number, record)
        matcher = self.service._matcher
        matcher.hand(place, record)
        while matcher._waiting or matcher.queries.lagging:
            matcher._step()

    def restarted(self) -> None:
        """The other one has been started again: for it, silence goes on where it was."""
        self._admission.recovered()

    def close(self) -> None:
        """End."""
        stop(self.service, FaultyFiles())


def comparable(record: Record) -> Any:
    """What two records of the same decision have in common: all but the labels of blank nodes."""
    if not isinstance(record, Accepted):
        return msgspec.to_builtins(record)
    times = names = None
    if record.events is not None:
        _, (times, _, names, *_) = record.events
    plain = msgspec.structs.replace(record, events=None, letters=())
    return msgspec.to_builtins(plain), times, names, [(each.kind, each.line) for each in record.letters]


def _decided(record: Record) -> NoReturn:
    raise _Decided(record)
