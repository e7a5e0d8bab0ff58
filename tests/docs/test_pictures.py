"""Pictures on pages show what the engine finds."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.site.pictures import cases, with_pictures

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
BLOCK = "A1 X2 B3 B4\nSEQ(A , B)\nSEQ(A ; B)\nSEQ(A : B)\nWITHIN 2 SECONDS SLIDING: SEQ(A : B)\n"


def test_a_case_has_the_matches_of_its_sequence() -> None:
    events, found = cases(BLOCK)
    assert events == {1: "A", 2: "X", 3: "B", 4: "B"}
    assert [case.matches for case in found] == [(), ((1, 3),), ((1, 3), (1, 4)), ((1, 3),)]
    (after,) = cases("A1 A2 B3\nSEQ(A : B) AFTER MATCH SKIP PAST LAST EVENT")[1]
    assert after.matches == ((1, 3),)
    (last,) = cases("A1 B2 B3 C4\nSELECT LAST SEQ(A : B : C)")[1]
    assert last.matches == ((1, 3, 4),)


def test_blocks_become_drawings_and_all_else_stays() -> None:
    page = with_pictures(
        f"# Page\n\nwords\n\n```matches\n{BLOCK}```\n\n```automaton\nSEQ(A ; B+)\n```\n\n```text\na\n```\n"
    )
    assert page.startswith("# Page\n\n<style>")
    assert page.endswith("\n\n```text\na\n```\n")
    assert page.count('class="match"') == 4 and page.count("no match") == 1 and page.count("<svg") == 2
    assert "SEQ(A : B)" in page and "next iteration" in page
    assert with_pictures("# Page\n\n```text\na\n```\n") == "# Page\n\n```text\na\n```\n"


def test_the_pictures_of_evaluators_show_the_matches_of_their_example() -> None:
    page = (DOCS / "explanation" / "evaluators.md").read_text(encoding="utf-8")
    example = page.split("```matches\n")[1].split("```")[0]
    events, (case,) = cases(example)
    matches = [" ".join(f"{events[time]}{time}" for time in match) for match in case.matches]
    shown = re.findall(r"!\[.+?\]\(\.\./images/(evaluator-\w+\.svg)\)", page, re.DOTALL)
    assert len(shown) == 6 and len(matches) == 5
    for name in shown:
        picture = ElementTree.parse(DOCS / "images" / name).getroot()
        texts = [element.text or "" for element in picture.iter(f"{SVG}text")]
        assert picture.find(f"{SVG}title") is not None and picture.find(f"{SVG}desc") is not None
        assert "prefers-color-scheme: dark" in (picture.find(f"{SVG}style").text or "")  # type: ignore[union-attr]
        if name == "evaluator-cea.svg":
            assert sorted(text for text in texts if re.fullmatch(r"[ABC]\d", text)) == [
                "A1",
                "A3",
                "B2",
                "B4",
                "B5",
                "C6",
            ]
        elif name == "evaluator-propagation.svg":
            assert texts.count(str(len(matches))) == 3  # at B after B5 and C6, at C after C6
        else:
            assert sorted(text for text in texts if re.fullmatch(r"A\d B\d C\d", text)) == sorted(matches), name


@pytest.mark.parametrize("block", ["A1 b2\nSEQ(A)", "A1 B2\nA ; B"])
def test_what_is_no_case_is_refused(block: str) -> None:
    with pytest.raises(ValueError, match=r"no event|no sequence"):
        cases(block)
