from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.plan.expression import Span
from spaseq.editors.classify import classified
from spaseq.editors.formatting import formatted, hindrances
from spaseq.editors.kinds import Kind
from spaseq.errors import Problem
from spaseq.lang.parse import check
from tests.drawn import drawn
from tests.editors.queries import queries
from tests.strategies.combined import RegisteredText
from tests.strategies.late import LateText
from tests.strategies.limited import LimitedText
from tests.strategies.over import OverText
from tests.strategies.possessive import PossessiveText
from tests.strategies.query import QueryText
from tests.strategies.sequence import SeededDice

SEPARATORS = (" ", "  ", "\t", "\n", "\n\n\n", "\r\n", " # one é\n", "\n   #two\n\n", "\n#\r\n\t")
UNTIDY = """# The first line
prefix : <http://x/>   # the only one


select ?a(count(?b) as ?n)
  ?c within 5
  minutes from stream S1 <http://x/s>
where{seq(A;B ,{ 2 , 3 }+:ALL(C,seq(D;E)) WITHIN 1 hour)

  # about A

  define gpm A on S1{?s :p ?a;:q [:r 1,2],(1 2).optional{?s :t "x"@en}filter(?a<3||?a!=-1)}
define gpm B on S1
{ ?s :p/:q* ?b ;
# inside
     :r ?d filter
     regex ( ?b , "(" ) }
  filter(?a+1>?n&&!bound(?b))}
limit 3"""
TIDY = """# The first line
PREFIX : <http://x/>  # the only one

SELECT ?a (COUNT(?b) AS ?n)
  ?c
WITHIN 5 MINUTES
FROM STREAM S1 <http://x/s>
WHERE {
  SEQ(A ; B,{2,3}+ : ALL(C, SEQ(D ; E)) WITHIN 1 HOUR)

  # about A

  DEFINE GPM A ON S1 { ?s :p ?a ; :q [ :r 1, 2 ], (1 2) . OPTIONAL { ?s :t "x"@en } FILTER (?a < 3 || ?a != -1) }
  DEFINE GPM B ON S1 {
    ?s :p/:q* ?b ;
      # inside
      :r ?d FILTER
      REGEX(?b, "(")
  }
  FILTER (?a+1 > ?n && !BOUND(?b))
}
LIMIT 3
"""


def query_of(seed: int) -> str:
    """A random query of one of the generators of the tests."""
    kinds = (QueryText, LateText, LimitedText, OverText, PossessiveText, RegisteredText)
    return kinds[seed % len(kinds)](SeededDice(Random(seed))).whole()


def tokens(text: str) -> list[tuple[Kind, str]]:
    """The tokens and comments, without the differences that the format makes."""
    found = [(each.kind, text[each.start : each.end]) for each in classified(text)]
    spelt = {Kind.KEYWORD, Kind.FUNCTION, Kind.CONSTANT}
    shown = [(kind, word.upper() if kind in spelt else word) for kind, word in found]
    return [(kind, "".join(word.split()) if kind is Kind.QUANTIFIER else word.rstrip()) for kind, word in shown]


def meaning(text: str) -> tuple[Any, list[tuple[str, str]]]:
    """The tree without places and text, and the codes and messages of all problems."""
    query, problems = check(text)
    return _unplaced(query), [(problem.code, problem.message) for problem in problems]


def _unplaced(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_unplaced, value))
    if not dataclasses.is_dataclass(value) or isinstance(value, Span | Problem):
        return None if isinstance(value, Span | Problem) else value
    fields = [field.name for field in dataclasses.fields(value) if field.name not in ("text", "warnings")]
    return type(value), tuple(_unplaced(getattr(value, name)) for name in fields)


def untidied(text: str, random: Random) -> str:
    """The text with other blanks and more comments between its tokens, and words in another case."""
    parts, end = [], 0
    for each in classified(text):
        gap, token = text[end : each.start], text[each.start : each.end]
        parts.append(random.choice(SEPARATORS) if gap and random.random() < 0.4 else gap)
        words = {Kind.KEYWORD, Kind.FUNCTION}
        parts.append(token.lower() if each.kind in words and random.random() < 0.3 else token)
        end = each.end
    return "".join([*parts, text[end:]])


def assert_formatted(text: str) -> None:
    result = formatted(text)
    assert formatted(result) == result
    assert tokens(result) == tokens(text)
    assert not any(line != line.rstrip() for line in result.splitlines()), result


def test_a_query_is_written_in_the_one_format() -> None:
    assert formatted(UNTIDY) == TIDY
    assert formatted(TIDY) == TIDY


def test_lines_end_as_they_did() -> None:
    assert formatted(UNTIDY.replace("\n", "\r\n")) == TIDY.replace("\n", "\r\n")
    assert formatted(UNTIDY.replace("\n", "\r")) == TIDY
    one_line = "SELECT * WITHIN 1 DAY FROM STREAM S <urn:s> { SEQ(A) DEFINE GPM A ON S { ?s ?p '''a\nb\r\nc''' } }"
    assert formatted(f"{one_line}\r\n").startswith("SELECT *\r\nWITHIN 1 DAY\r\n")
    assert "'''a\nb\r\nc''' }\n}\n" in formatted(one_line)


def test_every_query_keeps_its_tokens_and_comments_and_is_formatted_once() -> None:
    for text in queries()[::3]:
        assert_formatted(text)


def test_a_formatted_query_has_the_same_tree_and_problems() -> None:
    for text in (*queries()[::20], *map(query_of, range(12)), UNTIDY):
        assert meaning(formatted(text)) == meaning(text)


@given(st.integers(0, 2**32))
@settings(max_examples=drawn(60))
def test_any_blanks_and_comments_between_tokens_are_put_in_order(seed: int) -> None:
    random = Random(seed)
    text = random.choice((*queries(), TIDY, UNTIDY)) if random.random() < 0.5 else query_of(seed)
    untidy = untidied(text, random)
    assert_formatted(untidy)
    if random.random() < 0.1:
        assert meaning(formatted(untidy)) == meaning(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "SQ001"),
        ("SELECT * WITHIN 5 MINUTES FROM STREAM S <urn:s> { SEQ(A ; ) DEFINE GPM A ON S { ?s ?p ?o } }", "SQ002"),
        ("SELECT * WITHIN 5 MINUTES FROM STREAM S <urn:s> { SEQ(A) DEFINE GPM A ON S { ?s ?p }", "SQ009"),
        ("SELECT ?user FROM t MATCH_RECOGNIZE ( PATTERN (A B) )", "SQ025"),
    ],
)
def test_a_text_that_cannot_be_read_is_not_formatted(text: str, code: str) -> None:
    assert code in {problem.code for problem in hindrances(text)}
