"""Histories that fail are made shorter, and fail in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from tests.simulation.history import Follows
from tests.simulation.reduction import Reduction
from tests.simulation.running import _texts
from tests.simulation.service_drawing import ServiceDrawing
from tests.simulation.service_steps import KINDS


def test_what_a_failure_does_not_need_is_left_out_and_what_it_needs_is_simplified() -> None:
    def fails(steps: Sequence[int]) -> bool:
        return sum(step >= 10 for step in steps) >= 2 and 7 in steps

    def simpler(step: int) -> Iterator[int]:
        yield step - 1

    assert Reduction(fails).shortest([*range(30), 7], simpler, lambda step: [step % 2]) == [7, 10, 10]


def test_a_seed_draws_one_history() -> None:
    def drawn() -> list[str]:
        drawing = ServiceDrawing(Random("a"), _texts("a"), Follows(KINDS))
        return [repr(drawing.next()) for _ in range(200)]

    first = drawn()
    _texts.cache_clear()
    assert drawn() == first


def test_the_table_counts_what_follows_what() -> None:
    follows = Follows(["push", "kill"])
    for before, kind in ((None, "push"), ("push", "kill"), ("kill", "push"), ("push", "kill"), ("kill", "kill")):
        follows.note(before, kind)
    assert follows.missing == [("push", "push")]
    assert follows.table().splitlines() == ["           1   2", " 1  push   0   2", " 2  kill   1   1"]
