"""Group graph patterns of a parse tree, by the letter of SPARQL 1.1, Section 18.2.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.rewrite import balanced
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.pattern import Expression, Pattern, Variable
from sparql_gpm.syntax.grammar import Tree
from sparql_gpm.syntax.translate_expressions import ExpressionReader, conjunction
from sparql_gpm.syntax.translate_select import SelectReader
from sparql_gpm.syntax.translate_terms import Source, name_of
from sparql_gpm.syntax.translate_triples import blank_labels, triples
from sparql_gpm.terms import IRI, BlankNode, Term

_DEPTH_MAX = 200
"""OPTIONAL, MINUS and BIND above each other in a pattern."""


class GroupReader:
    """Reads the groups of one text; a blank node label belongs to one basic graph pattern of it."""

    def __init__(self, source: Source, base: str | None) -> None:
        self._source = source
        self._expressions = ExpressionReader(source, self.pattern, base)
        self._owners: dict[str, int] = {}
        self._bgps = 0
        self._deepest = 0

    def pattern(self, tree: Tree) -> Pattern:
        """The pattern of a group."""
        filters, pattern = self._parts(tree)
        condition = conjunction([self._expressions.read(found.expr) for found in filters])
        return pattern if condition is None else algebra.Filter(condition, pattern)

    def top(self, tree: Tree, first: Pattern) -> tuple[Pattern, tuple[tuple[Tree, Expression], ...]]:
        """The pattern of the outermost group, and its filters, which may hold aggregates and iterations.

        first   a pattern that stands at its beginning
        """
        filters, pattern = self._parts(tree, first)
        reader = replace(self._expressions, aggregates=True, iterations=True)
        return pattern, tuple((found, reader.read(found.expr)) for found in filters)

    def _parts(self, tree: Tree, first: Pattern = algebra.EMPTY) -> tuple[list[Tree], Pattern]:
        if name_of(tree) == "SubSelect":
            selected = SelectReader(self._source, self._expressions, self.pattern, self.values).read(tree)
            return [], _join([first, selected])
        filters: list[Tree] = []
        joined = [first]
        outside, depth, self._deepest = self._deepest, 0, 0
        block: list[algebra.Triple | algebra.PathTriple] = []
        self._bgps += 1
        for part in tree.part or ():
            match name_of(part):
                case "Filter":
                    filters.append(part)
                case "TriplesBlock":
                    self._claim_labels(part)
                    block.extend(triples(part, self._source))
                case _:
                    joined, block = self._add([*joined, algebra.BGP(tuple(block))], part), []
                    self._bgps += 1
                    depth = max(depth, self._deepest) + (len(joined) == 1)
                    self._deepest = 0
                    if depth > _DEPTH_MAX:
                        message = f"more than {_DEPTH_MAX} OPTIONAL, MINUS and BIND after and inside of each other"
                        raise PatternSyntaxError(message, self._source.token(part).start, fault=Fault.DEPTH)
        self._deepest = max(outside, depth)
        return filters, _join([*joined, algebra.BGP(tuple(block))])

    def _add(self, joined: list[Pattern], part: Tree) -> list[Pattern]:
        """The patterns to be joined, followed by a part that is neither triples nor a filter."""
        match name_of(part):
            case "OptionalGraphPattern":
                filters, inner = self._parts(part.graph)
                condition = conjunction([self._expressions.read(f.expr) for f in filters])
                return [algebra.LeftJoin(_join(joined), inner, condition)]
            case "MinusGraphPattern":
                return [algebra.Minus(_join(joined), self.pattern(part.graph))]
            case "GroupOrUnionGraphPattern":
                return [*joined, balanced(algebra.Union, [self.pattern(group) for group in part.graph])]
            case "GraphGraphPattern":
                return [*joined, algebra.Graph(self._name(part.term), self.pattern(part.graph))]
            case "ServiceGraphPattern":
                silent = part.silent is not None
                return [*joined, algebra.Service(self._name(part.term), self.pattern(part.graph), silent)]
            case "Bind":
                return [self._bind(_join(joined), part)]
            case "InlineData":
                return [*joined, self.values(part)]
        raise AssertionError(part)

    def _name(self, node: Any) -> IRI | Variable:
        name = self._source.node(node)
        assert isinstance(name, IRI | Variable), name
        return name

    def _bind(self, pattern: Pattern, part: Tree) -> Pattern:
        variable = self._source.variable(part.var)
        if variable in in_scope(pattern):
            offset = self._source.token(part.var).start
            message = f"BIND to ?{variable}, which is already in scope"
            raise PatternSyntaxError(message, offset, "choose a new variable", Fault.SCOPE)
        return algebra.Extend(pattern, variable, self._expressions.read(part.expr))

    def values(self, block: Tree) -> Pattern:
        """A block of inline data."""
        variables = tuple(self._source.variable(variable) for variable in block.var or ())
        rows = tuple(self._row(row, block, len(variables)) for row in block.value or ())
        return algebra.Values(variables, rows)

    def _row(self, row: Any, block: Tree, width: int) -> tuple[Term | None, ...]:
        cells = (row,) if isinstance(row, str) or name_of(row) else tuple(row)
        if len(cells) != width:
            anchor = next((cell for cell in (*cells, *(block.var or ())) if not _is_undef(cell)), None)
            offset = self._source.token(anchor).start if anchor is not None else 0
            raise PatternSyntaxError(f"a row of VALUES has {len(cells)} values for {width} variables", offset)
        return tuple(None if _is_undef(cell) else self._term(cell) for cell in cells)

    def _term(self, cell: Any) -> Term:
        node = self._source.node(cell)
        assert not isinstance(node, Variable | BlankNode), node
        return node

    def _claim_labels(self, block: Tree) -> None:
        for node in blank_labels(block, self._source):
            token = self._source.token(node)
            if self._owners.setdefault(token.text, self._bgps) != self._bgps:
                message = f"the blank node {token.text} is used in two basic graph patterns"
                raise PatternSyntaxError(message, token.start, "use a variable instead")


def _join(patterns: Sequence[Pattern]) -> Pattern:
    """The join without units (Section 18.2.2.8)."""
    parts = [pattern for pattern in patterns if pattern != algebra.EMPTY]
    return balanced(algebra.Join, parts) if parts else algebra.EMPTY


def _is_undef(cell: Any) -> bool:
    return type(cell) is str and cell.upper() == "UNDEF"
