"""SPARQL text to the algebra: patterns, expressions and templates, with PREV, FIRST and LAST among the expressions.

The syntax is that of rdflib's SPARQL 1.1 parser; errors are `PatternSyntaxError`s with the place of the token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sparql_gpm.algebra.rewrite import connected
from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.pattern import EMPTY, Aggregate, Call, Expression, Iteration, PathTriple, Pattern, Triple, Variable
from sparql_gpm.syntax.grammar import check_brackets, closing, deep_stack, parse_tree
from sparql_gpm.syntax.masked import AGGREGATE_WORDS, ITERATION_WORDS, LIST, Names, mask
from sparql_gpm.syntax.tokens import Token, tokens
from sparql_gpm.syntax.translate import GroupReader
from sparql_gpm.syntax.translate_expressions import ExpressionReader
from sparql_gpm.syntax.translate_terms import Source
from sparql_gpm.terms import IRI

_CHAIN_MAX = 32
"""Connectives, or commas, in one bracket from which on its members are parsed one by one."""
_CONNECTIVES = ("||", "&&")
"""The one that binds least comes first."""
_NOTHING: Mapping[int, Expression] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ParsedFilter:
    """A top-level FILTER; [start, end) are code points of the text, from the keyword to the last bracket."""

    expression: Expression
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ParsedGroup:
    """A group without its top-level FILTERs, these, and for each triple pattern the first place where it stands."""

    pattern: Pattern
    filters: tuple[ParsedFilter, ...]
    places: Mapping[Triple | PathTriple, int]


def parse_group(text: str, prefixes: Mapping[str, str], base: str | None, first: Pattern = EMPTY) -> ParsedGroup:
    """The text between the braces of a GPM: a GroupGraphPatternSub or a SubSelect, as if it began with `first`.

    Aggregates, PREV, FIRST and LAST may stand in its top-level FILTERs; aggregates also in subqueries.
    """
    with _reading(text) as read:
        names = Names(prefixes, base)
        folded, given = _fold_chains(_braced(read, len(text)), names)
        masked = mask(folded, names, len(text), given)
        tree = parse_tree("GroupGraphPattern", masked)
        source = Source(masked, tree)
        pattern, filters = GroupReader(source, base).top(tree[0], first)
        places = {token.start: index for index, token in enumerate(read)}
        found = tuple(_filter(places[source.token(f).start], expression, read) for f, expression in filters)
        return ParsedGroup(pattern, found, source.places)


def parse_expression(text: str, prefixes: Mapping[str, str], base: str | None, nested: bool = False) -> Expression:
    """An expression, in which aggregates, PREV, FIRST and LAST may stand; `nested`: also inside an aggregate."""
    with _reading(text) as read:
        names = Names(prefixes, base)
        folded, given = _fold_chains(read, names)
        return _expression(folded, names, len(text), given, nested)


def parse_template(
    text: str, prefixes: Mapping[str, str], base: str | None, nested: bool = False
) -> tuple[tuple[Triple, Expression | None], ...]:
    """The text between the braces of CONSTRUCT: triples whose object may be an aggregate, PREV, FIRST or LAST.

    Such a value is given beside its triple, whose object is then a `_:` variable used nowhere else.
    """
    with _reading(text) as read:
        names = Names(prefixes, base)
        folded, given = _fold_values(read, names, nested)
        _refuse_in_collections(folded)
        masked = mask(_braced(folded, len(text)), names, len(text), given)
        trees = parse_tree("ConstructTemplate", masked)
        source = Source(masked, trees)
        return tuple(
            _template_triple(nodes, source)
            for parameter in trees
            for nodes in zip(*[iter(parameter.tokenList)] * 3, strict=True)
        )


@contextmanager
def _reading(text: str) -> Iterator[list[Token]]:
    """The tokens of a text, with a stack that is deep enough to parse them."""
    read = list(tokens(text))
    check_brackets(read, len(text))
    try:
        with deep_stack(len(read) + 2):
            yield read
    except RecursionError:
        start = read[0].start if read else len(text)
        raise PatternSyntaxError("too long or too deeply nested", start, fault=Fault.DEPTH) from None


def _braced(read: Sequence[Token], end: int) -> list[Token]:
    return [Token("punctuation", "{", 0, 0), *read, Token("punctuation", "}", end, end)]


def _filter(place: int, expression: Expression, read: Sequence[Token]) -> ParsedFilter:
    """The FILTER whose keyword stands at a place, up to the bracket that closes the first one after it."""
    return ParsedFilter(expression, read[place].start, read[closing(read, place)].end)


def _expression(
    read: Sequence[Token],
    names: Names,
    end: int,
    given: Mapping[int, Expression] = _NOTHING,
    nested: bool = False,
) -> Expression:
    masked = mask(read, names, end, given)
    tree = parse_tree("Expression", masked)
    source = Source(masked, tree)
    groups = GroupReader(source, names.base)
    reader = ExpressionReader(source, groups.pattern, names.base, aggregates=True, iterations=True, nested=nested)
    return reader.read(tree[0])


@dataclass(slots=True)
class _Bracket:
    """An open bracket, and what stands in it outside of others.

    place   of the bracket among the folded tokens
    plain   False: it may hold aggregates and groups
    """

    place: int
    connectives: int = 0
    commas: int = 0
    plain: bool = True


def _fold_chains(read: Sequence[Token], names: Names) -> tuple[list[Token], dict[int, Expression]]:
    """The tokens with each long list, or chain of `&&` and `||`, in brackets as one token, and these expressions.

    Their members are parsed one by one: those of one shape share a parse tree.
    """
    folded: list[Token] = []
    given: dict[int, Expression] = {}
    brackets: list[_Bracket] = []
    for token in read:
        if token.kind == "word" and token.is_word("AS", "DISTINCT", *AGGREGATE_WORDS, *ITERATION_WORDS):
            _mark(brackets)
        elif token.kind == "punctuation":
            match token.text:
                case "(":
                    brackets.append(_Bracket(len(folded)))
                case "&&" | "||" if brackets:
                    brackets[-1].connectives += 1
                case "," if brackets:
                    brackets[-1].commas += 1
                case ";":
                    _mark(brackets[-1:])
                case "{" | "}" | "[":
                    _mark(brackets)
                case ")":
                    bracket = brackets.pop()
                    members, start = folded[bracket.place + 1 :], folded[bracket.place].start
                    if not bracket.plain:
                        pass
                    elif bracket.commas > _CHAIN_MAX and _takes_list(folded, bracket.place):
                        folded[bracket.place + 1 :] = _fold_list(members, names, start, token.start, given)
                    elif bracket.connectives > _CHAIN_MAX and not bracket.commas:
                        given[start] = _chain(members, names, token.start, given)
                        folded[bracket.place + 1 :] = [Token("expression", members[0].text, start, token.start)]
        folded.append(token)
    return folded, given


def _mark(brackets: Sequence[_Bracket]) -> None:
    for bracket in brackets:
        bracket.plain = False


def _chain(
    read: Sequence[Token], names: Names, end: int, given: Mapping[int, Expression], level: int = 0
) -> Expression:
    """The expression of a chain of `_CONNECTIVES[level:]`."""
    if level == len(_CONNECTIVES):
        return _expression(read, names, end, given)
    operator = _CONNECTIVES[level]
    members = _split(read, operator, end)
    return connected(operator, [_chain(member, names, stop, given, level + 1) for member, stop in members])


def _split(read: Sequence[Token], separator: str, end: int) -> Iterator[tuple[Sequence[Token], int]]:
    """The parts between the separators outside of brackets, each with the place where it ends."""
    begin, depth = 0, 0
    for index, token in enumerate(read):
        if token.kind == "punctuation":
            depth += (token.text == "(") - (token.text == ")")
            if token.text == separator and depth == 0:
                yield read[begin:index], token.start
                begin = index + 1
    yield read[begin:], end


def _takes_list(read: Sequence[Token], place: int) -> bool:
    """True if the bracket at this place opens a list of any length: of IN, CONCAT, COALESCE or a function."""
    before = read[place - 1] if place else None
    return before is not None and (before.kind in ("iri", "pname") or before.is_word("IN", "CONCAT", "COALESCE"))


def _fold_list(read: Sequence[Token], names: Names, start: int, end: int, given: dict[int, Expression]) -> list[Token]:
    """The tokens with the members before the first faulty one as one token, and `given` with their expressions."""
    expressions: list[Expression] = []
    folded = 0
    for member, stop in _split(read, ",", end):
        try:
            expressions.append(_expression(member, names, stop, given))
        except PatternSyntaxError:
            break  # what is expected here is known from the whole text
        folded += len(member) + 1
    if not expressions:
        return list(read)
    given[start] = Call(LIST, tuple(expressions))
    return [Token("expression", read[0].text, start, read[folded - 2].end), *read[folded - 1 :]]


def _fold_values(read: Sequence[Token], names: Names, nested: bool) -> tuple[list[Token], dict[int, Expression]]:
    """The tokens with each aggregate, PREV, FIRST and LAST as one token, and the expressions of these."""
    folded: list[Token] = []
    given: dict[int, Expression] = {}
    index = 0
    while index < len(read):
        token = read[index]
        called = index + 1 < len(read) and read[index + 1].text == "("
        if called and token.is_word(*AGGREGATE_WORDS, *ITERATION_WORDS):
            last = closing(read, index)
            given[token.start] = _expression(read[index : last + 1], names, read[last].end, nested=nested)
            token = Token("expression", token.text, token.start, read[last].end)
            index = last
        folded.append(token)
        index += 1
    return folded, given


def _refuse_in_collections(read: Sequence[Token]) -> None:
    """Raises PatternSyntaxError for an aggregate, PREV, FIRST or LAST inside `( )` of a template."""
    depth = 0
    for token in read:
        depth += (token.text == "(") - (token.text == ")")
        if depth and token.kind == "expression":
            message = f"{token.text.upper()} cannot stand in a collection"
            hint = "write it as the object of a triple of its own"
            raise PatternSyntaxError(message, token.start, hint, Fault.AGGREGATE)


def _template_triple(nodes: tuple[Any, Any, Any], source: Source) -> tuple[Triple, Expression | None]:
    subject, predicate, object_ = nodes
    start, verb, leaf = source.node(subject), source.node(predicate), source.leaf(object_)
    assert isinstance(verb, IRI | Variable), verb
    if leaf is not None and isinstance(leaf.value, Aggregate | Iteration):
        return Triple(start, verb, source.fresh()), leaf.value
    return Triple(start, verb, source.node(object_)), None
