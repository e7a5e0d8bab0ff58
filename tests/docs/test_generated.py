"""The pages made from the code: diagrams of the grammar that the parser has, every public name, every request."""

from __future__ import annotations

import random
import re
from typing import assert_never

import pytest

import spaseq
from docs.site.api_page import api_page
from docs.site.grammar import Either, Item, Literal, Named, Remark, Repeated, Row, rules
from docs.site.grammar_page import SPECIFICATION, grammar_page
from docs.site.http_page import http_page, kind_of
from spaseq.lang.parse import check
from spaseq.service.http.routes import OPERATIONS
from tests.lang.texts import text_of

RULES = rules(SPECIFICATION.read_text(encoding="utf-8"))
SYNTAX = {f"SQ{number:03}" for number in range(1, 15)} - {"SQ008"}
"""Codes of texts that do not follow the grammar."""


def derived(item: Item, draw: random.Random, depth: int) -> str:
    """A text that the item describes; from some depth on the first alternatives, and nothing that may be left out."""
    match item:
        case Literal(text):
            return text
        case Named("n" | "m"):
            return str(draw.randint(1, 3))
        case Named("Name"):
            return draw.choice("ABC")
        case Named("TimeUnit"):
            return draw.choice(("SECONDS", "MINUTE"))
        case Named("Quant"):
            return derived(RULES["Quant"], draw, depth).replace(" ", "")
        case Named("Atom") if depth > 6:
            return draw.choice("ABC")
        case Named(name):
            return derived(RULES[name], draw, depth + 1)
        case Row(items):
            return " ".join(derived(each, draw, depth) for each in items)
        case Either(items):
            return derived(items[0] if depth > 10 else draw.choice(items), draw, depth)
        case Repeated(inner, least, most):
            count = least if depth > 5 else draw.randint(least, most or least + 1)
            return " ".join(derived(inner, draw, depth) for _ in range(count))
        case Remark():
            return ""
        case _:
            assert_never(item)


def test_the_parser_reads_what_the_grammar_derives() -> None:
    draw = random.Random(7)
    texts = {derived(RULES["Sequence"], draw, 0) for _ in range(120)}
    texts = {text for text in texts if len(text) < 100}
    assert len(texts) > 40
    for text in texts:
        query, problems = check(text_of(text))
        assert SYNTAX.isdisjoint(problem.code for problem in problems if problem.severity == "error"), text
        assert query is not None or problems


def test_every_rule_has_a_diagram_with_links() -> None:
    page = grammar_page()
    assert page.count("<svg ") == len(RULES) == len(re.findall("(?m)^## ", page)) > 20
    assert 'href="#sequence"' in page and "sparql12-query/#rGroupGraphPattern" in page
    assert "xlink" not in page


@pytest.mark.parametrize("text", ["A := 'B", "A := ('B'", "A := 'B' ]"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        rules(f"### 2.1 Grammar\n```\n{text}\n```\n")


def test_every_public_name_is_described_without_an_address() -> None:
    page = api_page()
    assert [name for name in spaseq.__all__ if f"\n## spaseq.{name}\n" not in page] == []
    assert "\n## spaseq.testing.run_test\n" in page and "\n### Engine.push\n" in page
    assert re.search(r"0x[0-9a-f]{6}", page) is None


def test_every_request_is_described() -> None:
    page = http_page()
    assert [each for each in OPERATIONS if f"\n## {each.method} {each.path}\n" not in page] == []
    assert kind_of({"anyOf": [{"type": "integer", "default": 3}, {"type": "null"}]}) == (
        "integer; `3` if nothing is said or null"
    )
