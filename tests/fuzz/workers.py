"""A worker process as its parent sees it: the chunk it works at, its silence, its memory, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.worker import PLACE_BYTES, READY

WARM_INPUTS = 4_000
"""Inputs of a target before its worker's memory is taken as the base."""
GROWTH_MAX = 96 << 20
"""Bytes by which a worker may grow after that, at one target: caches that have a bound of their own."""
_AWAKE_SHARE = 0.001
"""The processor time of a process that waits, as a part of the wall time; a busy one on a full machine has more."""
_ERROR_BYTES_MAX = 4_000
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Patience:
    """The times after which a worker is killed.

    cpu         processor time of one input: the worker's own limit, inside Python, did not help
    ready_cpu   the same of making ready: the kernels of a target compile in a minute or two
    asleep      wall time on one input in which it took next to no processor time: it waits for ever
    """

    cpu: float = 60.0
    ready_cpu: float = 1_800.0
    asleep: float = 300.0


PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive inputs of a target."""

    target: str
    first: int
    size: int


@dataclass(frozen=True, slots=True)
class _Seen:
    """An input that a worker was seen at first, with both clocks."""

    number: int
    wall: float
    cpu: float


def processor_seconds(pid: int) -> float:
    """The processor time of a process and its threads; that of none if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


@dataclass(slots=True)
class Worker:
    """One process.

    hung        the reason why it was killed, if it was
    """

    process: subprocess.Popen[str]
    place: Path
    errors: Path
    chunk: Chunk | None = None
    hung: str | None = None
    _target: str = ""
    _fed: int = 0
    _base: int | None = None
    _seen: _Seen = field(default_factory=lambda: _Seen(-1, 0.0, 0.0))

    @classmethod
    def started(cls, place: Path) -> Worker:
        """A new process, with files beside `place`."""
        place.write_bytes(READY.to_bytes(PLACE_BYTES, "big"))
        errors = place.with_suffix(".errors")
        command = [sys.executable, "-m", "tests.fuzz.worker", str(place)]
        pipe = subprocess.PIPE
        with errors.open("ab") as stderr:
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, text=True)
        return cls(process, place, errors)

    def ask(self, chunk: Chunk, seed: int) -> None:
        """Send a chunk."""
        if chunk.target != self._target:
            self._target, self._fed, self._base = chunk.target, 0, None
        self.chunk = chunk
        self._seen = _Seen(-1, time.monotonic(), processor_seconds(self.process.pid))
        self.place.write_bytes(READY.to_bytes(PLACE_BYTES, "big"))
        os.truncate(self.errors, 0)
        assert self.process.stdin is not None
        self.process.stdin.write(f"{chunk.target} {seed} {chunk.first} {chunk.size}\n")
        self.process.stdin.flush()

    @property
    def number(self) -> int:
        """The input that it takes, or took when it died; READY before the first."""
        return int.from_bytes(self.place.read_bytes()[:PLACE_BYTES], "big")

    def end_if_hung(self, patience: Patience = PATIENCE) -> None:
        """Kill it, with a trace of its stack, if it is too long at one input.

        A loaded machine gives little processor time, so that alone counts; the wall clock counts for a process asleep.
        """
        number, wall, cpu = self.number, time.monotonic(), processor_seconds(self.process.pid)
        used, passed = cpu - self._seen.cpu, wall - self._seen.wall
        if number != self._seen.number:
            self._seen = _Seen(number, wall, cpu)
        elif used > (patience.ready_cpu if number == READY else patience.cpu):
            self._kill(f"it took {used:.1f} s of processor time")
        elif passed > patience.asleep and used < _AWAKE_SHARE * passed:
            self._kill(f"it slept for {passed:.1f} s")

    def _kill(self, reason: str) -> None:
        if self.hung is None:
            self.hung = reason
            self.process.send_signal(signal.SIGABRT)  # faulthandler then writes where it is
        else:
            self.process.kill()

    def took(self, inputs: int, resident: int) -> int:
        """Enter inputs that it took, and its memory now; the bytes by which it has grown since it was warm."""
        self._fed += inputs
        if self._base is None and self._fed >= WARM_INPUTS:
            self._base = resident
        return resident - self._base if self._base is not None else 0

    def ended(self) -> str:
        """Why and where it ended."""
        written = self.errors.read_bytes()[-_ERROR_BYTES_MAX:].decode(errors="backslashreplace")
        end = f"the worker ended with {self.process.returncode}"
        return f"{written}\n{f'{end}: {self.hung}' if self.hung else end}"
