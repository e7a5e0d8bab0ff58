"""The query files of the examples and tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


@cache
def queries() -> tuple[str, ...]:
    """Every query of the examples and tests without errors, each once, with their line ends."""
    paths = [path for folder in ("examples", "tests") for path in sorted((ROOT / folder).rglob("*.rq"))]
    right = [path for path in paths if path.parent.name != "errors" or path.name.startswith("warned")]
    return tuple(dict.fromkeys(path.read_bytes().decode() for path in right))
