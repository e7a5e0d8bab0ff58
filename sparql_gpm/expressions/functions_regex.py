"""XPath regular expressions (XPath and XQuery Functions 3.0, Section 5.6) as those of `regex`.

It backtracks, as XPath's back-references need: `(a+)+b` takes exponential time on text that does not match. So each
search has a time limit, which `re` does not offer.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sparql_gpm.bounds import exceed
from sparql_gpm.errors import ExpressionError

if TYPE_CHECKING:
    from regex import Pattern

Found = TypeVar("Found")

_FLAGS = {"s": "DOTALL", "m": "MULTILINE", "i": "IGNORECASE", "x": "", "q": ""}
_COMPILED_MAX = 512
_SEARCH_SECONDS_MAX = 1.0
"""CPU time of the process, all threads, for one search or replacement in one text: `regex` counts that."""
_SLOW_MAX = 64
"""Searches beyond that time that are remembered."""
_slow: dict[tuple[str, int, str], None] = {}
_NAME_START = ":A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
_NAME_START += "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
_NAME = _NAME_START + "\\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"
_CLASSES = {"i": _NAME_START, "c": _NAME}
_PLAIN_ESCAPES = "nrt\\|.?*+(){}$-[]^dDwWsS"
_QUANTIFIER = re.compile(r"(?:[?*+]|\{[0-9]+(?:,[0-9]*)?\})(\??)")


@functools.lru_cache(maxsize=_COMPILED_MAX)
def compiled(pattern: str, flags: str) -> Pattern[str]:
    """An XPath pattern and its flags; an error where XPath has one."""
    import regex

    options = 0
    for flag in flags:
        if flag not in _FLAGS:
            raise ExpressionError(f"unknown flag {flag!r}")
        options |= getattr(regex, _FLAGS[flag], 0)
    try:
        if "q" in flags:
            return regex.compile(regex.escape(pattern), options & regex.IGNORECASE)
        return regex.compile(_Translation(pattern, flags).run(), options)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ExpressionError(str(error)) from None


def timed(matcher: Pattern[str], text: str, search: Callable[[float], Found]) -> Found:
    """The result of a search in a text, given its time limit; beyond that the event is left out."""
    key = matcher.pattern, matcher.flags, text
    if key not in _slow:
        try:
            return search(_SEARCH_SECONDS_MAX)
        except TimeoutError:
            if len(_slow) >= _SLOW_MAX:
                _slow.pop(next(iter(_slow)))
            _slow[key] = None
    raise exceed(f"a regular expression that takes more than {_SEARCH_SECONDS_MAX:g} s on one text")


def replacement(template: str, groups: int) -> list[str | int]:
    r"""The parts of an XPath replacement: text, and numbers of groups; `$12` is `$1` and "2" if groups are few."""
    parts: list[str | int] = []
    at = 0
    while at < len(template):
        character = template[at]
        at += 1
        if character == "\\":
            if template[at : at + 1] not in ("\\", "$"):
                raise ExpressionError("a lone backslash in the replacement")
            parts.append(template[at])
            at += 1
        elif character == "$":
            found = re.compile("[0-9]+").match(template, at)
            if found is None:
                raise ExpressionError("a lone dollar sign in the replacement")
            digits = found.group()
            while len(digits) > 1 and int(digits) > groups:
                digits = digits[:-1]
            parts.append(int(digits))
            at += len(digits)
        else:
            parts.append(character)
    return parts


class _Translation:
    """One pass over a pattern."""

    def __init__(self, pattern: str, flags: str) -> None:
        self._text = pattern
        self._extended = "x" in flags
        self._multiline = "m" in flags
        self._dotall = "s" in flags
        self._at = 0

    def run(self) -> str:
        parts: list[str] = []
        while self._at < len(self._text):
            parts.append(self._piece())
        return "".join(parts)

    def _piece(self) -> str:
        character = self._take()
        match character:
            case "\\":
                return self._escape(in_class=False)
            case "[":
                return self._class()
            case "." if not self._dotall:
                return r"[^\n\r]"
            case "$" if not self._multiline:
                return r"\Z"
            case "(" if self._text.startswith("?", self._at) and not self._text.startswith("?:", self._at):
                raise ExpressionError("XPath has no such group")
            case "?" | "*" | "+" | "{":
                return self._quantifier()
            case _ if self._extended and character in " \t\r\n":
                return ""
            case "#" | " ":
                return "\\" + character
        return character

    def _take(self) -> str:
        if self._at >= len(self._text):
            raise ExpressionError("the pattern ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _quantifier(self) -> str:
        """Possessive quantifiers, and one quantifier after another, are Python's or nobody's."""
        start = self._at - 1
        if start > 0 and self._text[start - 1] == "(" and self._text.startswith("?:", start):
            return "?"
        found = _QUANTIFIER.match(self._text, start)
        if found is None:
            raise ExpressionError("a brace that is no quantifier")
        self._at = found.end()
        if self._text[self._at : self._at + 1] in ("+", "*", "?"):
            raise ExpressionError("a quantifier after a quantifier")
        return found.group()

    def _escape(self, in_class: bool) -> str:
        character = self._take()
        if character in _PLAIN_ESCAPES:
            return "\\" + character
        if character.isdigit() and not in_class and character != "0":
            return f"(?:\\{character})"
        if character in ("p", "P"):
            return self._category(character == "P", in_class)
        if character.lower() in _CLASSES:
            members = _CLASSES[character.lower()]
            if in_class:
                if character.isupper():
                    raise ExpressionError("a negated class inside a class")
                return members
            return f"[{'^' if character.isupper() else ''}{members}]"
        raise ExpressionError(f"XPath has no \\{character}")

    def _category(self, negated: bool, in_class: bool) -> str:
        end = self._text.find("}", self._at)
        if not self._text.startswith("{", self._at) or end < 0:
            raise ExpressionError("a category without braces")
        members = category(self._text[self._at + 1 : end], negated)
        self._at = end + 1
        return members if in_class else f"[{members}]"

    def _class(self) -> str:
        """`[…]` with XPath's subtraction `[a-z-[aeiou]]`."""
        negated = self._text.startswith("^", self._at)
        self._at += negated
        members: list[str] = []
        while (character := self._take()) != "]":
            if character == "-" and self._text.startswith("[", self._at):
                self._at += 1
                subtracted = self._class()
                if self._take() != "]":
                    raise ExpressionError("a subtraction inside a class")
                return f"(?:(?!{subtracted}){_class_text(members, negated)})"
            if character == "[":
                raise ExpressionError("an unescaped bracket in a class")
            if character == "\\":
                members.append(self._escape(in_class=True))
            elif not (self._extended and character in " \t\r\n"):
                members.append(f"\\{character}" if character in "&~|^" else character)
        return _class_text(members, negated)


def _class_text(members: list[str], negated: bool) -> str:
    if not members:
        raise ExpressionError("an empty class")
    return f"[{'^' if negated else ''}{''.join(members)}]"


@functools.lru_cache(maxsize=64)
def category(name: str, negated: bool) -> str:
    r"""The members of `\p{name}`, to stand in a class; a scan of all of Unicode, once for each name."""
    if re.fullmatch("L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|Z[slp]?|S[mcko]?|C[cfon]?", name) is None:
        raise ExpressionError(f"the category {name} is not known")
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(name) != negated:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
