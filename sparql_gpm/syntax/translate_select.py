"""Subqueries of a tree (SPARQL 1.2, Sections 11, 15 and 18.3.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.algebra.traversal import map_operands
from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.pattern import Aggregate, Expression, Pattern, Variable
from sparql_gpm.syntax.names import Blanks
from sparql_gpm.syntax.tokens import Token, Tree
from sparql_gpm.syntax.translate_expressions import ExpressionReader, conjunction, outer_variables


@dataclass(frozen=True, slots=True)
class _Column:
    """A projected variable, with its expression if it has one."""

    variable: str
    expression: Expression | None
    token: Token


@dataclass(slots=True)
class _Aggregates:
    """The aggregates of a subquery, each under a hidden variable."""

    blanks: Blanks
    named: dict[Aggregate, str] = field(default_factory=dict)

    def lift(self, expression: Expression) -> Expression:
        """The expression with its aggregates replaced by their variables."""
        if isinstance(expression, Aggregate):
            if expression not in self.named:
                self.named[expression] = self.blanks.new().name
            return Variable(self.named[expression])
        return map_operands(expression, self.lift)


@dataclass(frozen=True, slots=True)
class SelectReader:
    """Reads subqueries; `group` reads the pattern after WHERE, `values` the inline data at the end."""

    blanks: Blanks
    expressions: ExpressionReader
    group: Callable[[Tree], Pattern]
    values: Callable[[Tree], Pattern]

    def read(self, tree: Tree) -> Pattern:
        """A SubSelect; its parts in the order of Section 18.3.4."""
        select, distinct, written, where, grouping, filtering, ordering, slicing, data = tree.children
        reader = replace(self.expressions, aggregates=True)
        columns = [self._column(column, reader) for column in written.children if not isinstance(column, Token)]
        pattern = self.group(where)
        visible = in_scope(pattern)
        conditions = [reader.read(condition) for condition in filtering.children]
        orders = [self._order(order.children, reader) for order in ordering.children]
        aggregates = _Aggregates(self.blanks)
        keys = self._keys(grouping.children)
        columns = [replace(c, expression=c.expression and aggregates.lift(c.expression)) for c in columns]
        orders = [(aggregates.lift(expression), descending) for expression, descending in orders]
        having = conjunction([aggregates.lift(condition) for condition in conditions])
        if grouping.children or filtering.children or aggregates.named:
            names = tuple((name, aggregate) for aggregate, name in aggregates.named.items())
            pattern = algebra.Group(pattern, keys, names)
            self._check_grouped(select, columns, {key for key, _ in keys} | set(aggregates.named.values()))
            visible = frozenset(key for key, _ in keys)
        if having is not None:
            pattern = algebra.Filter(having, pattern)
        for block in data.children:
            pattern = algebra.Join(pattern, self.values(block))
            visible |= in_scope(pattern)
        pattern = self._extended(pattern, columns, visible)
        if orders:
            pattern = algebra.OrderBy(pattern, tuple(orders))
        names_projected = tuple(c.variable for c in columns) if columns else tuple(sorted(in_scope(pattern)))
        pattern = algebra.Project(pattern, names_projected)
        if distinct.children:
            pattern = algebra.Distinct(pattern)
        return _sliced(pattern, slicing) if slicing.children else pattern

    def _column(self, column: Tree, reader: ExpressionReader) -> _Column:
        *expression, variable = column.children
        return _Column(variable.text[1:], reader.read(expression[0]) if expression else None, variable)

    def _order(self, parts: Sequence[Tree], reader: ExpressionReader) -> tuple[Expression, bool]:
        *direction, expression = parts
        return reader.read(expression), bool(direction) and direction[0].type == "DESC"

    def _keys(self, conditions: Sequence[Tree]) -> tuple[tuple[str, Expression], ...]:
        keys: list[tuple[str, Expression]] = []
        for condition in conditions:
            named = not isinstance(condition, Token) and condition.data == "key"
            written, target = condition.children if named else (condition, None)
            expression = self.expressions.read(written)
            if target is not None:
                keys.append((target.text[1:], expression))
            elif isinstance(expression, Variable):
                keys.append((expression.name, expression))
            else:
                keys.append((self.blanks.new().name, expression))
        return tuple(keys)

    def _check_grouped(self, select: Token, columns: list[_Column], grouped: set[str]) -> None:
        """Only keys and aggregates may be projected from groups (Section 11.4)."""
        if not columns:
            raise PatternSyntaxError("SELECT * cannot stand with groups", select.start)
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


def _sliced(pattern: Pattern, slicing: Tree) -> Pattern:
    counts = {part.data: int(part.children[0].text) for part in slicing.children}
    return algebra.Slice(pattern, counts.get("offset", 0), counts.get("limit"))
