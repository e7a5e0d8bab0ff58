"""`spaseq explain`: golden renderings of descriptions made by hand. UPDATE_GOLDEN=1 rewrites them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spaseq.explain.description import Format
from spaseq.explain.render import render, to_dot, to_json, to_mermaid
from spaseq.explain.text import to_text
from tests.explain.descriptions import ALL, AWKWARD, SMART_GRID

GOLDEN = Path(__file__).parents[1] / "golden" / "explain"
SUFFIXES: dict[Format, str] = {"text": "txt", "json": "json", "dot": "dot", "mermaid": "mmd", "svg": "svg"}
DOT_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
MERMAID_LABEL = r'"(?:[^"#;|<>{}`\[\]]|#\d+;|<br/>)*"'
MERMAID_NODE = re.compile(
    rf"  s\d+(?:\(\[{MERMAID_LABEL}\]\)|\({MERMAID_LABEL}\)|\{{\{{{MERMAID_LABEL}\}}\}}|\(\(\({MERMAID_LABEL}\)\)\))"
)
MERMAID_EDGE = re.compile(rf"  s\d+ -->\|{MERMAID_LABEL}\| s\d+")


@pytest.mark.parametrize("format", SUFFIXES)
@pytest.mark.parametrize("name", ALL)
def test_rendering_is_the_golden_one(name: str, format: Format) -> None:
    golden = GOLDEN / f"{name}.{SUFFIXES[format]}"
    rendered = render(ALL[name], format)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(rendered, encoding="utf-8")
    assert rendered == golden.read_text(encoding="utf-8")


def test_text_fits_a_terminal_of_100_columns() -> None:
    assert max(map(len, to_text(SMART_GRID).splitlines())) <= 100


def test_text_leaves_out_sections_that_have_nothing_to_say() -> None:
    text = to_text(AWKWARD)
    assert "partition" not in text
    assert "knowledge bases" not in text
    assert "contiguity between iterations" not in text


def test_text_keeps_every_note_of_every_edge() -> None:
    flat = " ".join(to_text(SMART_GRID).split())
    for edge in SMART_GRID.edges:
        assert "; ".join(edge.notes) in flat


def test_json_carries_every_value_of_the_description() -> None:
    document = json.loads(to_json(SMART_GRID))
    assert document["edges"][1] == {
        "source": 1,
        "target": 2,
        "label": "B",
        "operator": ";",
        "notes": ["first iteration", "no N may lie between"],
    }
    assert list(document) == [
        "query", "sentences", "streams", "window", "patterns", "states", "edges", "evaluator", "partition",
        "knowledge", "repetitions", "sharding", "conditions", "computed", "using",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_dot_strings_are_closed_and_nothing_else_is_left_between_them(name: str) -> None:
    for line in to_dot(ALL[name]).splitlines():
        outside = DOT_STRING.sub("", line)
        assert '"' not in outside
        assert re.fullmatch(r"[\w \[\]{}=,;>-]*", outside), outside


@pytest.mark.parametrize("name", ALL)
def test_mermaid_labels_hold_no_character_that_mermaid_reads(name: str) -> None:
    header, comment, *lines = to_mermaid(ALL[name]).splitlines()
    assert header == "flowchart LR"
    assert comment.startswith("  %% ")
    for line in lines:
        assert MERMAID_NODE.fullmatch(line) or MERMAID_EDGE.fullmatch(line), line


@pytest.mark.parametrize("name", ALL)
def test_every_edge_of_a_picture_joins_two_states_of_it(name: str) -> None:
    states = {f"s{state.id}" for state in ALL[name].states}
    for text, arrow in ((to_dot(ALL[name]), r"(s\d+) -> (s\d+)"), (to_mermaid(ALL[name]), r"(s\d+) -->.* (s\d+)$")):
        ends = re.findall(arrow, text, re.MULTILINE)
        assert len(ends) == len(ALL[name].edges)
        assert {end for pair in ends for end in pair} <= states


@pytest.mark.parametrize("name", ALL)
def test_svg_is_well_formed_and_has_every_state_and_edge(name: str) -> None:
    drawing = ElementTree.fromstring(render(ALL[name], "svg"))
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {" ".join(state.label.split()) for state in ALL[name].states} <= set(texts)
    paths = list(drawing.iter("{http://www.w3.org/2000/svg}path"))
    assert len(paths) == len(ALL[name].edges) + 1
