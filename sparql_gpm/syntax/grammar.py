"""rdflib's SPARQL 1.1 grammar: parse trees of masked text; a syntax error names the token that it is at."""

from __future__ import annotations

import copy
import functools
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from arrays.wanted import check_wanted
from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.syntax.masked import Masked
from sparql_gpm.syntax.tokens import Token

Tree = Any
"""rdflib's CompValue, ParseResults, or a term."""

_NESTING_MAX = 60
_FRAMES_PER_TOKEN = 60
_FRAMES_MAX = 400_000
_TREES_MAX = 128
"""Trees that are cached: many queries have the same shape."""
_CACHED_CHARACTERS_MAX = 1 << 14
"""Characters of a text whose tree is cached: those of longer texts take too much memory."""
_CLOSING = {"(": ")", "{": "}", "[": "]"}
_ASKING = (
    "PrimaryExpression", "VarOrTerm", "GroupGraphPatternSub", "DataBlockValue", "PathPrimary", "PathOneInPropertySet",
)  # fmt: skip
"""The rules of rdflib of which every text that takes long to parse has many."""
_parsing = threading.Lock()

_CATEGORIES = {"?": "a variable", "$": "a variable", "<": "an IRI", "_:": "a blank node", "'''": "a literal",
               '"""': "a literal", "[0-9]": "a literal", "true": "a literal", "false": "a literal"}  # fmt: skip
_PATTERNS = frozenset(("OPTIONAL", "MINUS", "GRAPH", "SERVICE", "FILTER", "BIND", "VALUES"))
_OPERATORS = frozenset(("*", "/", "+", "-", "=", "!=", "<", ">", "<=", ">=", "IN", "NOT", "&&", "||", "|", "^", "!"))


_WITH_DIGITS = frozenset(("MD5", "SHA1", "SHA256", "SHA384", "SHA512"))
"""Other words with digits would be read as two: `a15` as `a` and `15`."""


def check_brackets(tokens: Sequence[Token], end: int) -> None:
    """PatternSyntaxError for unreadable text, and for brackets that do not pair or are nested too deeply."""
    opened: list[Token] = []
    for token in tokens:
        if token.kind == "error":
            what = "a string without its end" if token.text[0] in "'\"" else f"the character '{token.text}'"
            raise PatternSyntaxError(f"{what} cannot be read", token.start)
        if token.kind == "word" and token.text[-1].isdigit() and token.text.upper() not in _WITH_DIGITS:
            raise PatternSyntaxError(f"'{token.text}' is no word of SPARQL", token.start)
        if token.kind != "punctuation":
            continue
        if token.text in _CLOSING:
            opened.append(token)
            if len(opened) > _NESTING_MAX:
                message = f"nested more than {_NESTING_MAX} levels deep"
                raise PatternSyntaxError(message, token.start, fault=Fault.DEPTH)
        elif token.text in _CLOSING.values():
            expected = f"'{_CLOSING[opened.pop().text]}'" if opened else "the end"
            if expected != f"'{token.text}'":
                raise PatternSyntaxError(f"expected {expected}, found '{token.text}'", token.start)
    if opened:
        expected = _CLOSING[opened[-1].text]
        raise PatternSyntaxError(f"expected '{expected}', found the end", end, f"'{opened[-1].text}' is never closed")


def closing(tokens: Sequence[Token], start: int) -> int:
    """The index of the bracket that closes the first opened at or after index `start`; the last index if none does."""
    depth = 0
    for index in range(start, len(tokens)):
        token = tokens[index]
        if token.kind == "punctuation" and token.text in _CLOSING:
            depth += 1
        elif token.kind == "punctuation" and token.text in _CLOSING.values():
            depth -= 1
            if depth == 0:
                return index
    return len(tokens) - 1


def parse_tree(rule: str, masked: Masked) -> Tree:
    """The parse tree of the whole masked text by a rule of rdflib; to be called within `deep_stack`.

    It must not be changed: texts of the same shape share one tree.
    """
    from pyparsing import ParseBaseException

    try:
        if len(masked.text) > _CACHED_CHARACTERS_MAX:
            return _parsed(rule, masked.text)
        return _kept(rule, masked.text)
    except ParseBaseException:
        offset, options = _farthest(rule, masked.text)
    raise _syntax_error(masked, offset, options)


@functools.lru_cache(maxsize=_TREES_MAX)
def _kept(rule: str, text: str) -> Tree:
    return _parsed(rule, text)


def _parsed(rule: str, text: str) -> Tree:
    return getattr(_parser(), rule).parse_string(text, parse_all=True)


@functools.cache
def _parser() -> ModuleType:
    """rdflib's module of rules. What every long text has much of asks whether the tree is still wanted."""
    from rdflib.plugins.sparql import parser

    for name in _ASKING:
        getattr(parser, name).add_parse_action(lambda: check_wanted())
    return parser


@contextmanager
def deep_stack(size: int) -> Iterator[None]:
    """A Python stack large enough for pyparsing, which recurses for every triple; size is in tokens.

    One thread at a time: the limit belongs to the process, and rdflib's grammar keeps state while it parses.
    """
    with _parsing:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, min(limit + _FRAMES_PER_TOKEN * size, _FRAMES_MAX)))
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


class _Failures:
    """The greatest offset at which terminals failed to match, and these terminals."""

    def __init__(self) -> None:
        self.offset = -1
        self.options: dict[str, None] = {}

    def fail(self, text: str, offset: int, expected: Any, error: Exception) -> None:
        if offset > self.offset:
            self.offset, self.options = offset, {}
        if offset == self.offset:
            self.options[str(expected)] = None


@functools.lru_cache(maxsize=8)
def _tracked(rule: str) -> tuple[Any, _Failures]:
    """A copy of rdflib's rule whose terminals report their failures; 0.15 s, on the first error only."""
    grammar, farthest = copy.deepcopy(getattr(_parser(), rule)), _Failures()
    seen: set[int] = set()
    waiting = [grammar]
    while waiting:
        element = waiting.pop()
        if id(element) in seen:
            continue
        seen.add(id(element))
        inner = getattr(element, "expr", None)
        children = list(getattr(element, "exprs", None) or ([inner] if inner is not None else []))
        if not children and str(element) != "':'":
            element.set_fail_action(farthest.fail)
        waiting.extend(children)
    return grammar, farthest


def _farthest(rule: str, text: str) -> tuple[int, tuple[str, ...]]:
    from pyparsing import ParseBaseException, StringEnd

    grammar, farthest = _tracked(rule)
    farthest.offset, farthest.options = -1, {}
    try:
        (grammar + StringEnd().set_fail_action(farthest.fail)).parse_string(text)
    except ParseBaseException as error:
        if farthest.offset < 0:
            return error.loc, ()
    return farthest.offset, tuple(farthest.options)


def _syntax_error(masked: Masked, offset: int, options: Sequence[str]) -> PatternSyntaxError:
    token = masked.token_at(offset)
    if token is None or token.start == token.end:
        found, where = "the end", masked.end
    else:
        found, where = f"'{token.text}'", token.start
    named = _expected(options)
    if not named:
        return PatternSyntaxError(f"{found} cannot stand here", where)
    wanted = " or ".join((", ".join(named[:-1]), named[-1])) if len(named) > 1 else named[0]
    return PatternSyntaxError(f"expected {wanted}, found {found}", where)


def _expected(options: Sequence[str]) -> list[str]:
    """The possible tokens, in a few words."""
    named = {name for option in options if (name := _option(option))}
    if "'BOUND'" in named and "a literal" in named:
        return ["an expression"]
    if "'BOUND'" in named:
        return ["'('", "a function call"]
    if {"a variable", "a literal", "an IRI"} <= named:
        return ["a term", "a pattern such as FILTER or OPTIONAL"] if "'OPTIONAL'" in named else ["a term"]
    if "'>'" in named:
        named.discard("an IRI")  # both begin with `<`
    for family, name in ((_PATTERNS, "a pattern such as FILTER or OPTIONAL"), (_OPERATORS, "an operator")):
        members = {f"'{word}'" for word in family}
        if len(named & members) > 2:
            named = (named - members) | {name}
    return sorted(named, key=lambda name: (name[0] != "'", name))


def _option(expected: str) -> str:
    """The word of a message for a terminal of rdflib's grammar; "" for one to leave out."""
    for sign, category in _CATEGORIES.items():
        if expected == f"'{sign}'" or (expected.startswith("Re:") and sign in expected[:12]):
            return category
    if expected in ("end of text", "StringEnd"):
        return "the end"
    return expected if re.fullmatch(r"'[^']+'", expected) else ""
