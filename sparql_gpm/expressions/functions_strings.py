"""Functions on strings (SPARQL 1.1, Section 17.4.3)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from sparql_gpm.bounds import exceed
from sparql_gpm.errors import ExpressionError
from sparql_gpm.expressions.functions_regex import compiled, replacement, timed
from sparql_gpm.expressions.values import STRINGS, boolean
from sparql_gpm.numeric import NumericType, integer_literal, require_number
from sparql_gpm.terms import XSD_STRING, Literal, Term

if TYPE_CHECKING:
    from regex import Match

_CHARACTERS_MAX = 16 << 20
"""The longest string that CONCAT, REPLACE and GROUP_CONCAT make."""


def bounded(separator: str, parts: Sequence[str]) -> str:
    """The parts as one string, if it is not too long; else the event is left out."""
    if sum(map(len, parts)) + len(separator) * (len(parts) - 1) > _CHARACTERS_MAX:
        raise _too_long()
    return separator.join(parts)


def _too_long() -> Exception:
    return exceed(f"a computed string of more than {_CHARACTERS_MAX:,} characters")


def text(term: Term) -> Literal:
    """A string literal: plain, or with a language, or with a language and a direction."""
    if isinstance(term, Literal) and term.datatype in STRINGS:
        return term
    raise ExpressionError("not a string")


def plain(term: Term) -> str:
    """The text of a plain string."""
    if isinstance(term, Literal) and term.datatype == XSD_STRING:
        return term.lexical
    raise ExpressionError("not a plain string")


def like(original: Literal, lexical: str) -> Literal:
    """Another text in the same language and direction."""
    return Literal(lexical, original.datatype, original.language, original.direction)


def _compatible(first: Term, second: Term) -> tuple[Literal, Literal]:
    """Argument compatibility, Section 17.4.3.1.2 (of SPARQL 1.2 for directions)."""
    left, right = text(first), text(second)
    if right.language and (right.language, right.direction) != (left.language, left.direction):
        raise ExpressionError("strings of different languages or directions")
    return left, right


def substr(string: Term, start: Term, length: Term | None = None) -> Term:
    """SUBSTR; places are counted from 1 and rounded as fn:substring does."""
    source = text(string)
    first = _rounded(start)
    end = float("inf") if length is None else first + _rounded(length)
    kept = (c for place, c in enumerate(source.lexical, 1) if first <= place < end)
    return like(source, "".join(kept))


def _rounded(term: Term) -> float:
    value = require_number(term)
    as_float = float(value.value)
    if value.kind == NumericType.INTEGER or as_float != as_float or as_float in (float("inf"), float("-inf")):
        return as_float
    return float((as_float + 0.5) // 1)


def _mapped(change: Callable[[str], str]) -> Callable[[Term], Term]:
    """A function of a string, by what it does to the text; the language stays."""
    return lambda string: like(text(string), change(text(string).lexical))


def _tested(holds: Callable[[str, str], bool]) -> Callable[[Term, Term], Term]:
    """A test of two compatible strings, by a test of their texts."""

    def test(first: Term, second: Term) -> Term:
        left, right = _compatible(first, second)
        return boolean(holds(left.lexical, right.lexical))

    return test


def strbefore(string: Term, mark: Term) -> Term:
    """STRBEFORE; a plain "" if the mark does not occur."""
    left, right = _compatible(string, mark)
    before, found, _ = left.lexical.partition(right.lexical) if right.lexical else ("", "yes", "")
    return like(left, before) if found else Literal("")


def strafter(string: Term, mark: Term) -> Term:
    """STRAFTER; a plain "" if the mark does not occur."""
    left, right = _compatible(string, mark)
    _, found, after = left.lexical.partition(right.lexical) if right.lexical else ("", "yes", left.lexical)
    return like(left, after) if found else Literal("")


def concat(*strings: Term) -> Term:
    """CONCAT; the language and direction are kept if all share them."""
    parts = [text(string) for string in strings]
    lexical = bounded("", [part.lexical for part in parts])
    languages = {(part.language, part.direction) for part in parts}
    return like(parts[0], lexical) if len(languages) == 1 else Literal(lexical)


def langmatches(tag: Term, accepted: Term) -> Term:
    """LANGMATCHES: basic filtering of RFC 4647."""
    language, wanted = plain(tag).lower(), plain(accepted).lower()
    if wanted == "*":
        return boolean(language != "")
    return boolean(language == wanted or (wanted != "" and language.startswith(wanted + "-")))


def regex(string: Term, pattern: Term, flags: Term | None = None) -> Term:
    """REGEX."""
    matcher = compiled(plain(pattern), plain(flags) if flags is not None else "")
    lexical = text(string).lexical
    return boolean(timed(matcher, lexical, lambda seconds: matcher.search(lexical, timeout=seconds)) is not None)


def replace(string: Term, pattern: Term, by: Term, flags: Term | None = None) -> Term:
    """REPLACE; a pattern that matches the empty string is an error."""
    source = text(string)
    options = plain(flags) if flags is not None else ""
    matcher = compiled(plain(pattern), options)
    if matcher.search("") is not None:
        raise ExpressionError("the pattern matches the empty string")
    parts = [plain(by)] if "q" in options else replacement(plain(by), matcher.groups)

    made = 0

    def fill(found: Match[str]) -> str:
        nonlocal made
        groups = {0: found.group(0)} | dict(enumerate(found.groups(), 1))
        filled = bounded("", [part if isinstance(part, str) else groups.get(part) or "" for part in parts])
        made += len(filled)
        if made > _CHARACTERS_MAX:
            raise _too_long()
        return filled

    replaced = timed(matcher, source.lexical, lambda seconds: matcher.sub(fill, source.lexical, timeout=seconds))
    return like(source, replaced)


STRING_FUNCTIONS: dict[str, Callable[..., Term]] = {
    "STRLEN": lambda string: integer_literal(len(text(string).lexical)), "SUBSTR": substr,
    "UCASE": _mapped(str.upper), "LCASE": _mapped(str.lower),
    "STRSTARTS": _tested(str.startswith), "STRENDS": _tested(str.endswith), "CONTAINS": _tested(operator.contains),
    "STRBEFORE": strbefore, "STRAFTER": strafter,
    "ENCODE_FOR_URI": lambda string: Literal(quote(text(string).lexical, safe="-_.~", errors="surrogatepass")),
    "CONCAT": concat, "LANGMATCHES": langmatches, "REGEX": regex, "REPLACE": replace,
}  # fmt: skip
"""Lengths and places are in code points."""
