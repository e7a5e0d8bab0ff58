"""A service that is killed ten times loses nothing, and repeats nothing."""

from __future__ import annotations

from pathlib import Path

from tests.service.crashes import crash


def test_ten_kills_do_not_show(tmp_path: Path) -> None:
    assert crash(tmp_path, 10, 1).startswith("10 kills, ")
