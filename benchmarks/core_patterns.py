"""The patterns of CORE's experiments over stock trades, and the trades as columns."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from automata.plan.expression import Choice, Contiguity, Expression, Repetition, Sequence, Step
from automata.plan.program import Program, Selector, Skip, Symbol, Window
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids, Mask

MS = 1_000_000
WINDOW_MS = 9_999
NOBODY = "no such name"
STEPS = (
    ("SELL", "INTC"), ("BUY", "RIMM"), ("BUY", "QQQ"), ("SELL", "IPIX"), ("BUY", "AMAT"), ("BUY", "CSCO"),
    ("SELL", "YHOO"), ("BUY", "DELL"), ("BUY", "ORCL"), ("SELL", "MSFT"), ("BUY", "INTC"), ("BUY", "RIMM"),
)  # fmt: skip
"""Step k of Pn, as (type, name); C Section 5. P24 has each of them twice."""
FOUR = (("SELL", "MSFT", 26.0), ("BUY", "ORCL", 11.14), ("BUY", "CSCO", None), ("SELL", "AMAT", 18.92))
"""The steps of Q1, and the price above which Q2 wants them; the paper leaves both to an appendix."""
ITERATED = "QQQ"
"""Q7 iterates over trades of this name with this volume."""
VOLUME = 4000


@dataclass(frozen=True, slots=True)
class Trades:
    """One entry per trade, in order; `sides` and `names` are ids of the dictionary `words`."""

    times: Ids
    sides: Ids
    names: Ids
    volumes: Ids
    prices: NDArray[np.float64]
    words: dict[str, int]

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, slots=True)
class Tape:
    """The trades before anything is done with them: times and numbers as columns, types and names as strings."""

    times: Ids
    sides: pa.StringArray
    names: pa.StringArray
    volumes: Ids
    prices: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.times)

    def first(self, count: int) -> Tape:
        """The first `count` trades."""
        return Tape(*(column[:count] for column in self._columns()))

    def repeated(self, times: int) -> Tape:
        """The same day `times` times, one after the other."""
        day = int(self.times[-1] - self.times[0]) + WINDOW_MS * 2 * MS
        clocks = np.concatenate([self.times + n * day for n in range(times)])
        sides, names = (pa.concat_arrays([column] * times) for column in (self.sides, self.names))
        return Tape(clocks, sides, names, np.tile(self.volumes, times), np.tile(self.prices, times))

    def batches(self, size: int) -> Iterator[Trades]:
        """Batches of `size` trades whose strings are encoded as ids; this work is part of every measured time."""
        words: dict[str, int] = {}
        for begin in range(0, len(self), size):
            times, sides, names, volumes, prices = (column[begin : begin + size] for column in self._columns())
            yield Trades(times, _encoded(sides, words), _encoded(names, words), volumes, prices, words)

    def _columns(self) -> tuple[Any, ...]:
        return self.times, self.sides, self.names, self.volumes, self.prices


def _encoded(strings: pa.StringArray, words: dict[str, int]) -> Ids:
    encoded = strings.dictionary_encode()
    ids = [words.setdefault(word, len(words)) for word in encoded.dictionary.to_pylist()]
    return np.array(ids, dtype=np.int64)[encoded.indices.to_numpy()]


def read_trades(path: Path) -> Tape:
    """The file of CORE's experiments: type, id, name, volume, price, time in milliseconds of the day."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        sides, _, names, volumes, prices, times = zip(*(line.rstrip("\n").split(",") for line in lines), strict=True)
    return Tape(
        np.array(times, dtype=np.int64) * MS,
        pa.array(sides, pa.string()),
        pa.array(names, pa.string()),
        np.array(volumes, dtype=np.float64).astype(np.int64),
        np.array(prices, dtype=np.float64),
    )


class Ask(NamedTuple):
    """What a step asks of a trade; None: whatever it is. Prices are to be above `price`."""

    side: str | None
    name: str
    volume: int | None = None
    price: float | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """What each symbol asks of a trade, and the program; its one variable, if any, is one more than the volume."""

    name: str
    asks: tuple[Ask, ...]
    program: Program

    def solutions(self, trades: Trades) -> dict[int, SymbolSolutions]:
        """Which trades each symbol takes; part of what is timed."""
        found = [np.flatnonzero(_wanted(trades, ask)) for ask in self.asks]
        bound = range(self.program.variables)
        return {
            n: SymbolSolutions(events, dict.fromkeys(bound, trades.volumes[events] + 1))
            for n, events in enumerate(found)
        }


def sequence(length: int, open_ended: bool, window_ms: int = WINDOW_MS) -> Pattern:
    """Pn, or Pn′ with one more step that never comes."""
    asks = [Ask(side, name) for side, name in islice(cycle(STEPS), length)]
    steps: list[Expression] = [Step(number) for number in range(length)]
    if open_ended:
        asks.append(Ask("BUY", NOBODY))
        steps.append(Step(length))
    return _pattern(f"P{length}{'′' if open_ended else ''}", tuple(asks), tuple(steps), window_ms)


def iteration(open_ended: bool, window_ms: int = WINDOW_MS) -> Pattern:
    """Q7: SELL ; (BUY OR SELL)+ ; SELL, or with a last step that never comes."""
    asks = (Ask("SELL", "MSFT"), Ask("BUY", ITERATED, VOLUME), Ask("SELL", ITERATED, VOLUME))
    last = Ask("SELL", NOBODY if open_ended else "AMAT")
    several = Repetition(Choice((Step(1), Step(2))), 1, None, Contiguity.ANY)
    return _pattern(f"Q7{'′' if open_ended else ''}", (*asks, last), (Step(0), several, Step(3)), window_ms)


def operators() -> list[Pattern]:
    """Q1 to Q6: SELL ; BUY ; BUY ; SELL, with filters, in partitions by volume; then BUY OR SELL in the middle."""
    found = []
    variants = [(e, f, p) for e in (False, True) for f, p in ((False, False), (True, False), (False, True))]
    for number, (either, filtered, by_volume) in enumerate(variants, start=1):
        asks = [
            Ask(None if either and 0 < k < 3 else side, name, None, price if filtered else None)
            for k, (side, name, price) in enumerate(FOUR)
        ]
        steps = tuple(Step(k) for k in range(len(FOUR)))
        found.append(_pattern(f"Q{number}", tuple(asks), steps, WINDOW_MS, by_volume))
    return found


def _pattern(
    name: str, asks: tuple[Ask, ...], steps: tuple[Expression, ...], window_ms: int, by_volume: bool = False
) -> Pattern:
    bound = frozenset({0}) if by_volume else frozenset()
    symbols = tuple(Symbol(f"S{number}", bound, bound, frozenset({0})) for number in range(len(asks)))
    expression = Sequence(steps, (Contiguity.ANY,) * (len(steps) - 1))
    window = Window(window_ms * MS, in_events=False, sliding=True)
    partition = tuple(sorted(bound))
    program = Program(expression, symbols, len(bound), (), window, partition, Selector.ALL, Skip.NO_SKIP, (), 1)
    return Pattern(name, asks, program)


def events_of(trades: Trades) -> Events:
    """The trades as events of one stream."""
    return Events(trades.times, np.zeros(len(trades), dtype=np.int64))


def _wanted(trades: Trades, ask: Ask) -> Mask:
    mask: Mask = trades.names == trades.words.get(ask.name, -1)
    if ask.side is not None:
        mask &= trades.sides == trades.words.get(ask.side, -1)
    if ask.volume is not None:
        mask &= trades.volumes == ask.volume
    if ask.price is not None:
        mask &= trades.prices > ask.price
    return mask
