"""Bounds on matching one pattern in one event: an event over one is reported, the others are matched.

`within` matches the events of a batch under a budget, which joins, paths and expressions check as they go on. The
budget is a context variable: no operator has to pass it on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from arrays.columns import Ids, Mask
from arrays.wanted import check_wanted
from sparql_gpm.errors import ExpressionError

Found = TypeVar("Found")
Counted = TypeVar("Counted", bound=Sized)
Argument = TypeVar("Argument")

SOLUTIONS_MAX = 1_000_000
_ROWS_MAX = 1_000_000
"""Rows that one event may have in an operator, unless it may have more solutions."""
SOLUTIONS_TOGETHER_MAX = 4_000_000
"""Solutions of one pattern, and rows of one operator, in several events at once; beyond, fewer events are matched."""


@dataclass(frozen=True, slots=True)
class MatchBounds:
    """Bounds for one pattern in one event.

    solutions   distinct solutions; also rows of an operator, if it is more than a million
    seconds     CPU time; None: any
    names       of the options that set the two, for reports
    watch       is told which event is being matched; None: nobody asks
    singly      each event is matched by itself, so that the watch sees it
    conditions  of steps have the bound of seconds, too: beyond, the query is told by CostlyCondition
    """

    solutions: int = SOLUTIONS_MAX
    seconds: float | None = None
    names: tuple[str, str] = ("--max-solutions", "--max-event-seconds")
    watch: Watch | None = None
    singly: bool = False
    conditions: bool = False

    @property
    def too_many(self) -> str:
        """The reason for leaving out an event with too many solutions."""
        return f"more than {self.solutions:,} solutions ({self.names[0]})"

    @property
    def too_slow(self) -> str:
        """The reason for leaving out an event that takes too long."""
        return f"taken more than {self.seconds:g} s of CPU time ({self.names[1]})"


class Watch(Protocol):
    """Knows what is being matched, from `begin` to `end`, so that another thread can look."""

    def begin(self, event: int | None) -> None:
        """A part of a batch is matched: this event by itself, by its place in the batch, or several (None)."""

    def end(self) -> None:
        """The part has been matched."""


class Exceeded(NamedTuple):
    """An event that was left out, and why."""

    event: int
    reason: str


class TooManyRows(Exception):
    """The rows of an operator are too many in some frames; None: in all."""

    def __init__(self, frames: Ids | None) -> None:
        super().__init__()
        self.frames = frames


class TooManyRowsInEvents(TooManyRows):
    """The same, and the frames are events: inside EXISTS they are not."""


class TooManyTogether(Exception):
    """The solutions in several events are too many to be held at once, whatever those of each; match fewer events."""


class TooCostly(Exception):
    """Some event costs too much; its text is the reason."""


@dataclass(frozen=True, slots=True)
class _Budget:
    rows: int | None = None
    together: int | None = None
    deadline: float | None = None
    reason: str = ""
    in_a_match: bool = True


_UNBOUNDED = _Budget(in_a_match=False)
_UNCOUNTED = _Budget()
"""Inside a match whose rows and time have no bound."""
_current: ContextVar[_Budget] = ContextVar("budget", default=_UNBOUNDED)
_inseparable: ContextVar[bool] = ContextVar("inseparable", default=False)


class RowCount:
    """The rows that one operator makes, by frame; `add` raises TooManyRows or TooManyTogether."""

    def __init__(self) -> None:
        self._max = _current.get().rows
        self._rows = 0
        self._frames: list[Ids] = []

    def add(self, frames: Ids | None, rows: int) -> None:
        """More rows, in these frames; None: each of them in every frame."""
        if self._max is None:
            return
        self._rows += rows
        if frames is not None:
            check_together(self._rows)
            self._frames.append(frames)
        if self._rows <= self._max:
            return
        if frames is None:
            raise TooManyRows(None)
        self._frames = [np.sort(np.concatenate(self._frames), kind="stable")]
        sorted_ = self._frames[0]
        if len(over := np.flatnonzero(sorted_[self._max :] == sorted_[: -self._max])):
            raise TooManyRows(np.unique(sorted_[over]))


def check_together(rows: int) -> None:
    """Raises TooManyTogether if these are too many rows for the events that are being matched."""
    most = _current.get().together
    if most is not None and rows > most:
        raise TooManyTogether


def check_size(solutions: int, events: int) -> None:
    """Raises TooManyTogether if these are too many solutions for several events at once that can be parted."""
    if solutions > SOLUTIONS_TOGETHER_MAX and events > 1 and not _inseparable.get():
        raise TooManyTogether


def check_time() -> None:
    """Raises TooCostly when the CPU time of the current match is over, NotWanted if nobody wants it any more."""
    check_wanted()
    budget = _current.get()
    if budget.deadline is not None and time.thread_time() > budget.deadline:
        raise TooCostly(budget.reason)


def exceed(reason: str) -> Exception:
    """The error of an expression that costs too much: the event is left out; outside of a match it has no value."""
    return TooCostly(reason) if _current.get().in_a_match else ExpressionError(reason)


@contextmanager
def until(deadline: float, reason: str) -> Iterator[None]:
    """Inside, outside of any match, raises TooCostly once the CPU time of the thread is past a deadline."""
    token = _current.set(_Budget(deadline=deadline, reason=reason, in_a_match=False))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def any_rows() -> Iterator[None]:
    """Inside, operators work on frames that are no events: rows are not counted."""
    budget = _current.get()
    token = _current.set(_UNBOUNDED if budget.deadline is None else replace(budget, rows=None, together=None))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def in_some_event() -> Iterator[None]:
    """Inside, frames are no events: too many rows are those of some event that is being matched."""
    try:
        yield
    except TooManyRows:
        raise TooManyTogether from None


@contextmanager
def inseparable() -> Iterator[None]:
    """Inside, `within` never raises TooManyTogether: the events must be matched together."""
    token = _inseparable.set(True)
    try:
        yield
    finally:
        _inseparable.reset(token)


@contextmanager
def events_of(graphs: Ids) -> Iterator[None]:
    """Inside, frame i is in the event graphs[i]."""
    try:
        yield
    except TooManyRowsInEvents:
        raise
    except TooManyRows as error:
        raise TooManyRowsInEvents(np.unique(graphs if error.frames is None else graphs[error.frames])) from None


def within_one(bounds: MatchBounds, match: Callable[[Argument], Found], event: Argument) -> Found:
    """The result of `match` for a single event, whose rows are not counted; raises TooCostly."""
    token = _current.set(_UNCOUNTED if bounds.seconds is None else replace(_budget(bounds, 1), rows=None))
    if bounds.watch is not None:
        bounds.watch.begin(0)
    try:
        return match(event)
    finally:
        _current.reset(token)
        if bounds.watch is not None:
            bounds.watch.end()


def within(
    bounds: MatchBounds, events: Mask | None, count: int, match: Callable[[Mask | None], Counted]
) -> tuple[list[Counted], list[Exceeded]]:
    """The results of `match` for the events of a mask (None: all of a batch), and the events left out.

    Usually it is called once. It is called again without events that have too many rows; and a part is halved, until
    it is one event, where some event costs too much or all have too many rows together. Raises TooManyTogether where
    the results of several events are too many.
    """
    found: list[Counted] = []
    exceeded: list[Exceeded] = []
    waiting, size = [events], 0
    number = _size(events, count)
    separable = number > 1 and not _inseparable.get()
    if bounds.singly and number > 1:
        waiting = _parts(_numbers(events, count), number, count)
    while waiting:
        some = waiting.pop()
        number = _size(some, count)
        token = _current.set(_budget(bounds, number))
        if bounds.watch is not None:
            bounds.watch.begin(int(_numbers(some, count)[0]) if number == 1 else None)
        try:
            found.append(match(some))
            size += len(found[-1])
        except TooManyTogether:
            numbers = _numbers(some, count)
            if len(numbers) == 1:
                exceeded.append(Exceeded(int(numbers[0]), bounds.too_many))
            else:
                waiting += _parts(numbers, 2, count)
        except TooManyRows as error:
            over = _numbers(some, count) if error.frames is None else error.frames
            exceeded += [Exceeded(event, bounds.too_many) for event in over.tolist()]
            waiting += _parts(np.setdiff1d(_numbers(some, count), over), 1, count)
        except TooCostly as error:
            _current.reset(token)
            token = _current.set(_current.get())
            check_time()  # that of all of them may be over as well
            numbers = _numbers(some, count)
            if len(numbers) == 1:
                exceeded.append(Exceeded(int(numbers[0]), str(error)))
            else:
                waiting += _parts(numbers, 2, count)
        finally:
            _current.reset(token)
            if bounds.watch is not None:
                bounds.watch.end()
        if separable and size > SOLUTIONS_TOGETHER_MAX:
            raise TooManyTogether
    return found, exceeded


def _budget(bounds: MatchBounds, events: int) -> _Budget:
    rows = max(bounds.solutions, _ROWS_MAX)
    together = SOLUTIONS_TOGETHER_MAX if events > 1 else None
    if bounds.seconds is None:
        return _Budget(rows, together)
    return _Budget(rows, together, time.thread_time() + bounds.seconds, bounds.too_slow)


def _size(events: Mask | None, count: int) -> int:
    return count if events is None else int(np.count_nonzero(events))


def _numbers(events: Mask | None, count: int) -> Ids:
    return np.arange(count, dtype=np.int64) if events is None else np.flatnonzero(events)


def _parts(numbers: Ids, parts: int, count: int) -> list[Mask | None]:
    """The events in so many parts, the first one last."""
    masks: list[Mask | None] = []
    for part in reversed(np.array_split(numbers, parts)):
        if len(part):
            mask: Mask = np.zeros(count, dtype=np.bool_)
            mask[part] = True
            masks.append(mask)
    return masks
