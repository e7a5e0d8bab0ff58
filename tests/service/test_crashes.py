"""A service that is killed six times loses nothing, and repeats nothing; `make crash-test` kills it more often."""

from __future__ import annotations

from pathlib import Path

from tests.service.crashes import crash


def test_three_kills_do_not_show(tmp_path: Path) -> None:
    assert crash(tmp_path, 3, 1).startswith("3 kills, ")
