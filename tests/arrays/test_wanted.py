"""Work that is told to end, and how far it came."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrays.progress import Progress, advance, counted, expect
from arrays.wanted import NotWanted, awaited, check_wanted, while_wanted
from tests.waiting import PATIENCE_S


class Enough(NotWanted):
    """Of these asks there have been enough."""


class Asks:
    """Asks until there have been enough."""

    def __init__(self, most: int) -> None:
        self.left = most

    def ask(self) -> None:
        if not self.left:
            raise Enough
        self.left -= 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5))
def test_all_who_ask_outside_are_asked_and_the_first_that_has_enough_ends_the_work(most: list[int]) -> None:
    asks = [Asks(each) for each in most]

    def nested(rest: list[Asks]) -> int:
        if rest:
            with while_wanted(rest[0].ask):
                return nested(rest[1:])
        done = 0
        with pytest.raises(Enough):
            while True:
                check_wanted()
                done += 1
        return done

    assert nested(asks) == min(most)
    check_wanted()


def test_nobody_who_handles_errors_takes_the_end_for_one() -> None:
    assert not issubclass(NotWanted, Exception)


def test_a_wait_for_another_thread_ends_when_it_is_not_wanted() -> None:
    future: Future[int] = Future()
    asks = Asks(2)
    with pytest.raises(Enough), while_wanted(asks.ask):
        awaited(future)
    with pytest.raises(TimeoutError):
        awaited(future, 0.01)
    threading.Timer(0.01, future.set_result, (7,)).start()
    with while_wanted(Asks(-1).ask):
        assert awaited(future) == awaited(future, PATIENCE_S) == 7
    failed: Future[int] = Future()
    failed.set_exception(TimeoutError("its own"))
    with pytest.raises(TimeoutError, match="its own"):
        awaited(failed)


@given(st.lists(st.integers(0, 9)))
def test_progress_is_told_to_who_counts_alone(parts: list[int]) -> None:
    outer, inner = Progress(), Progress()
    with counted(outer):
        expect(1)
        with counted(inner):
            for part in parts:
                expect(part)
                for _ in range(part):
                    advance()
        advance()
    expect(5)
    assert (outer, inner) == (Progress(1, 1), Progress(sum(parts), sum(parts)))
