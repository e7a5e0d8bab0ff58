"""The patterns of CORE's experiments over stock trades, and the trades as columns of ids."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from automata.expression import Chain, Contiguity, Either, Expression, Iterate, Take
from automata.program import Events, Ids, Mask, Program, Selector, Skip, Symbol, SymbolSolutions, Window

MS = 1_000_000
WINDOW_MS = 9_999
NOBODY = "no such name"
STEPS = (
    ("SELL", "INTC"), ("BUY", "RIMM"), ("BUY", "QQQ"), ("SELL", "IPIX"), ("BUY", "AMAT"), ("BUY", "CSCO"),
    ("SELL", "YHOO"), ("BUY", "DELL"), ("BUY", "ORCL"), ("SELL", "MSFT"), ("BUY", "INTC"), ("BUY", "RIMM"),
)  # fmt: skip
"""Step k of Pn, as (type, name); C Section 5."""
ITERATED = "QQQ"
"""Q7 iterates over trades of this name with this volume."""
VOLUME = 4000


@dataclass(frozen=True, slots=True)
class Trades:
    """One entry per trade, in order; `sides` and `names` are numbers of `words`."""

    times: Ids
    sides: Ids
    names: Ids
    volumes: Ids
    words: dict[str, int]

    def __len__(self) -> int:
        return len(self.times)

    def first(self, count: int) -> Trades:
        """The first so many."""
        return Trades(self.times[:count], self.sides[:count], self.names[:count], self.volumes[:count], self.words)

    def repeated(self, times: int) -> Trades:
        """The same day so many times, one after the other."""
        day = int(self.times[-1] - self.times[0]) + WINDOW_MS * 2 * MS
        clocks = np.concatenate([self.times + n * day for n in range(times)])
        sides, names, volumes = (np.tile(column, times) for column in (self.sides, self.names, self.volumes))
        return Trades(clocks, sides, names, volumes, self.words)


def read_trades(path: Path) -> Trades:
    """The file of CORE's experiments: type, id, name, volume, price, time in milliseconds of the day."""
    words: dict[str, int] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split(",") for line in lines]
    sides, names = (
        np.array([words.setdefault(row[column], len(words)) for row in rows], dtype=np.int64) for column in (0, 2)
    )
    volumes = np.array([float(row[3]) for row in rows]).astype(np.int64)
    return Trades(np.array([int(row[5]) for row in rows], dtype=np.int64) * MS, sides, names, volumes, words)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern: what each symbol asks of a trade, and the program."""

    name: str
    asks: tuple[tuple[str | None, str, int | None], ...]
    program: Program

    def solutions(self, trades: Trades) -> dict[int, SymbolSolutions]:
        """Which trades each symbol takes; part of what is timed."""
        return {
            number: SymbolSolutions(np.flatnonzero(_wanted(trades, ask)), {}) for number, ask in enumerate(self.asks)
        }


def sequence(length: int, open_ended: bool, window_ms: int = WINDOW_MS) -> Pattern:
    """Pn, or Pn′ with one more step that never comes."""
    asks = [(side, name, None) for side, name in STEPS[:length]]
    steps: list[Expression] = [Take((number,)) for number in range(length)]
    if open_ended:
        asks.append(("BUY", NOBODY, None))
        steps.append(Take((length,)))
    return _pattern(f"P{length}{'′' if open_ended else ''}", tuple(asks), tuple(steps), window_ms)


def iteration(open_ended: bool, window_ms: int = WINDOW_MS) -> Pattern:
    """Q7: SELL ; (BUY OR SELL)+ ; SELL, or with a last step that never comes."""
    asks = (("SELL", "MSFT", None), ("BUY", ITERATED, VOLUME), ("SELL", ITERATED, VOLUME))
    last = ("SELL", NOBODY if open_ended else "AMAT", None)
    several = Iterate(Either((Take((1,)), Take((2,)))), 1, None, Contiguity.ANY)
    return _pattern(f"Q7{'′' if open_ended else ''}", (*asks, last), (Take((0,)), several, Take((3,))), window_ms)


def _pattern(
    name: str, asks: tuple[tuple[str | None, str, int | None], ...], steps: tuple[Expression, ...], window_ms: int
) -> Pattern:
    empty: frozenset[int] = frozenset()
    symbols = tuple(Symbol(f"S{number}", empty, empty, frozenset({0})) for number in range(len(asks)))
    expression = Chain(steps, (Contiguity.ANY,) * (len(steps) - 1))
    window = Window(window_ms * MS, in_events=False, sliding=True)
    program = Program(expression, symbols, 0, (), window, (), Selector.ALL, Skip.NO_SKIP, (), 1)
    return Pattern(name, asks, program)


def events_of(trades: Trades) -> Events:
    """The trades as events of one stream."""
    return Events(trades.times, np.zeros(len(trades), dtype=np.int64))


def _wanted(trades: Trades, ask: tuple[str | None, str, int | None]) -> Mask:
    side, name, volume = ask
    mask: Mask = trades.names == trades.words.get(name, -1)
    if side is not None:
        mask &= trades.sides == trades.words.get(side, -1)
    if volume is not None:
        mask &= trades.volumes == volume
    return mask
