"""What states consist of, found by taking them: `python -m tests.states.layouts > tests/states/layouts.txt`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import numpy as np

import spaseq
from automata.state import Layout, Values
from tests.states.release import ENGINES, EVENTS, HALF, QUERIES, engine_of, pushed

Found = dict[tuple[str, int, str], set[str]]
"""By layout, version and field, what its values are made of."""


def found() -> Found:
    """The parts of the states of all engines."""
    parts: Found = defaultdict(set)
    written = Layout.written

    def noted(layout: Layout, **fields: Any) -> dict[str, Any]:
        for name, value in fields.items():
            parts[layout.name, layout.version, name].add(_shape(value))
        return written(layout, **fields)

    with patch.object(Layout, "written", noted):
        for options in ENGINES.values():
            engine = engine_of(options)
            pushed(engine, EVENTS[:HALF])
            engine.snapshot()
            engine.close(flush=False)
        engine = spaseq.Engine(max_runs=1)
        engine.register(spaseq.parse(QUERIES["conditions"], "conditions"))
        with suppress(spaseq.RunError):
            pushed(engine, EVENTS[:HALF])
        engine.snapshot()
    return parts


def lines(parts: Found) -> list[str]:
    """One for each field, in order."""
    return [
        f"{layout}, version {version}: {field}: {' or '.join(sorted(shapes))}\n"
        for (layout, version, field), shapes in sorted(parts.items())
    ]


def _shape(value: Any) -> str:
    """The types that a value is made of; the parts of a mapping are told by themselves."""
    match value:
        case Values(ids):
            return f"ids in {ids.ndim} dimensions"
        case np.ndarray():
            return f"{value.dtype} in {value.ndim} dimensions"
        case Mapping():
            return "{…}"
        case list() | tuple():
            return f"[{', '.join(sorted({_shape(each) for each in value}))}]"
    return type(value).__name__


if __name__ == "__main__":
    print("".join(lines(found())), end="")
