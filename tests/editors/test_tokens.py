from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import skipUnless

import pytest

from sparql_gpm.expressions.functions_strings import STRING_FUNCTIONS
from sparql_gpm.expressions.functions_terms import TERM_FUNCTIONS
from sparql_gpm.syntax import words as sparql_words
from spaseq.editors import grammars, words
from spaseq.editors.classify import classified
from spaseq.editors.kinds import Kind
from spaseq.editors.pygments_lexer import SPAseqLexer
from spaseq.lang.lexemes import KEYWORDS
from spaseq.lang.parse import check
from tests.editors.queries import ROOT, queries
from tests.waiting import PATIENCE_S

NODE = shutil.which("node")
TEXTMATE = ROOT / "tests/editors/node_modules/vscode-textmate"
ODD = (
    """PREFIX : <http://x/>
SELECT ?s WITHIN 1 DAY FROM STREAM stream <http://x/s>
# {
WHERE {
  SEQ(As:At;{2, 3}+ , First ; (Day|Where)! WITHIN 5 minutes;Sum)
  DEFINE GPM As ON stream # ON
, stream AT ?t { ?s :p \'\'\'a
# "b" \'\'\' FILTER (?s<3) }
  define gpm At on stream { ?s a :B ; :v true, 1.5e3, "é"@de-AT } DEFINE GPM First ON stream { ?s ?p _:b }
  DEFINE GPM Day ON stream { ?s :day ?d FILTER (DAY(?d) = 1 && REGEX(?s, "\\\\{")) }
  DEFINE GPM Where ON stream { ?s ^:p|!(:q) ?d }
  DEFINE GPM Sum ON stream { ?s ?p """
    + '"""\n}"""'
    + """ }
  FILTER regex(?s, 'x') FILTER (?s != <http://x/#a>) BIND (1 + 2 AS ?z)
}
AFTER MATCH SKIP TO
FIRST First LIMIT 3"""
)
"""Names that are keywords elsewhere, strings of several lines, brackets in strings and comments."""


def texts() -> tuple[str, ...]:
    """Every query of the examples and tests without errors, and ODD."""
    return (*(text.replace("\r\n", "\n") for text in queries()), ODD)


def by_character(text: str, name: Callable[[Kind], Any]) -> list[Any]:
    """The name of the kind of each character that is no blank, as the lexer reads the text."""
    return [
        name(each.kind) for each in classified(text) for character in text[each.start : each.end] if character.strip()
    ]


def first_difference(expected: list[Any], found: list[Any], text: str) -> str | None:
    """The place of the first difference, with what stands there."""
    characters = [character for character in text if character.strip()]
    for place, (one, other) in enumerate(zip(expected, found, strict=False)):
        if one != other:
            return f"{''.join(characters[max(0, place - 20) : place + 10])}: {one}, not {other}"
    return None if len(expected) == len(found) == len(characters) else f"{len(expected)}, {len(found)}: {text}"


def of_node(script: str) -> list[list[Any]]:
    assert NODE is not None
    command = [NODE, str(ROOT / "tests/editors" / script)]
    ran = subprocess.run(
        command, input=json.dumps(texts()), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_odd_query_is_one() -> None:
    assert check(ODD)[1] == ()
    assert Kind.INVALID not in {each.kind for each in classified(ODD)}


def test_pygments_reads_every_query_as_the_lexer_does() -> None:
    lexer = SPAseqLexer()
    for text in texts():
        found = [str(kind)[6:] for _, kind, value in lexer.get_tokens_unprocessed(text) for c in value if c.strip()]
        assert first_difference(by_character(text, lambda kind: kind.pygments), found, text) is None


@skipUnless(NODE, "node is not installed")
def test_codemirror_reads_every_query_as_the_lexer_does() -> None:
    for text, found in zip(texts(), of_node("codemirror.mjs"), strict=True):
        assert first_difference(by_character(text, lambda kind: kind.codemirror), found, text) is None


@skipUnless(NODE and TEXTMATE.exists(), "needs node, and `npm ci` in tests/editors")
def test_textmate_reads_every_query_as_the_lexer_does() -> None:
    for text, found in zip(texts(), of_node("textmate.cjs"), strict=True):
        assert first_difference(by_character(text, lambda kind: kind.textmate), found, text) is None


@pytest.mark.parametrize("path", grammars.MADE, ids=str)
def test_a_made_file_is_what_the_table_gives(path: Path) -> None:
    made = grammars.text(grammars.MADE[path]())
    assert (ROOT / path).read_text(encoding="utf-8") == made, "run `make grammars`"


def test_every_word_has_its_line_of_help() -> None:
    assert words.KEYWORDS.keys() == KEYWORDS
    assert words.SPARQL_KEYWORDS.keys() == sparql_words.KEYWORDS - KEYWORDS
    assert words.FUNCTIONS.keys() == sparql_words.FUNCTIONS


def test_the_functions_are_those_that_expressions_know() -> None:
    known = {*STRING_FUNCTIONS, *TERM_FUNCTIONS} - {"NEG", "POS"}
    assert known <= sparql_words.FUNCTIONS
