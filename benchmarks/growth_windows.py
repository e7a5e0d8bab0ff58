"""Rows of `growth.py` for wide windows: evaluators alone, from columns of ids to matches."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automata.runs.rows.live_evaluator import runs_of
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids
from benchmarks.growth_rows import processor_us, row
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.evaluators import evaluator_of
from spaseq.physical.planner import plan_query
from spaseq.physical.program import Compiled, compile_program

KEYS = 1_000
_FILL, _BATCH, _BATCHES = 5_000, 100, 60
_SINGLE = 1_000
_ROUNDS = 3
_WARM = 500
"""Batches before the clock starts, so that kernels have been taken."""
_QUERY = """SELECT * WITHIN {window} SECONDS SLIDING FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ({steps}) {defined} }}"""


class _Conditions:
    """Nothing but keys relates the steps."""

    numbers: NDArray[np.float64] = np.zeros(1)

    def holds(self, *_: Any) -> NDArray[np.bool_]:
        raise AssertionError

    def guard(self, condition: int) -> None:
        raise AssertionError(condition)

    def texts(self, values: Ids) -> list[str]:
        return [str(value) for value in values.tolist()]


class _RowConditions(_Conditions):
    """The same for one event at a time."""

    fold = test = fold_one = estimate = fold_number = _Conditions.holds


class _Kept:
    """Kernels that are on disk, or are compiled at once."""

    def kept(self, evaluator: str) -> bool:
        return True

    def compile(self, evaluator: str) -> None:
        raise AssertionError(evaluator)


def compiled_of(steps: int, operator: str, window: int) -> Compiled:
    """A sequence whose steps share a key."""
    names = "ABCD"[:steps]
    defined = " ".join(f"DEFINE GPM {name} ON S {{ ?k <http://ex.org/{name}> ?v{name} }}" for name in names)
    text = _QUERY.format(window=window, steps=f" {operator} ".join(names), defined=defined)
    return compile_program(build(parse(text, "q")))


class Fed:
    """An evaluator beside its generator of slices: events a second apart, of which a share are the last step.

    The last step has keys that no other step has, so that there is no match.
    """

    def __init__(self, compiled: Compiled, name: str, last: float) -> None:
        kernels = None if name == "auto" else name in ("cea", "registers")
        asked = "nfa" if name == "registers" else name
        self.evaluator: Any = evaluator_of(plan_query(compiled, asked, kernels), _Conditions(), _Kept())  # type: ignore[arg-type]
        self._symbols = compiled.program.symbols
        self._key = min(frozenset.intersection(*(symbol.scope for symbol in self._symbols)))
        self._last, self._drawn, self._second = last, np.random.default_rng(1), 0

    def feed(self, count: int, batch: int) -> None:
        """So many events."""
        for _ in range(count // batch):
            self.evaluator.on_batch(*self.next(batch))
            self.evaluator.oldest_position()

    def next(self, size: int) -> tuple[Events, Mapping[int, SymbolSolutions]]:
        """The next events, and their solutions."""
        steps = len(self._symbols)
        times = np.arange(self._second, self._second + size, dtype=np.int64) * 1_000_000_000
        self._second += size
        is_last = self._drawn.random(size) < self._last
        symbols = np.where(is_last, steps - 1, self._drawn.integers(0, steps - 1, size))
        keys = 1 + self._drawn.integers(0, KEYS, size) + KEYS * is_last
        solved = {}
        for number, symbol in enumerate(self._symbols):
            at = np.flatnonzero(symbols == number)
            own = dict.fromkeys(symbol.scope, at % 7 + 1)
            solved[number] = SymbolSolutions(at, {**own, self._key: keys[at]})
        return Events(times, np.zeros(size, dtype=np.int64)), solved

    def steady_us(self) -> Iterator[float]:
        """The microseconds of an event in short batches, some times over."""
        for _ in range(5):
            yield processor_us(lambda: self.feed(_BATCHES * _BATCH, _BATCH), _BATCHES * _BATCH)


def filled(steps: int, operator: str, window: int, name: str, last: float, warm: int = 20) -> Fed:
    """An evaluator whose window is full, after some short batches."""
    fed = Fed(compiled_of(steps, operator, window), name, last)
    fed.feed(window, min(_FILL, window))
    fed.feed(warm * _BATCH, _BATCH)
    return fed


def _by_runs(operator: str, window: int, quick: bool, steps: int = 2) -> Iterator[float]:
    fed = filled(steps, operator, window, "nfa", 0.1)
    if not quick:
        yield from fed.steady_us()
        return
    before = _looked_at(fed.evaluator)
    fed.feed(_BATCHES * _BATCH, _BATCH)
    yield (_looked_at(fed.evaluator) - before) / (_BATCHES * _BATCH)


def _looked_at(evaluator: Any) -> int:
    """The runs, and the events of products, that have been looked at, and the rows made of them."""
    held = 0 if evaluator.held is None else evaluator.held.looked_at
    return sum(each.looked_at for each in evaluator.chains.active) + held + evaluator.operations


_WINDOWS = (10_000, 100_000, 400_000)


@row(
    "runs, A ; B on 1,000 keys, batches of 100, an event",
    "events in the window",
    "µs",
    sizes=_WINDOWS,
    exponent=0.15,
    bound=25,
    quick="runs looked at an event",
    quick_sizes=(2_000, 20_000),
    quick_bound=10,
)
def next_by_runs(window: int, quick: bool) -> Iterator[float]:
    """A tenth of the events are B, of keys that no A has."""
    yield from _by_runs(";", window, quick)


@row(
    "runs, A : B on 1,000 keys, batches of 100, an event",
    "events in the window",
    "µs",
    sizes=_WINDOWS,
    exponent=0.15,
    bound=25,
    quick="runs looked at an event",
    quick_sizes=(2_000, 20_000),
    quick_bound=10,
)
def any_by_runs(window: int, quick: bool) -> Iterator[float]:
    """The same under skip-till-any."""
    yield from _by_runs(":", window, quick)


@row(
    "runs, A : B : C on 1,000 keys without a match, batches of 100, an event",
    "events in the window",
    "µs",
    sizes=_WINDOWS,
    exponent=0.15,
    bound=25,
    quick="runs looked at an event",
    quick_sizes=(2_000, 20_000),
    quick_bound=10,
)
def products_by_runs(window: int, quick: bool) -> Iterator[float]:
    """A tenth of the events are C; of the others any A and later B of one key could go on."""
    yield from _by_runs(":", window, quick, steps=3)


@row(
    "one event after the window was filled by batches",
    "events in the window",
    "µs",
    sizes=(1_000, 10_000, 100_000),
    exponent=0.3,
    bound=150,
)
def one_after_batches(window: int, quick: bool) -> Iterator[float]:
    """The first thousand of them, run-based; every tenth is a B, of a key that no A has."""
    fed = Fed(compiled_of(2, ";", window), "nfa", 0.1)
    evaluator: Any = runs_of(compiled_of(2, ";", window).plan, _RowConditions())  # type: ignore[arg-type]
    fed.evaluator = evaluator
    fed.feed(window, min(_FILL, window))

    def push() -> None:
        for number in range(_SINGLE):
            symbol, time = int(number % 10 == 0), (window + number) * 1_000_000_000
            solved = {symbol: [(1 + number % KEYS + KEYS * symbol, 1)]}
            if evaluator.prefers_rows():
                evaluator.on_event(time, 0, solved)
            else:
                evaluator.on_batch(*fed.next(1))

    yield processor_us(push, _SINGLE)


@row(
    "auto, the greatest ratio to the best evaluator asked for",
    "events in the window",
    "×",
    sizes=(1_000, 10_000, 100_000),
    exponent=1,
    bound=1.3,
    everywhere=True,
)
def auto_beside_the_best(window: int, quick: bool) -> Iterator[float]:
    """Over 8 combinations of operator, steps and share of the last step, kernels warm: 24 with the windows.

    The evaluators are measured in turn, so that what else the machine does is the same for each.
    """
    ratios = []
    for operator, steps, last in product(";:", (2, 3), (0.1, 0.01)):
        names = ("auto", "cea", "nfa") if operator == ";" else ("auto", "cea", "nfa", "lazy", "tree")
        fed = {name: filled(steps, operator, window, name, last, _WARM) for name in names}
        rounds = [
            took for _ in range(_ROUNDS) for took in zip(*(each.steady_us() for each in fed.values()), strict=True)
        ]
        auto, *forced = map(min, zip(*rounds, strict=True))
        ratios.append(auto / min(forced))
    yield max(ratios)


_WIDE = (100_000, 1_000_000)


def _wide_row(name: str, operator: str, steps: int, bytes_max: float) -> None:
    """The rows of an evaluator in windows of up to a million events."""
    what = f"{name}, {f' {operator} '.join('ABC'[:steps])} in a wide window, batches of 100, an event"

    @row(what, "events in the window", "µs", sizes=_WIDE, exponent=0.2, bound=25)
    def time_of(window: int, quick: bool) -> Iterator[float]:
        yield from filled(steps, operator, window, name, 0.1).steady_us()

    @row(f"{what} held", "events in the window", "B", sizes=_WIDE, exponent=0.1, bound=bytes_max)
    def memory_of(window: int, quick: bool) -> Iterator[float]:
        filled(steps, operator, _BATCH, name, 0.1)  # what is loaded and made once
        tracemalloc.start()
        fed = filled(steps, operator, window, name, 0.1)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        del fed
        yield held / window


_wide_row("cea", ";", 2, 300)
_wide_row("registers", ";", 2, 400)
_wide_row("nfa", ";", 2, 500)
_wide_row("cea", ":", 3, 300)
_wide_row("nfa", ":", 3, 130)
_wide_row("lazy", ":", 3, 350)
_wide_row("tree", ":", 3, 350)
