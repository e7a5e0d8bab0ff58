"""Texts that are the same up to constants give what each gives when it is parsed by itself."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaseq.lang import parse as parsing
from spaseq.lang.parse import check, parse
from spaseq.lang.templates import TEMPLATES_MAX, Templates
from tests.drawn import drawn
from tests.strategies.query import queries

_TEXT = """PREFIX : <http://ex.org/>  PREFIX p1: <http://ex.org/1/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT %s WITHIN 10 MINUTES SLIDING FROM STREAM S1 <http://ex.org/s1> FROM NAMED KB <http://ex.org/kb1>
WHERE { SEQ(A ; B{1,2})
  DEFINE GPM A ON S1 { %s }
  DEFINE GPM B ON S1 { :h10 :high ?w3 FILTER(?w3 > 20) # :h10 is a house, and so is :h11
  }
}"""
_BODIES = (
    ":h10 :low ?v1",
    "<http://ex.org/h10> :low1 ?v1 ; p1:at ?v2 FILTER(?v1 + 20 > 2.5 && ?v1 < 30)",
    '?s :id "s17" ; :name "see :h10" ; :v ?v1 FILTER(?v1 != -20 && ?v1 IN (10, 20, 30))',
    "?s :v ?v1 FILTER(REGEX(?v1, \"a1{2}\") || STR(?v1) = '17')",
    "{ SELECT ?v1 WHERE { ?s :v ?v1 ; :n 10 } LIMIT 10 }",
    'GRAPH <http://ex.org/kb1> { :h10 :v ?v1 } ?v1 :at "2026-01-10"^^xsd:date',
    '?s :v ?v1 ; :w _:b10 . _:b10 :n 20 OPTIONAL { :h10 :h10 "en10"@en }',
    ":h1.5 :v ?v1 . :h\\-10 :v 1e3 , 10.5 , .5",
)
_COLUMNS = ("*", "?v1", "(?v1 + 10 AS ?x)", "(IF(?v1 = :h10, 1, 0) AS ?x)")
own = st.tuples(st.sampled_from(_COLUMNS), st.sampled_from(_BODIES)).map(lambda drawn_: _TEXT % drawn_)


def changed(text: str, dice: random.Random) -> str:
    """The text with other digits: at all places of some number, or here and there."""
    if dice.random() < 0.7:
        old = dice.choice(re.findall(r"[0-9]+", text))
        new = "".join(str(dice.randrange(1, 10)) for _ in old)
        return re.sub(rf"(?<![0-9]){old}(?![0-9])", new, text)
    return re.sub(r"[0-9]+", lambda run: run[0] if dice.random() < 0.9 else str(dice.randrange(10)) * len(run[0]), text)


@given(own | queries(), st.integers(0, 10**6))
@settings(max_examples=drawn(12))
def test_a_text_gives_what_it_gives_alone_whatever_was_parsed_before(text: str, seed: int) -> None:
    dice = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        shared, written = Templates(), [text]
        for _ in range(6):
            written.append(changed(dice.choice(written), dice))
        for each in written:
            patch.setattr(parsing, "_TEMPLATES", Templates())
            alone = check(each, "q")
            patch.setattr(parsing, "_TEMPLATES", shared)
            assert check(each, "q") == alone, each


def test_constants_are_put_into_the_tree_of_a_text_of_the_same_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_TEMPLATES", templates := Templates())
    body = ":h10 :low ?v1 FILTER(?v1 > h10.5 && ?v1 < -h10)"
    texts = [
        re.sub(r"(?<!:)h10", str(n), _TEXT % ("*", body)).replace("h10", f"h{n}")
        for n in (*range(30, 40), *range(12, 20))
    ]
    for text in texts[:2]:
        parse(text)
    for text in texts[2:]:
        known = templates.query(text, "q")
        assert known is not None
        assert known.text == text
        monkeypatch.setattr(parsing, "_TEMPLATES", Templates())
        assert known == parse(text, "q")
    text = texts[9]
    for old, new in (("10 MINUTES", "11 MINUTES"), ("?v1", "?v2"), ("h11", "h9"), ("{1,2}", "{1,3}"), ("S1", "S2")):
        assert templates.query(text.replace(old, new), "q") is None, old


def test_shapes_that_are_remembered_are_bounded() -> None:
    templates = Templates()
    query = parse(_TEXT % ("*", ":h10 :low ?v1"))
    for number in range(TEMPLATES_MAX + 3):
        templates.learn(replace(query, text=query.text + "\n" * number))
    assert len(templates._known) == TEMPLATES_MAX
