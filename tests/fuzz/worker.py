"""A process that feeds inputs, with limits of memory and of processor time.

    python -m tests.fuzz.worker PLACE      reads lines `TARGET SEED FIRST COUNT`; answers each with one JSON line

Input number n of a target under a seed is always the same. PLACE is a file that holds the number of the input being
taken, so that the parent knows which one hangs or has killed the process. What must be compiled is compiled before the
first input, and PLACE says so.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import resource
import signal
import sys
import time
import traceback
import zlib
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from tests.fuzz.target import Target
from tests.fuzz.targets import BY_NAME

MEMORY_MAX = 6 << 30
"""Bytes of address space; kernels and libraries take one of the six gigabytes."""
CPU_SECONDS_MAX = 20.0
"""Processor time that one input may take."""
FINDINGS_MAX = 20
"""Findings that one answer carries."""
PLACE_BYTES = 8
READY = (1 << 63) - 1
"""Stands in PLACE, instead of an input's number, while a target is made ready."""


class TooLong(BaseException):
    """An input took more than CPU_SECONDS_MAX; no handler of the engine's own may catch it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding: the input's number, and the error."""

    number: int
    error: str


def input_of(target: Target, seed: int, number: int) -> bytes:
    """One input, the same in every process."""
    return target.make(Random(zlib.crc32(f"{target.name} {seed} {number}".encode())))


def fed(target: Target, data: bytes) -> str | None:
    """The error with its traceback that the input ends in, or None."""
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS_MAX)
    try:
        target.take(data)
    except TooLong:
        return f"took more than {CPU_SECONDS_MAX:g} s of processor time\n{traceback.format_exc(limit=-4)}"
    except Exception:
        return traceback.format_exc(limit=-12)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def too_long(signal_number: int, frame: FrameType | None) -> None:
    """The handler of the timer."""
    raise TooLong


def resident_bytes() -> int:
    """Memory of this process now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class Feeding:
    """Feeds what is asked for, and notes in `place` what it is at."""

    def __init__(self, place: Any) -> None:
        self._place = place
        self._ready: set[str] = set()

    def answer(self, line: str) -> dict[str, Any]:
        """The findings of the inputs that a line asks for, and what they cost."""
        name, seed, first, count = line.split()
        target, found = BY_NAME[name], list[Found]()
        self._make_ready(target)
        started = time.process_time()
        for number in range(int(first), int(first) + int(count)):
            self._note(number)
            if (error := fed(target, input_of(target, int(seed), number))) is not None:
                found.append(Found(number, error))
        errors = [(one.number, one.error) for one in found[:FINDINGS_MAX]]
        seconds = time.process_time() - started
        return {"found": errors, "count": len(found), "seconds": seconds, "resident": resident_bytes()}

    def _make_ready(self, target: Target) -> None:
        if target.name not in self._ready:
            self._note(READY)
            target.ready()
            self._ready.add(target.name)

    def _note(self, number: int) -> None:
        self._place[:PLACE_BYTES] = number.to_bytes(PLACE_BYTES, "big")


def main() -> None:
    """Answers until the input ends."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, too_long)
    out = sys.stdout
    sys.stdout = sys.stderr
    with open(sys.argv[1], "r+b") as handle, mmap.mmap(handle.fileno(), PLACE_BYTES) as place:
        feeding = Feeding(place)
        for line in sys.stdin:
            print(json.dumps(feeding.answer(line)), file=out, flush=True)


if __name__ == "__main__":
    main()
