"""What a version of a layout consists of never changes: whoever changes it makes the next version and a reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from automata import layouts as of_evaluators
from automata.state import Layout, Unreadable
from spaseq.runtime.state import layouts as of_queries
from tests.states import layouts

KNOWN = Path(__file__).with_name("layouts.txt")
ALL = [each for module in (of_evaluators, of_queries) for each in vars(module).values() if isinstance(each, Layout)]


def test_parts_of_states_are_what_their_layouts_are_known_to_be() -> None:
    found, known = layouts.lines(layouts.found()), KNOWN.read_text().splitlines(keepends=True)
    told = "give the layout a new version with a reader of the old one, then run python -m tests.states.layouts"
    assert found == known, told
    assert {line.split(",")[0] for line in known} == {each.name for each in ALL}, "states of all kinds are taken"


def test_each_layout_is_declared_once() -> None:
    assert len({each.name for each in ALL}) == len(ALL)


def test_an_older_version_is_read_by_the_steps_to_the_newest_and_a_newer_one_is_refused() -> None:
    def second(part: Any) -> dict[str, Any]:
        return {"a": part["a"], "b": 1}

    def third(part: Any) -> dict[str, Any]:
        return {"c": part["a"] + part["b"]}

    one, two, three = Layout("x", "a"), Layout("x", "a b", second), Layout("x", "c", second, third)
    assert one.written(a=5) == {"a": 5}, "what release 0.1.0 wrote has no version"
    assert three.read(one.written(a=5))["c"] == three.read(two.written(a=5, b=1))["c"] == 6
    assert three.read(three.written(c=2))["c"] == 2
    with pytest.raises(Unreadable, match="'x' is of version 3, and this SPAseq reads up to 2"):
        two.read(three.written(c=2))
    for other in ({"b": 1}, [1, 2], None, 7):
        with pytest.raises(Unreadable, match=r"'x' (is no part of version 1|of version 1 has no a)"):
            one.read(other)
