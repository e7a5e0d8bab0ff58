"""The rows of `growth.py` in another commit and in this one, in turn, within one run.

Each figure is that of a process of its own, over the packages of the one or the other commit and the benchmarks of this
one. A row that uses what the other commit has not says so, and is not measured here; so does a figure that takes longer
there than a limit.
"""

from __future__ import annotations

import importlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

from benchmarks.growth_rows import ROWS, GrowthRow, exponent_of

ROOT = Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 300
"""Processor time of one figure in the other commit, its set-up included, unless another is asked for."""
ABSENT = "not in that commit"
_ABSENT_CODE = 3
_Figures = dict[int, float | str]
"""By size the figure, or why there is none."""


@dataclass(frozen=True, slots=True)
class Against:
    """The figures of one row by size, there and here, or why there is none."""

    row: str
    size: str
    unit: str
    there: _Figures
    here: _Figures


def against(commit: str, rows: Sequence[GrowthRow], largest: int | None, limit: int) -> Iterator[Against]:
    """Each row as it has been measured.

    commit  one of this repository
    limit   seconds of processor time of one figure there
    """
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder)
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(other, filter="data")
        shutil.rmtree(other / "benchmarks", ignore_errors=True)
        shutil.copytree(ROOT / "benchmarks", other / "benchmarks")
        for each in rows:
            sizes = [size for size in each.sizes if largest is None or size <= largest]
            if sizes:
                there, here = _row(other, each, sizes, limit)
                print(each.name, there, here, file=sys.stderr, flush=True)
                yield Against(each.name, each.size, each.unit, there, here)


def _row(other: Path, each: GrowthRow, sizes: Sequence[int], limit: int) -> tuple[_Figures, _Figures]:
    """The figures there and here; what took too long, or is absent, is so for the greater sizes, too."""
    there: _Figures = {}
    here: _Figures = {}
    failed = ""
    for size in sizes:
        there[size] = failed or _measured(other, each, size, limit)
        failed = str(there[size]) if isinstance(there[size], str) else failed
        here[size] = "" if failed == ABSENT else _measured(ROOT, each, size, 0)
    return there, here


def _measured(root: Path, each: GrowthRow, size: int, limit: int) -> float | str:
    """The figure of one size over the packages below a folder; of limit 0 however long it takes."""
    script = root / "benchmarks" / Path(__file__).name
    arguments = [sys.executable, str(script), each.measure.__module__, each.name, str(size), str(limit)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    match done.returncode:
        case 0:
            return float(done.stdout.splitlines()[-1])
        case code if code == _ABSENT_CODE:
            return ABSENT
        case code if code < 0:
            return f"more than {limit} s"
    sys.exit(f"error: {' '.join(arguments)} ended with exit code {done.returncode}\n{done.stderr}")


def table(rows: Sequence[Against], commit: str) -> Table:
    """The rows as a table for a terminal."""
    made = Table("what", "size", commit, "here", "ratio", title=f"Growth, {commit} and here")
    for each in rows:
        for size in each.here:
            there, here = each.there[size], each.here[size]
            ratio = f"{there / here:,.3g}" if isinstance(there, float) and isinstance(here, float) else ""
            made.add_row(f"{each.row}, {each.unit}", f"{size:,} {each.size}", _shown(there), _shown(here), ratio)
        if len(each.here) > 1:
            made.add_row("", "exponent", *(_exponent(figures) for figures in (each.there, each.here)), "")
    return made


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.4g}"


def _exponent(figures: _Figures) -> str:
    known = {size: value for size, value in figures.items() if isinstance(value, float)}
    return f"{exponent_of(known):.2f}" if len(known) > 1 else ""


def main(module: str, name: str, size: str, limit: str) -> int:
    """Print the median of one figure; the exit code."""
    if int(limit):
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
    try:
        importlib.import_module(module)
        (each,) = [each for each in ROWS if each.name == name]
        print(statistics.median(each.measure(int(size), False)))
    except (ImportError, AttributeError):
        return _ABSENT_CODE
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
