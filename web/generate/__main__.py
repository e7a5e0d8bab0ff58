"""Write the generated sources: python -m web.generate [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

from web.generate.examples import examples
from web.generate.operations import operations
from web.generate.prefixes import prefixes

SOURCES = Path(__file__).resolve().parents[1] / "src"
GENERATED = {"api/operations.ts": operations, "model/examples.ts": examples, "model/prefixes.ts": prefixes}
"""The path of each generated source and what makes its text."""


def stale() -> list[str]:
    """The paths of the generated sources that are not what the engine gives now."""
    return [
        path
        for path, made in GENERATED.items()
        if not (SOURCES / path).exists() or (SOURCES / path).read_text(encoding="utf-8") != made()
    ]


if __name__ == "__main__":
    paths = stale()
    if "--check" in sys.argv[1:]:
        sys.exit(f"not what the engine gives: {', '.join(paths)}; make web writes them" if paths else 0)
    for each in paths:
        (SOURCES / each).write_text(GENERATED[each](), encoding="utf-8")
