"""CORE (C++) as a peer: its program over the trades of its experiments, where a checkout with a build of it is given.

Build it there with its own `scripts/build.sh`; nothing of it is needed but `build/offline`. A run of the program reads
a CSV file and prints every complex event; it is measured as a process, start and output included.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from benchmarks.core_patterns import STEPS
from benchmarks.figures import run_process

WITHIN = "9999 MILLISECONDS SLIDING"
"""The window of SPAseq that is CORE's `WITHIN 10000`: first and last time are less than that apart."""
_BUILDS = ("build/offline", "build/Release/offline")
_ATTRIBUTES = "id:int, name:string, volume:int, price:double, stock_time:int"
_DECLARATION = f"DECLARE STREAM S {{\nEVENT BUY {{ {_ATTRIBUTES} }},\nEVENT SELL {{ {_ATTRIBUTES} }}\n}}\n"
_MATCH = re.compile(rb"^\[\d+,\d+\], \(", re.MULTILINE)
"""The beginning of a complex event as the program prints it."""


@dataclass(frozen=True, slots=True)
class CoreRun:
    """One run: complex events, and the processor seconds and memory of its process."""

    matches: int
    processor_seconds: float
    rss_mb_max: float


def program_of(checkout: Path) -> Path:
    """The program in a checkout; ends the benchmark if it is not built."""
    for build in _BUILDS:
        if (checkout / build).is_file():
            return checkout / build
    sys.exit(f"error: there is no {' or '.join(_BUILDS)} in {checkout}: build CORE there by its scripts/build.sh")


def query(length: int) -> str:
    """Pn in CORE's language."""
    steps = list(islice(cycle(STEPS), length))
    names = [f"T{number}" for number in range(1, length + 1)]
    sequence = "; ".join(f"{side} as {name}" for name, (side, _) in zip(names, steps, strict=True))
    filters = " AND ".join(f"{name}[name = '{stock}']" for name, (_, stock) in zip(names, steps, strict=True))
    return f"SELECT * FROM S\nWHERE ({sequence})\nFILTER {filters}\nWITHIN 10000 [stock_time]\nCONSUME BY NONE\n"


def run_core(program: Path, trades: Path, length: int) -> CoreRun:
    """Pn over a CSV file of trades, the first line of which is its header."""
    folder = trades.parent
    (folder / "core.query").write_text(query(length), encoding="utf-8")
    (folder / "core.declaration").write_text(_DECLARATION, encoding="utf-8")
    files = {"-q": "core.query", "-d": "core.declaration", "-c": trades.name}
    printed = folder / "core.out"
    arguments = [part for option, name in files.items() for part in (option, str(folder / name))]
    usage = run_process([str(program), *arguments], printed)
    return CoreRun(len(_MATCH.findall(printed.read_bytes())), usage.processor_seconds, usage.rss_mb_max)
