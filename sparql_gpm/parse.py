"""SPARQL text to the algebra: patterns, expressions and templates, with PREV, FIRST and LAST among the expressions.

The syntax is SPARQL 1.2's; errors are `PatternSyntaxError`s with the place of the token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparql_gpm.pattern import EMPTY, Expression, Member, Pattern, TermParts, Triple
from sparql_gpm.syntax.grammar import check_brackets, parse_tree
from sparql_gpm.syntax.names import Blanks, Names, first_token, last_token
from sparql_gpm.syntax.tokens import Token, Tree, tokens
from sparql_gpm.syntax.translate import GroupReader
from sparql_gpm.syntax.translate_triples import TripleReader

TemplateMember = tuple[Triple | TermParts, Expression | None]
"""A member of a template, and the value that its object stands for."""


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
    places: Mapping[Member, int]


def parse_group(text: str, prefixes: Mapping[str, str], base: str | None, first: Pattern = EMPTY) -> ParsedGroup:
    """The text between the braces of a GPM: a GroupGraphPatternSub or a SubSelect, as if it began with `first`.

    Aggregates, PREV, FIRST and LAST may stand in its top-level FILTERs; aggregates also in subqueries.
    """
    return read_group(*_parsed("inside", text), Names(prefixes, base), first)


def parse_expression(text: str, prefixes: Mapping[str, str], base: str | None, nested: bool = False) -> Expression:
    """An expression, in which aggregates, PREV, FIRST and LAST may stand; `nested`: also inside an aggregate."""
    return read_expression(*_parsed("expression", text), Names(prefixes, base), nested)


def parse_template(
    text: str, prefixes: Mapping[str, str], base: str | None, nested: bool = False
) -> tuple[TemplateMember, ...]:
    """The text between the braces of CONSTRUCT: triples whose object may be an aggregate, PREV, FIRST or LAST.

    Such a value is given beside its triple, whose object is then a `_:` variable used nowhere else. A triple term with
    variables is a `_:` variable, too, whose parts are a member of the template.
    """
    return read_template(*_parsed("template", text), Names(prefixes, base), nested)


def read_group(read: Sequence[Token], tree: Tree, names: Names, first: Pattern = EMPTY) -> ParsedGroup:
    """The meaning of the tree of a group, which consists of these tokens; see `parse_group`."""
    groups = GroupReader(names, _blanks(read))
    pattern, filters = groups.top(tree, first)
    found = (ParsedFilter(expression, first_token(tree).start, last_token(tree).end) for tree, expression in filters)
    return ParsedGroup(pattern, tuple(found), groups.triples.places)


def read_expression(read: Sequence[Token], tree: Tree, names: Names, nested: bool = False) -> Expression:
    """The same of an expression; see `parse_expression`."""
    expressions = GroupReader(names, _blanks(read)).expressions
    return replace(expressions, aggregates=True, iterations=True, nested=nested).read(tree)


def read_template(read: Sequence[Token], tree: Tree, names: Names, nested: bool = False) -> tuple[TemplateMember, ...]:
    """The same of a template; see `parse_template`."""
    blanks = _blanks(read)
    expressions = GroupReader(names, blanks).expressions
    values = replace(expressions, aggregates=True, iterations=True, nested=nested)
    reader = TripleReader(names, blanks, values.read, template=True)
    members = [member for triples in tree.children for member in reader.read(triples)]
    return tuple((member, reader.values.get(member.object)) for member in members)  # type: ignore[arg-type, misc]


def _parsed(rule: str, text: str) -> tuple[Sequence[Token], Tree]:
    """The tokens of a text, and their tree."""
    read = tuple(tokens(text))
    check_brackets(read, len(text))
    return read, parse_tree(rule, read, len(text))


def _blanks(read: Sequence[Token]) -> Blanks:
    return Blanks({token.text for token in read if token.kind == "bnode"})
