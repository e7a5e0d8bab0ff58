"""The tables of signs: whatever reads, writes, shows or describes them has each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from docs.site.grammar import Either, Item, Literal, Repeated, Row, rules
from docs.site.grammar_page import SPECIFICATION
from sparql_gpm.syntax.grammar import grammar_text
from sparql_gpm.syntax.signs import CLOSING, SIGNS
from sparql_gpm.syntax.tokens import tokens
from spaseq.editors.classify import sparql_kind
from spaseq.editors.completion import completions
from spaseq.editors.document import Document
from spaseq.editors.formatting import formatted
from spaseq.editors.hover import hover
from spaseq.editors.kinds import SEQUENCE_KINDS, SEQUENCE_USES, SIGN_KINDS, Kind
from spaseq.lang.signs import CONTIGUITIES, SEQUENCE_SIGNS, Use
from tests.editors.queries import ROOT

QUERY = "SELECT * WITHIN 10 SECONDS FROM STREAM S <urn:s> {{ SEQ({}) DEFINE GPM A ON S {{ }} DEFINE GPM B ON S {{ }} }}"
WRITTEN = {
    Use.BRACKET: "(A ; B)", Use.CONTIGUITY: "A {} B", Use.OPERATOR: "A {} B", Use.QUANTIFIER: "A ; A{} ; B",
}  # fmt: skip

TOY = """
import json, sys
from automata.plan.expression import Contiguity
from sparql_gpm.syntax.signs import Sign
from spaseq.lang import signs
signs.SEQUENCE_SIGNS["~"] = Sign("~", "TILDE", signs.Use.CONTIGUITY, "a toy: any later event")
signs.CONTIGUITIES["~"] = Contiguity.ANY
from spaseq.editors import grammars
from spaseq.editors.classify import classified
from spaseq.editors.completion import completions
from spaseq.editors.document import Document
from spaseq.editors.formatting import formatted
from spaseq.editors.hover import hover
from spaseq.lang.canonical import canonical_text
from spaseq.lang.parse import check
text, wrong = sys.argv[1:]
query, problems = check(text)
document, place = Document(text), text.index("~")
print(json.dumps({
    "query": query and canonical_text(query), "problems": [each.message for each in problems],
    "wrong": [each.message for each in check(wrong)[1]], "formatted": formatted(text),
    "kind": next(each.kind.name for each in classified(text) if each.start == place),
    "hover": hover(document, place).text, "completions": [each.label for each in completions(document, place - 1)],
    "made": [name.name for name, made in grammars.MADE.items() if "~" in grammars.text(made())],
}))
"""


def test_a_sign_that_is_added_to_the_table_is_known_to_every_tool() -> None:
    text = QUERY.format("A~B")
    done = subprocess.run(
        [sys.executable, "-c", TOY, text.replace("A~B", "A  ~ B"), QUERY.format("A ~ ~ B")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["problems"] == [] and "SEQ ( A ~ B )" in found["query"]
    assert "SEQ(A ~ B)" in found["formatted"]
    assert found["kind"] == "CONTIGUITY"
    assert found["hover"]
    assert "~" in found["completions"]
    assert found["wrong"] == ["expected a step (a Name, '(' or 'ALL('), found '~'"]
    assert sorted(found["made"]) == ["spaseq.tmLanguage.json", "tokens.json"]


@pytest.mark.parametrize("sign", SEQUENCE_SIGNS)
def test_every_sign_of_a_sequence_is_formatted_shown_and_offered(sign: str) -> None:
    use = SEQUENCE_SIGNS[sign].use
    assert isinstance(use, Use)
    text = QUERY.format(WRITTEN[use].format(sign))
    assert formatted(formatted(text)) == formatted(text)
    place = text.index(sign, text.index("SEQ(") + (4 if use is Use.BRACKET else 0))
    assert hover(Document(text), place) is not None
    assert SEQUENCE_KINDS[SEQUENCE_SIGNS[sign].terminal] is SEQUENCE_USES[use]
    place = text.index("(A") + 3
    assert (sign in [each.label for each in completions(Document(text), place)]) == (use is not Use.BRACKET)


@pytest.mark.parametrize("sign", SIGNS)
def test_every_sign_of_sparql_is_read_coloured_and_used(sign: str) -> None:
    (token,) = tokens(sign)
    assert token.type == SIGNS[sign].terminal
    assert sparql_kind(token) is SIGN_KINDS[SIGNS[sign].use] is not Kind.INVALID
    rules_of_sparql = grammar_text().partition("%declare")[0]
    assert f'"{sign}"' in rules_of_sparql or SIGNS[sign].terminal in rules_of_sparql


def test_brackets_pair() -> None:
    assert {*CLOSING, *CLOSING.values()} == {sign for sign in SIGNS if SIGN_KINDS[SIGNS[sign].use] is Kind.BRACKET}


def test_the_diagrams_and_pages_have_every_sign_of_a_sequence() -> None:
    written = {text for item in rules(SPECIFICATION.read_text(encoding="utf-8")).values() for text in _literals(item)}
    assert written >= SEQUENCE_SIGNS.keys() | CONTIGUITIES.keys()
    page = (ROOT / "docs/reference/language.md").read_text(encoding="utf-8")
    described = SEQUENCE_SIGNS.keys() - {"(", ")"}
    assert [sign for sign in described if f"`{sign}`" not in page and f" {sign} " not in page] == []


def _literals(item: Item) -> Iterator[str]:
    match item:
        case Literal(text):
            yield text
        case Row(items) | Either(items):
            for each in items:
                yield from _literals(each)
        case Repeated(inner):
            yield from _literals(inner)
