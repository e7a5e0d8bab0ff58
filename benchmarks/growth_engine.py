"""Rows of `growth.py` for wide windows in an `Engine`: N-Quads in short batches, reading and matching included.

They use nothing but the public interface, so that other commits can be measured beside this one.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from itertools import product

import spaseq
from benchmarks.growth_queries import STREAM, event
from benchmarks.growth_rows import processor_us, row
from spaseq.lang.parse import parse

KEYS = 1_000
_FILL, _BATCH, _BATCHES, _SINGLE = 5_000, 100, 60, 1_000
_REPEATS, _ROUNDS = 3, 7
_WARM = 300
"""Batches before the clock starts, so that `auto` has decided and kernels have been taken."""
_STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
_DAY = 86_400
_QUERY = """PREFIX : <http://ex.org/>
SELECT * WITHIN {window} SECONDS SLIDING FROM STREAM S <http://ex.org/s> WHERE {{ SEQ({steps}) {defined} }}"""


class Pushed:
    """An engine with one query, `A ; B` or the like on a key: events a second apart, a share of them the last step.

    The last step has keys that no other step has, so that there is no match.
    """

    def __init__(self, steps: int, operator: str, window: int, name: str, last: float = 0.1) -> None:
        self._names = "ABC"[:steps]
        defined = " ".join(f"DEFINE GPM {name} ON S {{ ?k :{name} ?v{name} }}" for name in self._names)
        query = _QUERY.format(window=window, steps=f" {operator} ".join(self._names), defined=defined)
        self.engine = spaseq.Engine(evaluator=name, compiled=True if name == "cea" else None)
        self.engine.register(parse(query, "q"))
        self._drawn, self._last, self.second = random.Random(1), last, 0
        self.feed(window, min(_FILL, window))

    def text(self, count: int) -> str:
        """The next events."""
        lines = []
        for second in range(self.second, self.second + count):
            is_last = self._drawn.random() < self._last
            name = self._names[-1] if is_last else self._drawn.choice(self._names[:-1])
            key, graph = self._drawn.randrange(KEYS) + KEYS * is_last, f"urn:g{second}"
            days, rest = divmod(second, _DAY)
            stamp = f"2026-01-{1 + days:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}Z"
            lines.append(f'<http://ex.org/k{key}> <http://ex.org/{name}> "{second % 7}" <{graph}> .\n')
            lines.append(f'<{graph}> <{_STAMP}> "{stamp}"^^<{_TIME}> .\n')
        self.second += count
        return "".join(lines)

    def feed(self, count: int, batch: int) -> None:
        """So many events."""
        for _ in range(count // batch):
            self.engine.push_batch(STREAM, self.text(batch))

    def batches_us(self) -> float:
        """The microseconds of an event in short batches."""
        ready = [self.text(_BATCH) for _ in range(_BATCHES)]
        return processor_us(lambda: [self.engine.push_batch(STREAM, text) for text in ready], _BATCHES * _BATCH)


def _windows(name: str, operator: str, steps: int, sizes: tuple[int, ...]) -> None:
    """The row of an evaluator."""
    what = f"an Engine, {name}, {f' {operator} '.join('ABC'[:steps])} on 1,000 keys, batches of 100, an event"

    @row(what, "events in the window", "µs", sizes=sizes, exponent=0.15)
    def of_window(window: int, quick: bool) -> Iterator[float]:
        pushed = Pushed(steps, operator, window, name)
        pushed.feed(20 * _BATCH, _BATCH)
        for _ in range(_REPEATS):
            yield pushed.batches_us()


_windows("nfa", ";", 2, (10_000, 100_000, 400_000))
for _evaluator in ("nfa", "lazy", "tree", "auto"):
    _windows(_evaluator, ":", 3, (10_000, 100_000))


@row(
    "an Engine, auto, the greatest ratio to the best evaluator asked for",
    "events in the window",
    "×",
    sizes=(10_000, 100_000),
    exponent=1,
    bound=1.3,
    everywhere=True,
)
def auto_beside_the_best(window: int, quick: bool) -> Iterator[float]:
    """Over two operators and two or three steps, in turn."""
    ratios = []
    for operator, steps in product(";:", (2, 3)):
        pushed = [Pushed(steps, operator, window, name) for name in ("auto", "cea", "nfa")]
        for each in pushed:
            each.feed(_WARM * _BATCH, _BATCH)
        rounds = [[each.batches_us() for each in pushed] for _ in range(_ROUNDS)]
        auto, *forced = map(min, zip(*rounds, strict=True))
        ratios.append(auto / min(forced))
    yield max(ratios)


@row(
    "an Engine, one event after the window was filled by batches",
    "events in the window",
    "µs",
    sizes=(1_000, 10_000, 100_000),
    exponent=0.3,
    bound=150,
)
def one_after_batches(window: int, quick: bool) -> Iterator[float]:
    """The first thousand of them; every tenth is a B, of a house that no A is about."""
    pushed = Pushed(2, ";", window, "nfa")
    ready = [event(n, "B" if n % 10 == 0 else "A", n % 7) for n in range(_SINGLE)]
    begin = 1_767_225_600 + pushed.second

    def push() -> None:
        for second, triples in enumerate(ready, begin):
            pushed.engine.push(STREAM, triples, second)

    gc.collect()  # garbage of the batches
    yield processor_us(push, _SINGLE)
