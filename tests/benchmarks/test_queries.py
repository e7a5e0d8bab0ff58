"""The benchmark of many queries runs, and its queries find the same whichever way they are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.queries import KINDS, measure, pushed, saving_table, summarised, table
from examples.event_files import write_example
from examples.smart_grid.generate import EXAMPLE


@pytest.mark.parametrize("kind", KINDS)
def test_few_and_many_queries_are_measured(kind: str, tmp_path: Path) -> None:
    write_example(EXAMPLE, 400, 1, tmp_path)
    measured = [measure(kind, count, tmp_path, 1) for count in (1, 3)]
    assert [m.queries for m in measured] == [1, 3]
    assert table(measured).row_count == 2


def test_pushing_is_measured_over_the_same_matches(tmp_path: Path) -> None:
    write_example(EXAMPLE, 400, 1, tmp_path)
    ways = pushed(tmp_path, 1)
    assert len({rows for _, rows, _ in ways}) == 1
    assert saving_table("", ways).row_count == 2


def test_the_summary_is_measured_over_the_same_matches(tmp_path: Path) -> None:
    write_example(EXAMPLE, 400, 1, tmp_path)
    (_, asked, _), (_, touched, _) = summarised(tmp_path, 3, 1)
    assert asked == touched
