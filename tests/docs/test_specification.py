"""docs/reference/specification.md: its numbering, the references to it, and its grammar's keywords."""

from __future__ import annotations

import re
from itertools import pairwise

from spaseq.algebra.build import build
from spaseq.lang.lexemes import KEYWORDS, UNITS
from spaseq.lang.parse import parse
from tests.lang.texts import text_of
from tests.project.test_architecture import ROOT, text_files
from tests.specification import PAGE, anchors, headings, linked_anchors, numbers, references

SUFFIXES = (".py", ".md", ".txt", ".lark", ".toml")
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in text_files() if path.suffix in SUFFIXES
}


def test_sections_are_numbered_in_order_and_by_their_level() -> None:
    numbered = [(level, text.split(" ")[0]) for level, text in headings() if text[0].isdigit()]
    assert [number for level, number in numbered if number.count(".") != level - 2] == []
    for (_, earlier), (_, later) in pairwise(numbered):
        places = [int(part) for part in earlier.split(".")]
        following = [[*places, 1], *([*places[:depth], places[depth] + 1] for depth in range(len(places)))]
        assert [int(part) for part in later.split(".")] in following, f"{later} after {earlier}"


def test_references_name_sections_that_exist() -> None:
    known = set(numbers())
    found = [(path, number) for path, text in TEXTS.items() for number in references(text)]
    assert len(found) > 40
    assert [reference for reference in found if reference[1] not in known] == []


def test_no_reference_names_the_page_that_the_specification_replaces() -> None:
    old = re.compile(r"LANGUAGE(?:\.md|'s| [Ss]ection)? ?[0-9]")
    assert [path for path, text in TEXTS.items() if old.search(text)] == []


def test_links_to_sections_name_headings_that_exist() -> None:
    known = anchors()
    own = str(PAGE.relative_to(ROOT))
    found = [
        (path, a) for path, text in TEXTS.items() if path.endswith(".md") for a in linked_anchors(text, path == own)
    ]
    assert len(found) > 10
    assert [link for link in found if link[1] not in known] == []


def test_the_grammar_has_the_keywords_of_the_language() -> None:
    grammar = PAGE.read_text(encoding="utf-8").split("### 2.1 Grammar")[1].split("```")[1]
    written = set(re.findall(r"'([A-Z]+)'", grammar))
    assert written - set(UNITS) == KEYWORDS - set(UNITS)


def test_what_stands_for_another_quantifier_has_its_meaning() -> None:
    rows = re.findall(r"(?m)^\| (`A[*{][^|]*) \| (`\(A[^|]*) \|", PAGE.read_text(encoding="utf-8"))
    pairs = [pair for row in rows for pair in zip(*(re.findall("`([^`]*)`", cell) for cell in row), strict=True)]
    assert len(pairs) >= 4
    for written, meant in pairs:
        one, other = (build(parse(text_of(f"B ; {text.replace('m', '4')}"), "q")) for text in (written, meant))
        assert one.sequence == other.sequence, written
