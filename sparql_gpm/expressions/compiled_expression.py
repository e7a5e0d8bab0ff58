"""Compiled expressions: PREV, aggregates and EXISTS as columns, constants as ids, columnar operands apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from arrays.comparison import ARITHMETIC, COMPARISONS
from sparql_gpm.algebra.analysis import is_volatile
from sparql_gpm.algebra.expression_text import ExpressionWriter
from sparql_gpm.algebra.rewrite import equalities
from sparql_gpm.algebra.traversal import map_operands, operands, subexpressions
from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.pattern import Adding, Aggregate, Call, Constant, Exists, Expression, Iteration, Variable

_NAMES_MAX = 1 << 10
"""Names of columns that are cached."""
_LOGICAL = frozenset(("&&", "||", "!", "BOUND"))


@dataclass(frozen=True, slots=True, eq=False)
class CompiledExpression:
    """An expression ready for evaluation.

    expression  without Iteration, Aggregate and Exists, which have become variables
    names       the variables whose values it needs
    volatile    it has a value of its own in every row
    parts       the operands that are evaluated over columns on their own; for IN an `=` for each choice
    constant    the id of a Constant
    tests       the variables that stand for an EXISTS
    values, truths   caches by tuples of values of `names`: the resulting id, the truth
    """

    expression: Expression
    names: tuple[str, ...]
    volatile: bool
    parts: tuple[CompiledExpression, ...] = ()
    constant: int = UNBOUND
    tests: tuple[tuple[str, Exists], ...] = ()
    values: dict[tuple[int, ...], int] = field(default_factory=dict)
    truths: dict[tuple[int, ...], int] = field(default_factory=dict)

    @property
    def is_logical(self) -> bool:
        """True if its value is the truth that is computed over columns."""
        match self.expression:
            case Call(name, _):
                return name in _LOGICAL or name in COMPARISONS or (bool(self.parts) and name not in ARITHMETIC)
        return False


def compile_expression(expression: Expression, dictionary: Dictionary) -> CompiledExpression:
    """The compiled expression; its constants are pinned in the dictionary."""
    tests: dict[Exists, str] = {}

    def as_columns(part: Expression) -> Expression:
        match part:
            case Iteration() | Aggregate():
                return Variable(column_name(part))
            case Exists():
                return Variable(tests.setdefault(part, f"EXISTS {len(tests)}"))
        return map_operands(part, as_columns)

    return _compile(as_columns(expression), dictionary, tuple((name, test) for test, name in tests.items()))


@lru_cache(maxsize=_NAMES_MAX)
def column_name(node: Iteration | Aggregate) -> str:
    """The column in which the value is looked up: `PREV(?v)`, `COUNT(DISTINCT ?v)`, `COUNT(*)`, `SUM(?v) ONCE`."""
    adding = "" if isinstance(node, Iteration) or node.adding is Adding.IN_TURN else f" {node.adding.name}"
    return ExpressionWriter(lambda name: f"?{name}", repr).text(node) + adding


def _compile(
    expression: Expression, dictionary: Dictionary, tests: tuple[tuple[str, Exists], ...] = ()
) -> CompiledExpression:
    names = tuple(dict.fromkeys(part.name for part in subexpressions(expression) if isinstance(part, Variable)))
    volatile = is_volatile(expression)
    constant = dictionary.intern(expression.term) if isinstance(expression, Constant) else UNBOUND
    parts: tuple[Expression, ...] = ()
    if isinstance(expression, Call) and _has_parts(expression, volatile):
        parts = equalities(expression) if expression.name in ("IN", "NOTIN") else operands(expression)
    compiled = tuple(_compile(part, dictionary) for part in parts)
    return CompiledExpression(expression, names, volatile, compiled, constant, tests)


def _has_parts(call: Call, volatile: bool) -> bool:
    """True if the operands are evaluated over columns on their own."""
    if call.name in ARITHMETIC or call.name in COMPARISONS:
        return not volatile
    leaves = all(isinstance(operand, Variable | Constant) for operand in call.arguments)
    return call.name in _LOGICAL or (leaves and call.name in ("SAMETERM", "IN", "NOTIN"))
