"""The parser of SPARQL's grammar (sparql.lark): trees of tokens; an error names the token, and what may stand there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from arrays.wanted import check_wanted
from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.syntax.signs import CLOSING, SIGNS
from sparql_gpm.syntax.tokens import NUMBERS, Token, Tree
from sparql_gpm.syntax.words import declarations

STARTS = ("inside", "template", "expression")
"""The rules that a text can be parsed by."""
_NESTING_MAX = 60
_OPENING = {closing: opening for opening, closing in CLOSING.items()}
_WITH_DIGITS = frozenset(("MD5", "SHA1", "SHA256", "SHA384", "SHA512"))
"""Other words with digits would be read as two: `a15` as `a` and `15`."""

_CATEGORIES = {
    "VAR": "a variable", "IRI": "an IRI", "PNAME": "an IRI", "BNODE": "a blank node",
    **dict.fromkeys(("STRING", "INTEGER", "DECIMAL", "DOUBLE", "BOOLEAN"), "a literal"),
    "$END": "the end", "A": "'a'",
    **dict.fromkeys(("SIGNED", "LANGTAG", "AGGREGATE", "ITERATION", "COUNT", "GROUP_CONCAT"), ""),
    **dict.fromkeys(("TILDE", "OPEN_ANNOTATION", "FAULTY"), ""),
}  # fmt: skip
"""The words of messages for terminals; "" for one that they leave out."""
_PATTERNS = frozenset(("OPTIONAL", "MINUS", "GRAPH", "SERVICE", "FILTER", "BIND", "VALUES"))
_OPERATORS = frozenset(
    f"'{word}'"
    for word in ("*", "/", "+", "-", "=", "!=", "<", ">", "<=", ">=", "IN", "NOT", "&&", "||", "|", "^", "!")
)


class TokenLexer(Lexer):
    """The lexer of grammars whose parser is fed with tokens."""

    def __init__(self, conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
        """Not called: the tokens are fed."""
        return iter(())


def grammar_text() -> str:
    """The rules and terminals of SPARQL."""
    return files("sparql_gpm.syntax").joinpath("sparql.lark").read_text(encoding="utf-8") + declarations()


@cache
def _parser() -> Lark:
    return Lark(grammar_text(), parser="lalr", lexer=TokenLexer, start=list(STARTS))


def parse_tree(rule: str, read: Sequence[Token], end: int) -> Tree:
    """The tree of these tokens by one of STARTS; the text ends at `end`. Only brackets that pair may be given."""
    parser = _parser().parse_interactive(start=rule)
    last = Token("end", "", end, end, "$END")
    token = last
    try:
        for token in glued(read):
            check_wanted()
            parser.feed_token(token)  # type: ignore[arg-type]
        token = last
        return parser.feed_token(last)  # type: ignore[arg-type]
    except UnexpectedToken:
        raise unexpected(token, parser.accepts()) from None  # type: ignore[no-untyped-call]


def glued(read: Sequence[Token]) -> Iterator[Token]:
    """The tokens, a number and the sign right before it as one."""
    sign: Token | None = None
    for token, behind in pairwise((*read, None)):
        assert token is not None
        if sign is not None:
            yield Token(token.kind, sign.text + token.text, sign.start, token.end, "SIGNED")
            sign = None
        elif token.text in ("+", "-") and behind is not None and behind.kind in NUMBERS and behind.start == token.end:
            sign = token
        else:
            yield token


def check_brackets(read: Sequence[Token], end: int) -> None:
    """PatternSyntaxError for unreadable text, and for brackets that do not pair or are nested too deeply."""
    opened: list[Token] = []
    negations = 0
    for token in read:
        if token.kind == "error":
            what = "a string without its end" if token.text[0] in "'\"" else f"the character '{token.text}'"
            raise PatternSyntaxError(f"{what} cannot be read", token.start)
        if token.kind == "word" and token.text[-1].isdigit() and token.text.upper() not in _WITH_DIGITS:
            raise PatternSyntaxError(f"'{token.text}' is no word of SPARQL", token.start)
        negations = negations + 1 if token.text == "!" else 0
        if token.kind == "punctuation" and token.text in CLOSING:
            opened.append(token)
        if len(opened) + negations > _NESTING_MAX:
            message = f"nested more than {_NESTING_MAX} levels deep"
            raise PatternSyntaxError(message, token.start, fault=Fault.DEPTH)
        if token.kind == "punctuation" and token.text in _OPENING:
            expected = f"'{CLOSING[opened.pop().text]}'" if opened else "the end"
            if expected != f"'{token.text}'":
                raise PatternSyntaxError(f"expected {expected}, found '{token.text}'", token.start)
    if opened:
        expected = CLOSING[opened[-1].text]
        raise PatternSyntaxError(f"expected '{expected}', found the end", end, f"'{opened[-1].text}' is never closed")


def unexpected(token: Token, accepted: Collection[str]) -> PatternSyntaxError:
    """The error for a token in whose place one of these terminals may stand."""
    found = "the end" if token.type == "$END" else f"'{token.text}'"
    named = _phrases(accepted)
    if not named:
        return PatternSyntaxError(f"{found} cannot stand here", token.start)
    wanted = " or ".join((", ".join(named[:-1]), named[-1])) if len(named) > 1 else named[0]
    return PatternSyntaxError(f"expected {wanted}, found {found}", token.start)


def _phrases(accepted: Collection[str]) -> list[str]:
    """The possible tokens, in a few words."""
    called = any(terminal.startswith("CALL_") for terminal in accepted)
    named = {_phrase(terminal) for terminal in accepted if not terminal.startswith("CALL_")} - {""}
    if called:
        return ["an expression"] if "a literal" in named else ["'('", "a function call"]
    if {"a variable", "a literal", "an IRI"} <= named:
        return ["a term", "a pattern such as FILTER or OPTIONAL"] if "'OPTIONAL'" in named else ["a term"]
    if named == {"a literal"} and set(accepted) == {"INTEGER"}:
        return ["a whole number"]
    patterns = {f"'{word}'" for word in _PATTERNS}
    for members, name in ((patterns, "a pattern such as FILTER or OPTIONAL"), (_OPERATORS, "an operator")):
        if len(named & members) > 2:
            named = (named - members) | {name}
    return sorted(named, key=lambda name: (name[0] != "'", name))


@cache
def _signs() -> dict[str, str]:
    return {sign.terminal: sign.text for sign in SIGNS.values()}


def _phrase(terminal: str) -> str:
    return _CATEGORIES.get(terminal, f"'{_signs().get(terminal, terminal)}'")
