"""The register automaton beside every other evaluator of the same query: processor time of one event, and the ratios.

Events are in memory as ids, as the evaluators read them: generated trades, one a second. The evaluators take turns, and
medians are reported. A first round, which compiles the kernels or loads them, is not counted; its time is printed.
Run from the project's folder: python benchmarks/register.py [--events N] [--runs N]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the packages
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from automata.protocol import Evaluator
from automata.registers.register_evaluator import RegisterEvaluator
from automata.slices.events import Events, SymbolSolutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.terms import IRI, XSD, Literal
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.evaluators import evaluator_of
from spaseq.physical.plan import Form, PhysicalPlan
from spaseq.physical.planner import plan_query
from spaseq.physical.program import Compiled, compile_program
from spaseq.runtime.stages.conditions import TermConditionEvaluator
from spaseq.runtime.state.kept_graphs import KeptGraphs

STOCK = Path(__file__).resolve().parents[1] / "examples" / "stock"
COMPANIES, PRICES, VOLUMES = 40, 20_000, 500
RUN_SHARE = 0.7  # of the trades: of the company that traded right before
SECOND = 1_000_000_000
BATCH = 10_000
Ids = NDArray[np.int64]
Slice = tuple[Events, Mapping[int, SymbolSolutions]]


@dataclass(frozen=True, slots=True)
class Case:
    """A query; `shares` is the part of the trades that each step takes, all of them if empty."""

    text: str
    shares: tuple[float, ...] = ()
    events_max: int = 1 << 62


def _trades(sequence: str, after: str = "", rises: str = "", falls: str = "", head: str = "* WITHIN 10 MINUTES") -> str:
    return f"""PREFIX : <http://example/>
SELECT {head} SLIDING FROM STREAM S1 <http://stockmarket.org/stocks>
WHERE {{ SEQ({sequence})
  DEFINE GPM A ON S1 {{ ?company :price ?p1 }}
  DEFINE GPM B ON S1 {{ ?company :price ?p2 {rises} }}
  DEFINE GPM C ON S1 {{ ?company :price ?p3 {falls} }}
}} {after}"""


_RISES, _FALLS = "FILTER(?p2 > ?p1)", "FILTER(?p3 < ?p1)"
_EVEN, _RARE = (0.45, 0.45, 0.1), (0.495, 0.495, 0.01)
CASES = {
    "head_and_shoulders": Case((STOCK / "head_and_shoulders.rq").read_text(encoding="utf-8")),
    "v_shape": Case((STOCK / "v_shape.rq").read_text(encoding="utf-8")),
    "A ; B;+ ; C": Case(_trades("A ; B;+ ; C"), _EVEN),
    "A ; B;+ ; C prices": Case(_trades("A ; B;+ ; C", "", _RISES, _FALLS), _EVEN),
    "A ; B ; C": Case(_trades("A ; B ; C"), _EVEN),
    "A ; B ; C prices": Case(_trades("A ; B ; C", "", _RISES, _FALLS), _EVEN),
    "A ; B ; C prices, rare": Case(_trades("A ; B ; C", "", _RISES, _FALLS), _RARE),
    "A : B : C prices": Case(_trades("A : B : C", "", _RISES, _FALLS), _EVEN),
    "A : B : C prices, rare": Case(_trades("A : B : C", "", _RISES, _FALLS), _RARE),
    "A : B : C": Case(_trades("A : B : C"), _EVEN),
    "A : B : C, rare": Case(_trades("A : B : C"), _RARE),
    "A : B:+ : C, rare": Case(_trades("A : B:+ : C", head="* WITHIN 1 MINUTE"), _RARE),
    "A : B : C prices, an hour, rare": Case(_trades("A : B : C", "", _RISES, _FALLS, "* WITHIN 1 HOUR"), _RARE),
    "A : B:+ : C prices, rare": Case(_trades("A : B:+ : C", "", _RISES, _FALLS, "* WITHIN 1 MINUTE"), _RARE),
    "has it happened?": Case(
        _trades("A : B:+ : C", "LIMIT 1", _RISES, _FALLS, "(true AS ?happened) WITHIN 2 MINUTES"), events_max=200
    ),
}


class Trades:
    """Seeded trades as columns of ids: one a second, prices walk at random."""

    def __init__(self, count: int, dictionary: Dictionary) -> None:
        random = np.random.default_rng(1)
        companies = [dictionary.intern(IRI(f"http://example/company{number}")) for number in range(COMPANIES)]
        prices = [dictionary.intern(Literal(f"{n / 100:.2f}", XSD + "decimal")) for n in range(PRICES)]
        volumes = [dictionary.intern(Literal(str(number), XSD + "integer")) for number in range(VOLUMES)]
        fresh = random.random(count) >= RUN_SHARE
        fresh[0] = True
        picked = random.integers(0, COMPANIES, count)
        company = picked[np.maximum.accumulate(np.where(fresh, np.arange(count), 0))]
        steps = 10_000 + np.cumsum(random.integers(-300, 301, count))
        self.times: Ids = np.arange(count, dtype=np.int64) * SECOND
        self._kinds = random.random(count)
        self._columns = {
            "company": np.array(companies, dtype=np.int64)[company],
            "p": np.array(prices, dtype=np.int64)[np.abs(steps) % PRICES],
            "vol": np.array(volumes, dtype=np.int64)[random.integers(0, VOLUMES, count)],
        }

    def slices(self, compiled: Compiled, case: Case) -> list[Slice]:
        """The input of an evaluator of the query."""
        count = min(len(self.times), case.events_max)
        return [self._slice(compiled, case.shares, n, min(n + BATCH, count)) for n in range(0, count, BATCH)]

    def _slice(self, compiled: Compiled, shares: Sequence[float], begin: int, end: int) -> Slice:
        number = {name: n for n, name in enumerate(compiled.query.variables)}
        bounds, kinds, solutions = np.cumsum((0.0, *shares)), self._kinds[begin:end], {}
        for symbol, pattern in enumerate(compiled.query.patterns):
            rows = np.arange(end - begin, dtype=np.int64)
            if shares:
                rows = np.flatnonzero((bounds[symbol] <= kinds) & (kinds < bounds[symbol + 1]))
            columns = {name: self._columns[name.rstrip("0123456789")][begin:end][rows] for name in pattern.variables}
            solutions[symbol] = SymbolSolutions(rows, {number[name]: column for name, column in columns.items()})
        return Events(self.times[begin:end], np.zeros(end - begin, dtype=np.int64)), solutions


def plans(compiled: Compiled) -> dict[str, PhysicalPlan]:
    """The evaluators that can run a query, as they run over long slices."""
    found = {
        "registers": plan_query(compiled, "nfa"),
        "columns": plan_query(compiled, "nfa", kernels=False).in_columns(),
    }
    assert found["registers"].form is Form.KERNELS, found["registers"].form_reason
    others = [name for name in ("cea", "adaptive") if name in found["registers"].able]
    return {**found, **{name: plan_query(compiled, name).in_columns() for name in others}}


def processor_time(evaluator: Evaluator, slices: Sequence[Slice]) -> tuple[float, int]:
    """Seconds and matches."""
    start = time.process_time()
    matches = sum(len(evaluator.on_batch(events, solutions)) for events, solutions in slices)
    return time.process_time() - start, matches


def measure(name: str, case: Case, trades: Trades, dictionary: Dictionary, runs: int) -> None:
    """Measure one query and print a line for each evaluator."""
    compiled = compile_program(build(parse(case.text, name)))
    condition_evaluator = TermConditionEvaluator(
        compiled, dictionary, ExpressionEvaluator(dictionary), {}, KeptGraphs(), lambda matches: [()] * len(matches)
    )
    planned, slices = plans(compiled), trades.slices(compiled, case)
    found: dict[str, list[tuple[float, int]]] = {evaluator: [] for evaluator in planned}
    visits = 0
    for _ in range(1 + runs):
        for evaluator, plan in planned.items():
            made = evaluator_of(plan, condition_evaluator)
            found[evaluator].append(processor_time(made, slices))
            visits = made.visits if isinstance(made, RegisterEvaluator) else visits
    usual = {evaluator: median(seconds for seconds, _ in rounds[1:]) for evaluator, rounds in found.items()}
    count = sum(len(events) for events, _ in slices)
    print(
        f"{name}: {count:,} events, {found['registers'][0][1]:,} matches, {visits / count:.1f} runs visited by an event"
    )
    for evaluator, rounds in found.items():
        seconds, first = usual[evaluator], rounds[0][0]
        print(
            f"  {evaluator:10} {1e6 * seconds / count:9.2f} µs an event, {seconds / usual['registers']:6.2f} times",
            end="",
        )
        print(f" the registers' time; first round {first - seconds:+.1f} s", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    dictionary = Dictionary()
    trades = Trades(options.events, dictionary)
    for name, case in CASES.items():
        measure(name, case, trades, dictionary, options.runs)


if __name__ == "__main__":
    main()
