"""Limits of seconds in a window of a day: what is held and what it takes, beside the same patterns without limits.

Ten events a second, from columns of ids to matches in this process. A is frequent, B rare, and both have one of many
keys: nearly every partial match waits in vain. Seconds are processor time; *held* is the most that was kept at the end
of a batch: partial matches, matches that wait for an absence, events of negated steps. Plain Python does the same with
dictionaries and queues.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from rich.console import Console
from rich.table import Table

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression, Limit, Negation, Step
from automata.plan.plan import compile_plan
from automata.plan.program import FoldValue, Program, Reference, Selector, Skip, Symbol, Window
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids, Mask, Match

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
STEP = SECOND // 10
"""The time between two events."""
KEYS = 10_000
RARE = 0.02
"""The share of B."""
A, B = range(2)
_NEXT = (Contiguity.NEXT,)


@dataclass(frozen=True, slots=True)
class NoConditions:
    """The condition evaluator of patterns that only join."""

    def holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        """No pattern here has a condition."""
        raise AssertionError(condition)

    def fold(self, value: FoldValue, offsets: Ids, ids: Ids) -> Ids:
        """No pattern here has an aggregate."""
        raise AssertionError(value)

    def texts(self, matches: Sequence[Match]) -> Sequence[tuple[str, ...]]:
        """Nothing is projected."""
        return [()] * len(matches)


@dataclass(frozen=True, slots=True)
class Stream:
    """Type and key of each event; the keys are ids, from 1 on."""

    types: Ids
    keys: Ids

    def batch(self, begin: int, end: int) -> tuple[Events, dict[int, SymbolSolutions]]:
        """Events begin … end - 1 and their solutions."""
        times = np.arange(begin, end, dtype=np.int64) * STEP
        solutions = {}
        for symbol in (A, B):
            which = np.flatnonzero(self.types[begin:end] == symbol)
            solutions[symbol] = SymbolSolutions(which, {0: self.keys[begin:end][which]})
        return Events(times, np.zeros(end - begin, dtype=np.int64)), solutions


@dataclass(frozen=True, slots=True)
class Measured:
    """One run over the stream."""

    pattern: str
    system: str
    matches: int
    held: int
    seconds: float


def stream(events: int, seed: int = 1) -> Stream:
    """Random types and keys."""
    rng = np.random.default_rng(seed)
    types = (rng.random(events) < RARE).astype(np.int64)
    return Stream(types, rng.integers(1, KEYS + 1, events))


def program(expression: Expression) -> Program:
    """A and B with one key, in a sliding window of a day."""
    key = frozenset({0})
    symbols = tuple(Symbol(name, key, key, frozenset({0})) for name in "AB")
    window = Window(DAY, False, True)
    return Program(expression, symbols, 1, (), window, (), Selector.ALL, Skip.NO_SKIP, (), 1)


def followed(limit: int | None) -> Expression:
    """`A ; WITHIN limit B`."""
    return nodes.Sequence((Step(A), Step(B)), _NEXT, limits=(Limit(limit),) if limit else ())


def in_all(limit: int | None) -> Expression:
    """`(A ; B ; A) WITHIN limit`."""
    group = nodes.Sequence((Step(A), Step(B), Step(A)), _NEXT * 2)
    return nodes.Limited(group, Limit(limit)) if limit else group


def unanswered(limit: int | None) -> Expression:
    """`A ; B! WITHIN limit`."""
    return nodes.Sequence((Step(A), Negation(Step(B), limit=Limit(limit) if limit else None)), _NEXT)


PATTERNS: dict[str, Callable[[int | None], Expression]] = {
    "A ; {} B": followed,
    "(A ; B ; A) {}": in_all,
    "A ; B! {}": unanswered,
}


def measure(name: str, expression: Expression, events: Stream, batch: int) -> Measured:
    """The run-based evaluator over columns."""
    evaluator = RunEvaluator(compile_plan(program(expression)), NoConditions())
    matches, held, seconds = 0, 0, 0.0
    for begin in range(0, len(events.types), batch):
        slice_ = events.batch(begin, min(begin + batch, len(events.types)))
        started = time.process_time()
        matches += len(evaluator.on_batch(*slice_))
        seconds += time.process_time() - started
        negated = sum(map(len, evaluator.negations.kept()))
        held = max(held, sum(map(len, evaluator.chains.alive())) + len(evaluator.reporter.pending) + negated)
    started = time.process_time()
    matches += len(evaluator.finish())
    return Measured(name, "runs", matches, held, seconds + time.process_time() - started)


class Waiting:
    """Times at which A began something, by key, and in order of time until a limit has passed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._of_key: dict[int, deque[int]] = {}
        self._order: deque[tuple[int, int]] = deque()

    def __len__(self) -> int:
        return len(self._order)

    def add(self, began: int, key: int) -> None:
        """One more."""
        self._of_key.setdefault(key, deque()).append(began)
        self._order.append((began, key))

    def take(self, key: int) -> Iterable[int]:
        """Takes out those of a key."""
        return self._of_key.pop(key, ())

    def expire(self, now: int) -> int:
        """Drops those whose limit has passed; the number of them that nobody had taken."""
        dropped = 0
        while self._order and self._order[0][0] < now - self._limit:
            began, key = self._order.popleft()
            if (waiting := self._of_key.get(key)) and waiting[0] == began:
                waiting.popleft()
                dropped += 1
                if not waiting:
                    del self._of_key[key]
        return dropped


class PlainFollowed:
    """`A ; WITHIN limit B` in plain Python."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting = Waiting(limit)

    def take(self, now: int, kind: int, key: int) -> int:
        """The number of matches that are known after the next event."""
        self._waiting.expire(now)
        if kind == B:
            return sum(1 for _ in self._waiting.take(key))
        self._waiting.add(now, key)
        return 0

    def finish(self) -> int:
        """The number of matches that are known at the end."""
        return 0

    def __len__(self) -> int:
        return len(self._waiting)


class PlainInAll(PlainFollowed):
    """`(A ; B ; A) WITHIN limit` in plain Python: `pairs` are those of A and B, by the time of A."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._pairs = Waiting(limit)

    def take(self, now: int, kind: int, key: int) -> int:
        self._waiting.expire(now)
        self._pairs.expire(now)
        if kind == B:
            for began in self._waiting.take(key):
                self._pairs.add(began, key)
            return 0
        self._waiting.add(now, key)
        return sum(1 for began in self._pairs.take(key) if now - began <= self._limit)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._pairs)


class PlainUnanswered(PlainFollowed):
    """`A ; B! WITHIN limit` in plain Python."""

    def take(self, now: int, kind: int, key: int) -> int:
        matches = self._waiting.expire(now)
        if kind == B:
            self._waiting.take(key)
        else:
            self._waiting.add(now, key)
        return matches

    def finish(self) -> int:
        return self._waiting.expire(sys.maxsize)


PEERS: dict[Callable[[int | None], Expression], type[PlainFollowed]] = {
    followed: PlainFollowed,
    in_all: PlainInAll,
    unanswered: PlainUnanswered,
}


def plain(name: str, peer: PlainFollowed, events: Stream) -> Measured:
    """A pattern in plain Python."""
    types, keys = events.types.tolist(), events.keys.tolist()
    matches = held = 0
    started = time.process_time()
    for n, kind in enumerate(types):
        matches += peer.take(n * STEP, kind, keys[n])
        held = max(held, len(peer))
    matches += peer.finish()
    return Measured(name, "plain Python", matches, held, time.process_time() - started)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, metavar="N", help="[100000]")
    parser.add_argument("--limit", type=int, default=10, metavar="S", help="seconds [10]")
    parser.add_argument("--batch", type=int, default=1000, metavar="N", help="[1000]")
    options = parser.parse_args()
    events = stream(options.events)
    table = Table("pattern", "system", "matches", "held", "s", "k events/s")
    for name, of in PATTERNS.items():
        for limit in (options.limit * SECOND, None):
            written = name.format(f"WITHIN {options.limit} SECONDS" if limit else "").replace("  ", " ").strip()
            found = [measure(written, of(limit), events, options.batch)]
            found.append(plain(written, PEERS[of](limit or DAY), events))
            assert found[0].matches == found[1].matches, found
            for one in found:
                rate = options.events / one.seconds / 1000
                figures = f"{one.matches:,}", f"{one.held:,}", f"{one.seconds:.2f}", f"{rate:,.0f}"
                table.add_row(one.pattern, one.system, *figures)
    Console().print(table)


if __name__ == "__main__":
    main()
