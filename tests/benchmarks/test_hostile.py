"""The program that measures hostile input tells cost that grows too fast, too much memory, and a process that ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from benchmarks.hostile import measured
from benchmarks.hostile_shapes import Shape, Way, shapes, ways


def quadratic(data: bytes) -> str:
    total = 0
    for _ in range(len(data) ** 2):
        total += 1
    return str(total)


def takes_memory(data: bytes) -> str:
    return str(len(bytearray(len(data) * 10_000)))


def ends(data: bytes) -> str:
    if len(data) > 1_000:
        os.kill(os.getpid(), signal.SIGKILL)
    return ""


def raises(data: bytes) -> str:
    if len(data) > 1_000:
        raise IndexError("no such item")
    return ""


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (len, ""), (quadratic, "grows as size^"), (takes_memory, " MB, at most 20"), (ends, "ended by signal 9"),
        (raises, "IndexError: no such item"),
    ],
)  # fmt: skip
def test_a_shape_is_at_fault_for_what_its_way_may_not_do(read: Callable[[bytes], str], fault: str) -> None:
    found = measured(Shape("a", "a", bytes), Way(read, 4_800, 30.0, 20_000_000), attempts=1)
    assert (not found.faults) if fault == "" else (fault in "; ".join(found.faults))
    assert [each.bytes for each in found.readings.values()] == [1_200, 2_400, 4_800]


def test_every_shape_has_a_name_and_a_way_of_its_own_and_makes_what_it_is_asked_for() -> None:
    every = shapes()
    assert len({(each.way, each.name) for each in every}) == len(every) >= 60
    assert {each.way for each in every} == set(ways())
    assert all(each.make(4_000) for each in every)
