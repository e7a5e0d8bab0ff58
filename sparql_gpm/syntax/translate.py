"""Group graph patterns of a tree, by the letter of SPARQL 1.2, Section 18.3.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.rewrite import balanced
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.pattern import Expression, Member, Pattern, Variable
from sparql_gpm.syntax.names import Blanks, Names
from sparql_gpm.syntax.tokens import Token, Tree
from sparql_gpm.syntax.translate_expressions import ExpressionReader, conjunction
from sparql_gpm.syntax.translate_select import SelectReader
from sparql_gpm.syntax.translate_triples import TripleReader
from sparql_gpm.terms import IRI, Term, TripleTerm

_DEPTH_MAX = 200
"""OPTIONAL, MINUS and BIND above each other in a pattern."""


class GroupReader:
    """Reads the groups of one text; a blank node label belongs to one basic graph pattern of it.

    expressions     reads its expressions; none has an aggregate, PREV, FIRST or LAST
    triples         reads its triples, and knows their places
    """

    def __init__(self, names: Names, blanks: Blanks) -> None:
        self._names = names
        self._blanks = blanks
        self.expressions = ExpressionReader(names, self.pattern)
        self.triples = TripleReader(names, blanks, self.expressions.read)
        self._owners: dict[str, int] = {}
        self._bgps = 0
        self._deepest = 0

    def pattern(self, tree: Tree) -> Pattern:
        """The pattern of a group."""
        filters, pattern = self._parts(tree)
        condition = conjunction([self.expressions.read(_condition(found)) for found in filters])
        return pattern if condition is None else algebra.Filter(condition, pattern)

    def top(self, tree: Tree, first: Pattern) -> tuple[Pattern, tuple[tuple[Tree, Expression], ...]]:
        """The pattern of the outermost group, and its filters, which may hold aggregates and iterations.

        first   a pattern that stands at its beginning
        """
        filters, pattern = self._parts(tree, first)
        reader = replace(self.expressions, aggregates=True, iterations=True)
        return pattern, tuple((found, reader.read(_condition(found))) for found in filters)

    def _parts(self, tree: Tree, first: Pattern = algebra.EMPTY) -> tuple[list[Tree], Pattern]:
        if tree.data == "sub_select":
            selected = SelectReader(self._blanks, self.expressions, self.pattern, self.values).read(tree)
            return [], _join([first, selected])
        filters: list[Tree] = []
        joined = [first]
        outside, depth, self._deepest = self._deepest, 0, 0
        block: list[Member] = []
        self._bgps += 1
        for part in tree.children:
            match part.data:
                case "filter":
                    filters.append(part)
                case "triples":
                    self._claim_labels(part)
                    block.extend(self.triples.read(part))
                case _:
                    joined, block = self._add([*joined, algebra.BGP(tuple(block))], part), []
                    self._bgps += 1
                    depth = max(depth, self._deepest) + (len(joined) == 1)
                    self._deepest = 0
                    if depth > _DEPTH_MAX:
                        message = f"more than {_DEPTH_MAX} OPTIONAL, MINUS and BIND after and inside of each other"
                        raise PatternSyntaxError(message, part.children[0].start, fault=Fault.DEPTH)
        self._deepest = max(outside, depth)
        return filters, _join([*joined, algebra.BGP(tuple(block))])

    def _add(self, joined: list[Pattern], part: Tree) -> list[Pattern]:
        """The patterns to be joined, followed by a part that is neither triples nor a filter."""
        *_, last = part.children
        match part.data:
            case "optional":
                filters, inner = self._parts(last)
                condition = conjunction([self.expressions.read(_condition(found)) for found in filters])
                return [algebra.LeftJoin(_join(joined), inner, condition)]
            case "minus":
                return [algebra.Minus(_join(joined), self.pattern(last))]
            case "group_or_union":
                return [*joined, balanced(algebra.Union, [self.pattern(group) for group in part.children])]
            case "graph":
                return [*joined, algebra.Graph(self._name(part.children[0]), self.pattern(last))]
            case "service":
                silent, endpoint, _ = part.children
                return [*joined, algebra.Service(self._name(endpoint), self.pattern(last), silent is not None)]
            case "bind":
                return [self._bind(_join(joined), *part.children)]
        assert part.data == "values", part
        return [*joined, self.values(part)]

    def _name(self, token: Token) -> IRI | Variable:
        return Variable(token.text[1:]) if token.type == "VAR" else self._names.resolve(token)

    def _bind(self, pattern: Pattern, _: Token, expression: Tree, target: Token) -> Pattern:
        variable = target.text[1:]
        if variable in in_scope(pattern):
            message = f"BIND to ?{variable}, which is already in scope"
            raise PatternSyntaxError(message, target.start, "choose a new variable", Fault.SCOPE)
        return algebra.Extend(pattern, variable, self.expressions.read(expression))

    def values(self, block: Tree) -> Pattern:
        """A block of inline data."""
        first, *rest = block.children
        if isinstance(first, Token):
            return algebra.Values((first.text[1:],), tuple((self._cell(cell),) for cell in rest))
        variables = tuple(token.text[1:] for token in first.children)
        if len(set(variables)) < len(variables):
            again = next(token for place, token in enumerate(first.children) if token.text[1:] in variables[:place])
            message = f"?{again.text[1:]} is given twice in VALUES"
            raise PatternSyntaxError(message, again.start, "give each variable once", Fault.SCOPE)
        return algebra.Values(variables, tuple(self._row(row, len(variables)) for row in rest))

    def _row(self, row: Tree, width: int) -> tuple[Term | None, ...]:
        bracket, *cells = row.children
        if len(cells) != width:
            anchor = cells[0] if cells and isinstance(cells[0], Token) else bracket
            message = f"a row of VALUES has {len(cells)} values for {width} variables"
            raise PatternSyntaxError(message, anchor.start)
        return tuple(map(self._cell, cells))

    def _cell(self, cell: Tree) -> Term | None:
        """The term of inline data; None for UNDEF."""
        term = self._names.term(cell)
        if term is None and not isinstance(cell, Token):
            subject, verb, object_ = cell.children
            inner = self._cell(object_)
            assert inner is not None, cell
            return TripleTerm(self._names.resolve(subject), self._names.resolve(verb), inner)
        return term

    def _claim_labels(self, block: Tree) -> None:
        for token in block.scan_values(lambda leaf: leaf is not None and leaf.type == "BNODE"):
            if self._owners.setdefault(token.text, self._bgps) != self._bgps:
                message = f"the blank node {token.text} is used in two basic graph patterns"
                raise PatternSyntaxError(message, token.start, "use a variable instead")


def _condition(found: Tree) -> Tree:
    """The condition of a FILTER."""
    _, *brackets, condition = found.children
    return condition if not brackets else brackets[1]


def _join(patterns: Sequence[Pattern]) -> Pattern:
    """The join without units (Section 18.3.2.8)."""
    parts = [pattern for pattern in patterns if pattern != algebra.EMPTY]
    return balanced(algebra.Join, parts) if parts else algebra.EMPTY
