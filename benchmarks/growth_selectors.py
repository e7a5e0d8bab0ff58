"""Rows of `growth.py` over stock trades: selectors beside ALL, and the memory of twelve steps without a match.

The trades are those of CORE's experiments if SPASEQ_STOCK names them, else drawn ones of the same kind.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.core import ENVIRONMENT, with_runs
from benchmarks.core_patterns import ITERATED, MS, NOBODY, STEPS, Tape, read_trades, sequence
from benchmarks.figures import run_process
from benchmarks.growth_rows import row

_REPEATS = 5
_NAMES = [*dict.fromkeys(name for _, name in STEPS), ITERATED, *(f"N{n}" for n in range(20))]
_EVERY_MS = 120


@cache
def trades(count: int) -> Tape:
    """The first so many trades."""
    if ENVIRONMENT in os.environ:
        return read_trades(Path(os.environ[ENVIRONMENT])).first(count)
    drawn = random.Random(5)
    return Tape(
        np.arange(count, dtype=np.int64) * _EVERY_MS * MS,
        pa.array([drawn.choice(("BUY", "SELL")) for _ in range(count)], pa.string()),
        pa.array([drawn.choice(_NAMES) for _ in range(count)], pa.string()),
        np.full(count, 100, dtype=np.int64),
        np.full(count, 20.0),
    )


@row("P3 by runs with a selector, the greatest ratio to ALL", "trades", "×", sizes=(100_000,), exponent=0, bound=2)
def selectors(count: int, quick: bool) -> Iterator[float]:
    """MAX, STRICT, NEXT and LAST of three steps, in turn with ALL."""
    from automata.plan.program import Selector  # here: other commits have it elsewhere

    pattern, tape = sequence(3, False), trades(count)
    each = [replace(pattern, program=replace(pattern.program, selector=selector)) for selector in Selector]
    rounds = [[with_runs(one, tape).seconds for one in each] for _ in range(_REPEATS)]
    least = dict(zip(Selector, map(min, zip(*rounds, strict=True)), strict=True))
    yield max(least.values()) / least[Selector.ALL]


def _text(steps: tuple[tuple[str, str], ...]) -> str:
    names = [f"S{number}" for number in range(len(steps))]
    defined = "\n".join(
        f'DEFINE GPM {gpm} ON S {{ ?t{gpm} :side "{side}" ; :name "{name}" }}'
        for gpm, (side, name) in zip(names, steps, strict=True)
    )
    return f"""PREFIX : <http://ex.org/>
SELECT * WITHIN 10 SECONDS SLIDING FROM STREAM S <http://ex.org/s> WHERE {{ SEQ({" : ".join(names)}) {defined} }}"""


def _write(tape: Tape, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, (clock, side, name) in enumerate(
            zip(tape.times.tolist(), tape.sides.to_pylist(), tape.names.to_pylist(), strict=True)
        ):
            at, rest = divmod(clock // MS, 1000)
            stamp = time.strftime("2026-01-01T%H:%M:%S", time.gmtime(at)) + f".{rest:03}Z"
            trade, graph = f"<http://ex.org/t{number}>", f"<urn:{number}>"
            file.write(
                f'{trade} <http://ex.org/side> "{side}" {graph} .\n{trade} <http://ex.org/name> "{name}" {graph} .\n'
                f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "{stamp}"'
                "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
            )


@row("memory of a run of P12 without a match", "trades", "MB", sizes=(200_000,), exponent=0, bound=300)
def twelve_steps(count: int, quick: bool) -> Iterator[float]:
    """The greatest memory of `spaseq run` with run-based evaluation over a file; a thirteenth step never comes."""
    with tempfile.TemporaryDirectory() as folder:
        query, stream = Path(folder) / "p12.rq", Path(folder) / "s.nq"
        query.write_text(_text((*STEPS, ("BUY", NOBODY))), encoding="utf-8")
        _write(trades(count), stream)
        command = [str(Path(sys.executable).with_name("spaseq")), "run", str(query), "--stream", f"S={stream}"]
        yield run_process([*command, "--evaluator", "nfa", "--output", f"{folder}/rows.ndjson"]).rss_mb_max
