"""Stock queries 3 and 4 as register automata beside runs a set at a time: events a second, latency of one event.

Events are in memory as ids, as the evaluators get them: generated trades, an hour of them in the window. Then a query
that only asks whether something has happened, with and without the fast path that LIMIT 1 opens.
Run from the project's folder: python benchmarks/register.py [--events N] [--sets N] [--few N]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from automata.plan.plan import compile_plan

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the packages
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from automata.plan.program import Demand
from automata.protocol import Evaluator
from automata.registers.register_evaluator import RegisterEvaluator
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.slices.events import Events, SymbolSolutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator as Expressions
from sparql_gpm.terms import IRI, XSD, Literal
from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from spaseq.runtime.stages.conditions import TermConditionEvaluator
from spaseq.runtime.state.kept_graphs import KeptGraphs

QUERIES = Path(__file__).resolve().parents[1] / "examples" / "stock"
NAMES = ("head_and_shoulders", "v_shape")
COMPANIES, PRICES, VOLUMES = 40, 20_000, 500
RUN_SHARE = 0.7  # of the trades: of the company that traded right before
SECOND = 1_000_000_000
EVERY = 400
"""Trades for which every match can be found where runs multiply with each one."""
BATCH, SINGLE = 10_000, 3_000
HAPPENED = """PREFIX pred: <http://example/>
SELECT (true AS ?happened) WITHIN 2 MINUTES SLIDING FROM STREAM S1 <http://stockmarket.org/stocks>
WHERE { SEQ(A : B:+ : C)
  DEFINE GPM A ON S1 { ?company pred:price ?p1 ; pred:volume ?vol1 }
  DEFINE GPM B ON S1 { ?company pred:price ?p2 ; pred:volume ?vol2 FILTER(?p2 > ?p1) }
  DEFINE GPM C ON S1 { ?company pred:price ?p3 ; pred:volume ?vol3 FILTER(?p3 < ?p1) }
} LIMIT 1"""
"""Some trades of one company rose above an earlier one, before one fell below it."""
Ids = NDArray[np.int64]


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
        self._columns = {
            "company": np.array(companies, dtype=np.int64)[company],
            "p": np.array(prices, dtype=np.int64)[np.abs(steps) % PRICES],
            "vol": np.array(volumes, dtype=np.int64)[random.integers(0, VOLUMES, count)],
        }

    def slice_(self, query: TemporalQuery, begin: int, end: int) -> tuple[Events, Mapping[int, SymbolSolutions]]:
        """The input of an evaluator of the query: every trade has one solution for each step."""
        number = {name: n for n, name in enumerate(query.variables)}
        which = np.arange(end - begin, dtype=np.int64)
        solutions = {
            symbol: SymbolSolutions(
                which, {number[name]: self._columns[name.rstrip("0123456789")][begin:end] for name in pattern.variables}
            )
            for symbol, pattern in enumerate(query.patterns)
        }
        return Events(self.times[begin:end], np.zeros(end - begin, dtype=np.int64)), solutions


def evaluators(query: TemporalQuery, dictionary: Dictionary) -> dict[str, Evaluator]:
    """Both implementations of runs."""
    compiled = compile_program(query)
    condition_evaluator = TermConditionEvaluator(
        compiled, dictionary, Expressions(dictionary), {}, KeptGraphs(), lambda matches: [()] * len(matches)
    )
    return {
        "register automaton": RegisterEvaluator(compiled.plan, condition_evaluator),
        "runs a set at a time": RunEvaluator(compiled.plan, condition_evaluator),
    }


def throughput(evaluator: Evaluator, query: TemporalQuery, trades: Trades, count: int) -> tuple[float, int]:
    """Seconds of processor time and matches; what the evaluator gets is cut outside the time taken."""
    taken, matches = 0.0, 0
    for begin in range(0, count, BATCH):
        events, solutions = trades.slice_(query, begin, min(begin + BATCH, count))
        start = time.process_time()
        matches += len(evaluator.on_batch(events, solutions))
        taken += time.process_time() - start
    return taken, matches


def latency(evaluator: Evaluator, query: TemporalQuery, trades: Trades) -> float:
    """Median microseconds of a batch of one event."""
    found = []
    for begin in range(SINGLE):
        events, solutions = trades.slice_(query, begin, begin + 1)
        start = time.process_time()
        evaluator.on_batch(events, solutions)
        found.append(time.process_time() - start)
    return 1e6 * median(found)


def whether(trades: Trades, dictionary: Dictionary, counts: dict[Demand, int]) -> None:
    """The query that asks whether something has happened: the first match only, and every match to take it from."""
    query = build(parse(HAPPENED, "happened"))
    compiled = compile_program(query)
    condition_evaluator = TermConditionEvaluator(
        compiled, dictionary, Expressions(dictionary), {}, KeptGraphs(), lambda matches: [()] * len(matches)
    )
    assert compiled.program.wanted is Demand.HAPPENED
    for wanted, count in counts.items():
        evaluator = RegisterEvaluator(compile_plan(replace(compiled.program, wanted=wanted)), condition_evaluator)
        throughput(evaluator, query, trades, 50)  # compiles the kernels
        evaluator = RegisterEvaluator(compile_plan(replace(compiled.program, wanted=wanted)), condition_evaluator)
        seconds, matches = throughput(evaluator, query, trades, count)
        print(f"{'happened':20} {wanted.value:22} {count:9,} events {count / seconds:12,.0f} events/s", end="")
        print(f" {matches:8,} matches {evaluator.visits / count:8.1f} runs visited by an event")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="trades for the register automaton")
    parser.add_argument("--sets", type=int, default=200_000, help="of these, for the runs a set at a time")
    parser.add_argument("--few", type=int, default=20_000, help="for the query that asks whether something happened")
    options = parser.parse_args()
    dictionary = Dictionary()
    trades = Trades(options.events, dictionary)
    for name in NAMES:
        query = build(parse((QUERIES / f"{name}.rq").read_text(encoding="utf-8"), name))
        throughput(evaluators(query, dictionary)["register automaton"], query, trades, BATCH)  # compiles the kernels
        for title, evaluator in evaluators(query, dictionary).items():
            count = options.events if title == "register automaton" else min(options.sets, options.events)
            seconds, matches = throughput(evaluator, query, trades, count)
            one = latency(evaluators(query, dictionary)[title], query, trades)
            print(f"{name:20} {title:22} {count:9,} events {count / seconds:12,.0f} events/s", end="")
            print(f" {matches:8,} matches {one:8.0f} µs for one event", end="")
            print(f" {evaluator.visits / count:8.1f} runs visited" if isinstance(evaluator, RegisterEvaluator) else "")
    whether(trades, dictionary, {Demand.HAPPENED: options.few, Demand.EVERY: min(options.few, EVERY)})


if __name__ == "__main__":
    main()
