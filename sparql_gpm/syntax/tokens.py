"""The tokens of SPARQL 1.2 text (Section 19.8), each with its place.

The kinds are `iri` (`<…>`), `pname` (`a:b`, `a:`, `:b`, `:`), `bnode` (`_:b`), `variable`, `string` (quotes
included), `langtag`, `integer`, `decimal`, `double` (all unsigned), `word` (keywords, names, `a`, `true`),
`punctuation`, and `error` for a character that starts no token and for a string without its end. White space and
comments are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from sparql_gpm.syntax.signs import SIGNS, STRAY, any_of
from sparql_gpm.syntax.words import TERMINALS

_LETTERS = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_MARKS = "\u00b7\u0300-\u036f\u203f-\u2040"
"""Characters of names beyond ASCII; a mark begins none."""
PREFIX_CHARACTERS_MAX = 250
"""Characters of a prefix: a text of letters, dots and hyphens is looked through for the colon of one no farther."""
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_EXPONENT = "[eE][+-]?[0-9]+"
_ESCAPE = r"\\[tbnrf\\\x22']|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"


SHORT_STRING = f"'(?!'')(?:[^'\\\\\\n\\r]|{_ESCAPE})*'" + f'|"(?!"")(?:[^"\\\\\\n\\r]|{_ESCAPE})*"'
LONG_STRINGS = (("'''", f"(?:'|'')?(?:[^'\\\\]|{_ESCAPE})"), ('"""', f'(?:"|"")?(?:[^"\\\\]|{_ESCAPE})'))
"""The quotes of strings that may have several lines, and what stands between them, a character at a time."""


@cache
def token_patterns(ascii_only: bool) -> tuple[tuple[str, str], ...]:
    """The kinds of tokens, each with its pattern; the first that matches holds."""
    letters, marks = ("", "") if ascii_only else (_LETTERS, _MARKS)
    base = f"A-Za-z{letters}"
    start = f"{base}_"
    chars = rf"{start}\-0-9{marks}"
    prefix = rf"(?=[{chars}.]{{1,{PREFIX_CHARACTERS_MAX}}}:)[{base}][{chars}]*(?:\.+[{chars}]+)*"
    local = f"(?:[{start}:0-9]|{_ESCAPED})(?:(?:[{chars}:]|{_ESCAPED}|\\.+(?=[{chars}:%\\\\]))*)"
    long = "|".join(f"{quotes}(?:{character})*{quotes}" for quotes, character in LONG_STRINGS)
    return (
        ("skipped", r"[ \t\r\n]+|#[^\r\n]*"),
        ("iri", r'<(?:[^<>"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>'),
        ("bnode", f"_:[{start}0-9](?:[{chars}.]*[{chars}])?"),
        ("pname", f"(?:{prefix})?:(?:{local})?"),
        ("variable", f"[?$][{start}0-9][{start}0-9{marks}]*"),
        ("string", f"{long}|{SHORT_STRING}"),
        ("unclosed", "'''[\\s\\S]*|\"\"\"[\\s\\S]*|['\"][^\\n\\r]*"),
        ("langtag", "@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*(?:--[a-zA-Z]+)?"),
        ("double", rf"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+){_EXPONENT}"),
        ("decimal", r"[0-9]*\.[0-9]+"),
        ("integer", "[0-9]+"),
        ("word", f"[{start}][{start}0-9]*"),
        ("punctuation", any_of((*SIGNS, *STRAY))),
        ("unknown", r"[\s\S]"),
    )


@cache
def token_pattern(ascii_only: bool) -> re.Pattern[str]:
    """The pattern of one token, its kind the name of its group; that for ASCII compiles in a tenth of the time."""
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in token_patterns(ascii_only)))


NUMBERS = frozenset(("integer", "decimal", "double"))


class Token(NamedTuple):
    """A token and the code points [start, end) of the text that it stands on.

    type    its terminal in the grammar
    """

    kind: str
    text: str
    start: int
    end: int
    type: str = ""

    def is_word(self, *words: str) -> bool:
        """True if it is one of the keywords, given in upper case."""
        return self.kind == "word" and self.text.upper() in words


Tree = Any
"""A `lark.Tree` whose leaves are tokens, or a token."""

_TERMINALS = {
    "iri": "IRI", "pname": "PNAME", "bnode": "BNODE", "variable": "VAR", "string": "STRING", "langtag": "LANGTAG",
    "integer": "INTEGER", "decimal": "DECIMAL", "double": "DOUBLE",
}  # fmt: skip
NO_TERMINAL = "UNKNOWN"
"""The terminal of what no rule has."""


def tokens(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """The tokens of the text from `start` to `end`, in order; what cannot be read is a token of kind `error`."""
    for found in token_pattern(text.isascii()).finditer(text, start, len(text) if end is None else end):
        kind = found.lastgroup
        assert kind is not None
        if kind != "skipped":
            shown = "error" if kind in ("unclosed", "unknown") else kind
            yield Token(shown, found.group(), found.start(), found.end(), _terminal(kind, found.group()))


def _terminal(kind: str, text: str) -> str:
    match kind:
        case "word":
            return "A" if text == "a" else TERMINALS.get(text.upper(), NO_TERMINAL)
        case "punctuation":
            return SIGNS[text].terminal if text in SIGNS else NO_TERMINAL
    return _TERMINALS.get(kind, NO_TERMINAL)


_UNESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CONTROL = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def unescape(text: str) -> str:
    r"""The text with `\n`, `\"`, `\-`, `\u00e9`, `\U0001F600` and their like replaced; ValueError beyond Unicode."""

    def character(found: re.Match[str]) -> str:
        short, long, escaped = found.groups()
        if escaped is not None:
            return _CONTROL.get(escaped, escaped)
        code = int(short or long, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise ValueError(f"{found.group()} is not a Unicode character")
        return chr(code)

    return _UNESCAPE.sub(character, text) if "\\" in text else text


def string_value(quoted: str) -> str:
    """The value of a token of kind `string`: quotes removed, escapes replaced."""
    width = 3 if quoted.startswith(("'''", '"""')) else 1
    return unescape(quoted[width:-width])
