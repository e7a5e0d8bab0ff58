"""How benchmarks end: tables for the terminal, figures for a file, and what a process took."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WIDTH_MIN = 120
"""Columns of a terminal that the tables need."""

_MEASURE = """
import json, os, sys, time
begin = time.perf_counter()
process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(process, 0)
with open(sys.argv[1], "w") as file:
    json.dump([time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss], file)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""
"""Runs a command and writes what it took to a file."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process took.

    seconds             on the clock
    processor_seconds   of one core, its start included
    """

    seconds: float
    processor_seconds: float
    rss_mb_max: float


def run_process(arguments: Sequence[str], output: Path | None = None) -> Usage:
    """Run a process to its end; a failing one ends the benchmark. What it prints goes to the terminal, or to a file.

    It may keep the byte code of modules, as an installation does: else each run would compile hundreds of them anew. A
    small process starts it and measures it: what a process held before it became another counts as memory of that.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with NamedTemporaryFile() as measured, open(output, "wb") if output else nullcontext() as printed:
        command = [sys.executable, "-I", "-S", "-c", _MEASURE, measured.name, *arguments]
        code = subprocess.run(command, env=environment, stdout=printed, check=False).returncode
        if code:
            sys.exit(f"error: {' '.join(arguments)} ended with exit code {code}")
        seconds, processor_seconds, peak = json.load(measured)
    kilobytes = peak / 1024 if sys.platform == "darwin" else peak
    return Usage(seconds, processor_seconds, kilobytes / 1024)


def report(tables: Iterable[Table], figures: Mapping[str, Sequence[DataclassInstance]], path: Path | None) -> None:
    """Show the tables and, if there is a path, write the figures there as JSON, with the machine they are of."""
    console = Console(width=max(WIDTH_MIN, shutil.get_terminal_size((WIDTH_MIN, 24)).columns))
    for table in tables:
        console.print(table)
    if path is None:
        return
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    written = {"machine": machine} | {name: [asdict(figure) for figure in some] for name, some in figures.items()}
    path.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
