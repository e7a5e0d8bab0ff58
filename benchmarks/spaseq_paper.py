"""SPAseq's own experiments (G Section 8, Figures 15-22) over the streams of the five use cases.

    python benchmarks/spaseq_paper.py windows       Figures 15-16: strict contiguity and skip-till-next, growing windows
    python benchmarks/spaseq_paper.py steps         Figure 17: longer and longer sequences over stock trades
    python benchmarks/spaseq_paper.py operations    Figure 19: reading, graph patterns, sequences
    python benchmarks/spaseq_paper.py kleene        Figure 20: B+ beside B
    python benchmarks/spaseq_paper.py index         Figure 21: runs indexed by what they wait for, or all looked at
    python benchmarks/spaseq_paper.py conjunction   Figure 22: members of A & B matched lazily, or everywhere

Figure 18, growing background knowledge, is `kb_scale.py growth`. Streams are generated and seeded, read once, and taken
from memory (`operations` reads them too); seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from automata.chains import active_runs as active
from benchmarks.paper_streams import USE_CASES, Data, load, query_text
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.operator import QueryOperator

PIECE = 1000
"""Events that arrive together …"""
FEW = 10
"""… and where the index of runs is measured, as few as this."""
STEPS_MAX = 9
RARE_LEVEL = 7
"""A level of traffic that few observations exceed."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run.

    matching    the part of the seconds that graph patterns took
    looked_at   events that graph patterns were looked for in, summed over the patterns
    """

    what: str
    events: int
    triples: int
    matches: int
    seconds: float
    matching: float
    looked_at: int = 0


def with_window(text: str, minutes: int) -> str:
    """The query with another window."""
    return re.sub(r"WITHIN \d+ MINUTES", f"WITHIN {minutes} MINUTES", text)


def with_operator(text: str, operator: str) -> str:
    """The query with one operator between all steps and iterations."""

    def changed(found: re.Match[str]) -> str:
        line = re.sub(r"[,;:]\s*\)$", ")", found.group())
        return re.sub(r"(\w)\+", rf"\1{operator}+", re.sub(r"\s*[,;:]\s*", f"{operator} ", line))

    return re.sub(r"SEQ\(.*\)", changed, text, count=1)


def measure(
    what: str,
    text: str,
    data: Data,
    prepare: Callable[[QueryOperator], None] | None = None,
    together: int = PIECE,
) -> Measured:
    """One run of a query by runs; `prepare` changes how it is run, `together` so many events arrive at a time."""
    setup = Setup(data.knowledge, RunOptions(evaluator="nfa"), data.dictionary)
    operator = setup.operator(build(parse(text, "q")))
    if prepare is not None:
        prepare(operator)
    spent = [0.0]
    solve = operator.patterns.solver.solve

    def timed(*slice_: Any) -> Any:
        begun = time.process_time()
        found = solve(*slice_)
        spent[0] += time.process_time() - begun
        return found

    operator.patterns.solver.solve = timed  # type: ignore[method-assign]
    network, rows = Network(data.dictionary, 0), list[Row]()
    network.add(operator, rows.extend)
    pieces = data.pieces(together)
    started = time.process_time()
    for piece in pieces:
        for iri, batch in piece.items():
            network.push(iri, batch)
    network.finish()
    seconds = time.process_time() - started
    setup.bases.close()
    return Measured(
        what, data.events, data.triples, len(rows), seconds, spent[0], sum(operator.patterns.solver.matched)
    )


def windows(loaded: Callable[[str], Data]) -> list[Measured]:
    """Figures 15 and 16."""
    return [
        measure(
            f"{case}, {name}, {minutes} min", with_window(with_operator(query_text(case), op), minutes), loaded(case)
        )
        for case in USE_CASES
        for name, op in (("strict", ","), ("skip-till-next", ";"))
        for minutes in (10, 20, 40, 80)
    ]


def zigzag(steps: int, operator: str) -> str:
    """Prices of one company that rise and fall in turn, so many steps (an extension of G Query 4)."""
    names = "ABCDEFGHI"[:steps]
    head = query_text("stock").partition("WHERE")[0]
    head = re.sub(r"SELECT.*", "SELECT ?company ?p0", with_window(head, 40), count=1)
    defines = []
    for number, name in enumerate(names):
        condition = f"FILTER (?p{number} {'><'[number % 2]} ?p{number - 1})" if number else ""
        defines.append(f"DEFINE GPM {name} ON S1 {{ ?company pred:price ?p{number} . {condition} }}")
    return f"{head} WHERE {{ SEQ({f'{operator} '.join(names)}) {' '.join(defines)} }}"


def steps(loaded: Callable[[str], Data]) -> list[Measured]:
    """Figure 17."""
    return [
        measure(f"{count} steps, {name}", zigzag(count, op), loaded("stock"))
        for name, op in (("strict", ","), ("skip-till-next", ";"))
        for count in range(3, STEPS_MAX + 1, 2)
    ]


def operations(loaded: Callable[[str], Data]) -> list[Measured]:
    """Figure 19."""
    found = []
    for minutes in (10, 20, 40, 80):
        data = loaded("stock")
        text = with_window(with_operator(query_text("stock"), ";"), minutes)
        found.append(Measured(f"reading, {minutes} min", data.events, data.triples, 0, data.reading, 0.0))
        found.append(measure(f"the rest, {minutes} min", text, data))
    return found


def kleene(loaded: Callable[[str], Data]) -> list[Measured]:
    """Figure 20."""
    text = with_operator(query_text("stock"), ";")
    repeated = re.sub(r"SEQ\(A; B; C\)", "SEQ(A; B;+; C)", text)
    assert repeated != text, text
    return [
        measure(f"{name}, {minutes} min", with_window(some, minutes), loaded("stock"))
        for minutes in (10, 20, 40)
        for name, some in (("A; B; C", text), ("A; B;+; C", repeated))
    ]


def index(loaded: Callable[[str], Data]) -> list[Measured]:
    """Figure 21: without the index every run at a position is looked at for every slice."""
    found, kept = [], active._SCAN_FACTOR
    text = with_operator(query_text("smart_grid"), ";")
    for together in (PIECE, FEW):
        for minutes in (5, 10, 20):
            for name, factor in (("indexed", kept), ("not indexed", 1 << 40)):
                active._SCAN_FACTOR = factor
                what = f"{name}, {minutes} min, {together}"
                found.append(measure(what, with_window(text, minutes), loaded("smart_grid"), together=together))
            active._SCAN_FACTOR = kept
    return found


def conjunction(loaded: Callable[[str], Data]) -> list[Measured]:
    """Figure 22; also with B made rare by one more filter."""
    found = []
    for name, extra in (("as it is", ""), ("B rare", f"FILTER (?v2 > {RARE_LEVEL})")):
        text = query_text("traffic").replace("FILTER (?v2 >= ?v1)", f"FILTER (?v2 >= ?v1) {extra}")
        for minutes in (10, 40, 160):
            some = with_window(text, minutes)
            found.append(measure(f"{name}, lazy, {minutes} min", some, loaded("traffic")))
            found.append(measure(f"{name}, eager, {minutes} min", some, loaded("traffic"), _everywhere))
    return found


def _everywhere(operator: QueryOperator) -> None:
    operator.patterns.solver.conjunctions = ()


EXPERIMENTS = {
    "windows": windows,
    "steps": steps,
    "operations": operations,
    "kleene": kleene,
    "index": index,
    "conjunction": conjunction,
}


def table(title: str, measured: Sequence[Measured]) -> Table:
    """The figures as they are shown on a terminal."""
    shown = Table(title=title)
    for heading in ("", "matches", "seconds", "graph patterns", "looked at", "sequences", "events/s", "triples/s"):
        shown.add_column(heading, justify="right" if heading else "left")
    for m in measured:
        parts = f"{m.seconds:.2f}", f"{m.matching:.3f}", f"{m.looked_at:,}", f"{m.seconds - m.matching:.2f}"
        rates = f"{m.events / m.seconds:,.0f}", f"{m.triples / m.seconds:,.0f}"
        shown.add_row(m.what, f"{m.matches:,}", *parts, *rates)
    return shown


def main() -> None:
    """Generate, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)} [all]")
    parser.add_argument("--events", type=int, default=5_000, metavar="N", help="of each use case [5000]")
    options = parser.parse_args()
    if unknown := set(options.experiments) - EXPERIMENTS.keys():
        parser.error(f"no such experiment: {', '.join(sorted(unknown))}")
    console = Console(width=120)
    cache: dict[str, Data] = {}
    with tempfile.TemporaryDirectory() as folder:

        def loaded(use_case: str) -> Data:
            if use_case not in cache:
                cache[use_case] = load(use_case, options.events, Path(folder, use_case))
            return cache[use_case]

        for name in options.experiments or EXPERIMENTS:
            console.print(table(name, EXPERIMENTS[name](loaded)))


if __name__ == "__main__":
    main()
