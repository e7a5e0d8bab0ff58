from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.syntax.tokens import string_value, token_pattern, tokens, unescape


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens(text)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<http://e/a?b#c>", "iri"),
        ("<>", "iri"),
        ("a:b", "pname"),
        (":", "pname"),
        ("a:", "pname"),
        (r"a:b\-c%20d", "pname"),
        ("é-x:ü.1:z", "pname"),
        ("_:b-1", "bnode"),
        ("?x1", "variable"),
        ("$x", "variable"),
        ("?é", "variable"),
        ("'a\\'b'", "string"),
        ('"\\u00e9"', "string"),
        ("''", "string"),
        ("'''a'b''c\nd'''", "string"),
        ('"""a"b"""', "string"),
        ("@en-GB", "langtag"),
        ("017", "integer"),
        (".5", "decimal"),
        ("1.0e-3", "double"),
        ("1.e3", "double"),
        ("5E0", "double"),
        ("FILTER", "word"),
        ("a", "word"),
        ("&&", "punctuation"),
        ("^^", "punctuation"),
        ("!=", "punctuation"),
        ("~", "punctuation"),
        ("<<(", "punctuation"),
        ("|}", "punctuation"),
        ("@ar--rtl", "langtag"),
        ("`", "error"),
        ('"abc', "error"),
        ("'''abc'", "error"),
    ],
)
def test_every_kind_of_token_is_read_whole(text: str, kind: str) -> None:
    assert kinds(text) == [(kind, text)]


def test_the_longest_token_wins() -> None:
    assert kinds("?x<=?y<?z") == [
        ("variable", "?x"), ("punctuation", "<="), ("variable", "?y"), ("punctuation", "<"), ("variable", "?z"),
    ]  # fmt: skip
    assert kinds("1.") == [("integer", "1"), ("punctuation", ".")]
    assert kinds("a:b.") == [("pname", "a:b"), ("punctuation", ".")]
    assert kinds("_:b.c.") == [("bnode", "_:b.c"), ("punctuation", ".")]
    assert kinds(":p?") == [("pname", ":p"), ("punctuation", "?")]


def test_comments_and_white_space_are_skipped_but_not_inside_of_terms() -> None:
    assert kinds("a # b 'c\n\t'#' <http://e/#f> # end") == [("word", "a"), ("string", "'#'"), ("iri", "<http://e/#f>")]


def test_reading_goes_on_after_an_error() -> None:
    assert kinds('"abc\n?x') == [("error", '"abc'), ("variable", "?x")]


@given(st.text(alphabet="?xa:_<>'\"\\ .#\n1e@(){}é~^", max_size=30))
def test_tokens_are_the_text_at_their_places_and_nothing_but_blanks_lies_between(text: str) -> None:
    end = 0
    for token in tokens(text):
        assert text[token.start : token.end] == token.text != ""
        assert token.start >= end
        between = text[end : token.start]
        assert not between.strip() or between.lstrip().startswith("#")
        end = token.end
    rest = text[end:]
    assert not rest.strip() or rest.lstrip().startswith("#")


def test_escapes_are_replaced() -> None:
    assert string_value(r"'a\tb\"\\n\u00e9\U0001F600'") == 'a\tb"\\né😀'
    assert string_value('"""a"b"""') == 'a"b'
    with pytest.raises(ValueError, match="not a Unicode character"):
        unescape(r"\uD800")


_ASCII = st.characters(max_codepoint=127)


@given(st.text(_ASCII) | st.from_regex(token_pattern(True), fullmatch=True, alphabet=_ASCII))
def test_text_in_ascii_has_the_tokens_of_all_text(text: str) -> None:
    read, of_all_text = ([(m.lastgroup, m.span()) for m in token_pattern(own).finditer(text)] for own in (True, False))
    assert read == of_all_text
