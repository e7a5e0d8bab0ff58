"""Subqueries of a parse tree (SPARQL 1.1, Sections 11, 15 and 18.2.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.algebra.traversal import map_operands
from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.pattern import Aggregate, Expression, Pattern, Variable
from sparql_gpm.syntax.grammar import Tree
from sparql_gpm.syntax.tokens import Token
from sparql_gpm.syntax.translate_expressions import ExpressionReader, conjunction, outer_variables
from sparql_gpm.syntax.translate_terms import Source, name_of
from sparql_gpm.terms import Literal


@dataclass(frozen=True, slots=True)
class _Column:
    """A projected variable, with its expression if it has one."""

    variable: str
    expression: Expression | None
    token: Token


@dataclass(slots=True)
class _Aggregates:
    """The aggregates of a subquery, each under a hidden variable."""

    source: Source
    named: dict[Aggregate, str] = field(default_factory=dict)

    def lift(self, expression: Expression) -> Expression:
        """The expression with its aggregates replaced by their variables."""
        if isinstance(expression, Aggregate):
            if expression not in self.named:
                self.named[expression] = self.source.fresh().name
            return Variable(self.named[expression])
        return map_operands(expression, self.lift)


@dataclass(frozen=True, slots=True)
class SelectReader:
    """Reads subqueries; `group` reads the pattern after WHERE, `values` the inline data at the end."""

    source: Source
    expressions: ExpressionReader
    group: Callable[[Tree], Pattern]
    values: Callable[[Tree], Pattern]

    def read(self, tree: Tree) -> Pattern:
        """A SubSelect; its parts in the order of Section 18.2.4."""
        reader = replace(self.expressions, aggregates=True)
        columns = [self._column(column, reader) for column in tree.projection or ()]
        pattern = self.group(tree.where)
        visible = in_scope(pattern)
        conditions = [reader.read(condition) for condition in (tree.having.condition if tree.having else ())]
        orders = [
            (reader.read(order.expr), order.order == "DESC")
            for order in (tree.orderby.condition if tree.orderby else ())
        ]
        aggregates = _Aggregates(self.source)
        keys = self._keys(tree)
        columns = [replace(c, expression=c.expression and aggregates.lift(c.expression)) for c in columns]
        orders = [(aggregates.lift(expression), descending) for expression, descending in orders]
        having = conjunction([aggregates.lift(condition) for condition in conditions])
        if tree.groupby or tree.having or aggregates.named:
            names = tuple((name, aggregate) for aggregate, name in aggregates.named.items())
            pattern = algebra.Group(pattern, keys, names)
            self._check_grouped(tree, columns, {key for key, _ in keys} | set(aggregates.named.values()))
        if having is not None:
            pattern = algebra.Filter(having, pattern)
        if tree.valuesClause is not None:
            pattern = algebra.Join(pattern, self.values(tree.valuesClause))
            visible |= in_scope(pattern)
        pattern = self._extended(pattern, columns, visible)
        if orders:
            pattern = algebra.OrderBy(pattern, tuple(orders))
        names_projected = tuple(c.variable for c in columns) if columns else tuple(sorted(in_scope(pattern)))
        return self._modified(tree, algebra.Project(pattern, names_projected))

    def _column(self, column: Tree, reader: ExpressionReader) -> _Column:
        if column.evar is None:
            return _Column(self.source.variable(column.var), None, self.source.token(column.var))
        return _Column(self.source.variable(column.evar), reader.read(column.expr), self.source.token(column.evar))

    def _keys(self, tree: Tree) -> tuple[tuple[str, Expression], ...]:
        keys: list[tuple[str, Expression]] = []
        for condition in tree.groupby.condition if tree.groupby else ():
            named = name_of(condition) == "GroupAs"
            expression = self.expressions.read(condition.expr if named else condition)
            if named and condition.var is not None:
                keys.append((self.source.variable(condition.var), expression))
            elif isinstance(expression, Variable):
                keys.append((expression.name, expression))
            else:
                keys.append((self.source.fresh().name, expression))
        return tuple(keys)

    def _check_grouped(self, tree: Tree, columns: list[_Column], grouped: set[str]) -> None:
        """Only keys and aggregates may be projected from groups (Section 11.4)."""
        if not columns:
            raise PatternSyntaxError("SELECT * cannot stand with groups", self.source.token(tree).start)
        for column in columns:
            needed = (column.variable,) if column.expression is None else outer_variables(column.expression)
            for name in needed:
                if name not in grouped:
                    hint = "project a key of GROUP BY, or an aggregate such as SAMPLE"
                    message = f"?{name} is neither grouped nor aggregated"
                    raise PatternSyntaxError(message, column.token.start, hint, Fault.AGGREGATE)
            grouped = grouped | {column.variable}

    def _extended(self, pattern: Pattern, columns: list[_Column], visible: frozenset[str]) -> Pattern:
        used: set[str] = set()
        for column in columns:
            if column.expression is not None:
                if column.variable in visible or column.variable in used:
                    message = f"?{column.variable} is already in scope"
                    hint = "choose a new variable after AS"
                    raise PatternSyntaxError(message, column.token.start, hint, Fault.SCOPE)
                pattern = algebra.Extend(pattern, column.variable, column.expression)
            used.add(column.variable)
        return pattern

    def _modified(self, tree: Tree, pattern: Pattern) -> Pattern:
        if tree.modifier is not None:
            pattern = algebra.Distinct(pattern)
        if tree.limitoffset is None:
            return pattern
        offset, limit = (self._count(tree.limitoffset[key]) if key in tree.limitoffset else None
                         for key in ("offset", "limit"))  # fmt: skip
        return algebra.Slice(pattern, offset or 0, limit)

    def _count(self, node: Tree) -> int:
        leaf = self.source.leaf(node)
        assert leaf is not None, node
        if leaf.token.kind != "integer":
            raise PatternSyntaxError(f"expected a whole number, found '{leaf.token.text}'", leaf.token.start)
        assert isinstance(leaf.value, algebra.Constant) and isinstance(leaf.value.term, Literal), leaf
        return int(leaf.value.term.lexical)
