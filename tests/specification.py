"""The sections of docs/reference/specification.md, and the references to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "specification.md"
SEMANTICS = ("1", "3")
"""The sections that worked cases show; Section 2 has those of tests/golden/errors, and Section 4 is about programs."""

_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_REFERENCE = re.compile(rf"[Ss]pecification\s+({_NUMBER.pattern}(?:(?:-|,\s|\sand\s){_NUMBER.pattern})*)")
_LINK = re.compile(r"(?:specification\.md)?#([\w-]+)\)")


def headings() -> list[tuple[int, str]]:
    """Level and text of each heading, in order."""
    return [(len(marks), text) for marks, text in _HEADING.findall(PAGE.read_text(encoding="utf-8"))]


def numbers() -> list[str]:
    """The numbers of all sections, in order."""
    return [found[0] for _, text in headings() if (found := _NUMBER.match(text))]


def semantic_numbers() -> list[str]:
    """The numbers of the sections that state semantics and have no sections of their own."""
    known = numbers()
    inner = {number.rpartition(".")[0] for number in known}
    return [number for number in known if number.split(".")[0] in SEMANTICS and number not in inner]


def anchors() -> set[str]:
    """What a link may name after `#`, as GitHub and most renderers make it of a heading."""
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for _, text in headings()}


def references(text: str) -> Iterator[str]:
    """Each number that a text names as a section: `specification 3.2`, `specification 3.4-3.5`."""
    for found in _REFERENCE.finditer(text):
        yield from _NUMBER.findall(found[1])


def linked_anchors(text: str, of_the_page: bool) -> Iterator[str]:
    """The anchors that links to the specification name; `of_the_page`: the text is the specification itself."""
    for found in _LINK.finditer(text):
        if of_the_page or found[0].startswith("specification.md"):
            yield found[1]
