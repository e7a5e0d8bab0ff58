"""Hostile input: what reading it costs, by its size.

Each shape of `hostile_shapes` is read at three sizes, each time by a process of its own whose memory and time are
limited. A line has the processor time, the memory by which the process grew, and the exponent e with which the time
grows as size^e. The exit code is 1 if an exponent is above 1.2, if reading took more memory or time than its limit, or
if it ended in another way than with a result or an error that is reported. `--only` takes parts of the names of shapes
and ways.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

from benchmarks.figures import report
from benchmarks.growth_rows import exponent_of
from benchmarks.hostile_shapes import Shape, Way, shapes, ways

EXPONENT_MAX = 1.2
FLAT_SECONDS = 0.05
"""Times below this one are taken for it: they are not measured well enough for an exponent."""
ATTEMPTS = 3
"""Times that a shape is measured where its exponent is too great; the least times hold: another process may disturb."""
_WARM_BYTES = 256
"""The size of an input that is read first, so that what is loaded once is not measured."""
_ADDRESSES = 8 << 30
"""Bytes of addresses that a process may take."""
_GRACE = 2.0
"""Times the limit of processor time after which a process is ended."""
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class Reading:
    """One input read.

    outcome     a few words about the result
    fault       what is wrong; "": nothing
    """

    bytes: int
    seconds: float
    grown_mb: float
    outcome: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """One shape at all its sizes."""

    shape: str
    way: str
    readings: dict[int, Reading]
    exponent: float
    faults: list[str]


def measured(shape: Shape, way: Way, attempts: int = ATTEMPTS) -> Measured:
    """The readings of a shape at three sizes, and what is wrong with them."""
    sizes = (way.bytes_max // 4, way.bytes_max // 2, way.bytes_max)
    readings: dict[int, Reading] = {}
    exponent = 0.0
    for _ in range(attempts):
        for size in sizes:
            found = _read_apart(shape, way, size)
            if size not in readings or found.seconds < readings[size].seconds:
                readings[size] = found
        exponent = exponent_of({size: max(each.seconds, FLAT_SECONDS) for size, each in readings.items()})
        if exponent <= EXPONENT_MAX:
            break
    faults = [each.fault for each in readings.values() if each.fault]
    if exponent > EXPONENT_MAX:
        faults.append(f"grows as size^{exponent:.2f}")
    return Measured(shape.name, shape.way, readings, exponent, faults)


def _read_apart(shape: Shape, way: Way, size: int) -> Reading:
    """An input read by a child of this process, which has loaded what it needs."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        _read_and_report(shape, way, size, sending)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if said:
        return _checked(Reading(**json.loads(said)), way)
    ended = f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {status >> 8}"
    return Reading(size, way.seconds_max * _GRACE, 0.0, ended, f"{size:,} bytes: {ended}")


def _checked(reading: Reading, way: Way) -> Reading:
    fault = reading.fault
    if reading.seconds > way.seconds_max:
        fault = fault or f"{reading.bytes:,} bytes: {reading.seconds:.1f} s, at most {way.seconds_max:g}"
    if reading.grown_mb * 1e6 > way.memory_bytes_max:
        most = way.memory_bytes_max / 1e6
        fault = fault or f"{reading.bytes:,} bytes: {reading.grown_mb:,.0f} MB, at most {most:,.0f}"
    return Reading(reading.bytes, reading.seconds, reading.grown_mb, reading.outcome, fault)


def _read_and_report(shape: Shape, way: Way, size: int, sending: int) -> None:
    """Read an input, write what it took, and end the process."""
    code = 1
    try:
        way.read(shape.make(_WARM_BYTES))
        data = shape.make(size)
        seconds_max = int(time.process_time() + way.seconds_max * _GRACE) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds_max, seconds_max))
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
        held, begin, fault = _memory_kb("VmRSS"), time.process_time(), ""
        try:
            outcome = way.read(data)
        except BaseException as error:
            outcome = fault = f"{type(error).__name__}: {error}"[:200]
        seconds = time.process_time() - begin
        grown_mb = max(_memory_kb("VmHWM") - held, 0) * 1024 / 1e6
        said = json.dumps({
            "bytes": len(data), "seconds": seconds, "grown_mb": grown_mb, "outcome": outcome, "fault": fault,
        })  # fmt: skip
        os.write(sending, said.encode())
        code = 0
    finally:
        os._exit(code)


def _memory_kb(name: str) -> int:
    """The memory of this process: what it has (VmRSS), or the most that it had (VmHWM)."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])


def table(rows: Sequence[Measured]) -> Table:
    """The shapes as a table for a terminal."""
    made = Table("shape", "way", "bytes", "seconds", "MB", "exponent", "outcome", "holds", title="Hostile input")
    for each in rows:
        readings = each.readings.values()
        made.add_row(
            each.shape, each.way, "\n".join(f"{one.bytes:,}" for one in readings),
            "\n".join(f"{one.seconds:.3f}" for one in readings), "\n".join(f"{one.grown_mb:,.1f}" for one in readings),
            f"{each.exponent:.2f}", next(reversed(readings)).outcome[:60], "\n".join(each.faults) or "yes",
        )  # fmt: skip
    return made


def main() -> int:
    """Measure what the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="parts of the names of shapes and ways")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    known = ways()
    chosen = [
        each for each in shapes() if not options.only or any(part in f"{each.way} {each.name}" for part in options.only)
    ]
    if not chosen:
        parser.error("no shape or way has such a name")
    rows = []
    for each in chosen:
        rows.append(found := measured(each, known[each.way]))
        print(f"{found.way}: {found.shape}: {'; '.join(found.faults) or 'holds'}", file=sys.stderr, flush=True)
    report([table(rows)], {"hostile": rows}, options.json)
    return 1 if any(each.faults for each in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
