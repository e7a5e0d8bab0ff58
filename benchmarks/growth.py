"""Growth: what one event costs beside thousands of queries, in wide windows, on many streams.

Each row of the table is a quantity at several sizes (medians of processor time), the exponent e with which it grows as
size^e, the bounds of both, and whether they hold. `--only` takes parts of the names of rows; `--quick` counts
operations in place of time, which gives the same figures on every machine, and takes seconds. The exit code is 1 if a
row does not hold. `growth_rows.py` says how a row is added. Stock trades are those that SPASEQ_STOCK names, else drawn.
`--against COMMIT` shows the same figures of another commit beside those of this one.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

from benchmarks.figures import report
from benchmarks.growth_against import LIMIT_SECONDS, against
from benchmarks.growth_against import table as compared_table
from benchmarks.growth_rows import ROWS, Grown, GrowthRow, grown

MODULES = tuple(f"benchmarks.growth_{name}" for name in ("queries", "many", "windows", "engine", "selectors"))
"""The modules with rows."""


def chosen(names: Sequence[str] = (), quick: bool = False) -> list[GrowthRow]:
    """The rows whose names contain one of these parts; quick: those with operations to count."""
    for module in MODULES:
        importlib.import_module(module)
    rows = [each for each in ROWS if each.quick or not quick]
    return [each for each in rows if not names or any(part in each.name for part in names)]


def measured(names: Sequence[str] = (), quick: bool = False, largest: int | None = None) -> list[Grown]:
    """The chosen rows, measured."""
    found = []
    for each in chosen(names, quick):
        gc.collect()
        found.append(grown(each, quick, largest))
    return found


def table(rows: Sequence[Grown]) -> Table:
    """The rows as a table for a terminal."""
    made = Table("what", "figures", "exponent", "at most", "holds", title="Growth")
    for each in rows:
        figures = ", ".join(f"{size:,}: {figure:,.4g}" for size, figure in each.figures.items())
        most = f"{each.exponent_max:.2f}" + ("" if each.bound is None else f"; {each.bound:,.4g} {each.unit}")
        holds = "yes" if each.holds else "NO"
        made.add_row(each.row, f"{each.unit} by {each.size}: {figures}", f"{each.exponent:.2f}", most, holds)
    return made


def main() -> int:
    """Measure what the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="parts of the names of rows")
    parser.add_argument("--quick", action="store_true", help="count operations in place of time")
    parser.add_argument("--largest", type=int, help="leave greater sizes out")
    parser.add_argument("--against", metavar="COMMIT", help="measure another commit too, in turn, each in processes")
    parser.add_argument("--limit", type=int, default=LIMIT_SECONDS, help="processor seconds of one figure there")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    if options.against is not None:
        compared = list(against(options.against, chosen(options.only), options.largest, options.limit))
        report([compared_table(compared, options.against)], {"growth": compared}, options.json)
        return 0
    rows = measured(options.only, options.quick, options.largest)
    if not rows:
        parser.error("no row has such a name" + (" and operations to count" if options.quick else ""))
    report([table(rows)], {"growth": rows}, options.json)
    return 0 if all(each.holds for each in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
