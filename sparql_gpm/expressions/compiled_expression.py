"""Expressions made ready: PREV, aggregates and EXISTS as columns, constants as ids, what can be vectorised marked."""

from __future__ import annotations

from dataclasses import dataclass, field

from arrays.comparison import ARITHMETIC, COMPARISONS
from sparql_gpm.algebra.analysis import is_volatile
from sparql_gpm.algebra.traversal import subexpressions
from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.pattern import Aggregate, Call, Cast, Constant, Exists, Expression, Iteration, Variable
from sparql_gpm.terms import Literal, to_ntriples

_LOGICAL = frozenset(("&&", "||", "!", "BOUND"))


@dataclass(frozen=True, slots=True, eq=False)
class CompiledExpression:
    """An expression ready for evaluation.

    expression  without Iteration, Aggregate and Exists: these have become variables
    names       the variables whose values it needs
    tests       the variables that stand for an EXISTS
    volatile    whether it has a value of its own in every row
    parts       the operands that are evaluated over columns on their own; for IN its choices, as one `||` of `=`
    constant    the id of a Constant
    values, truths   what is known about tuples of values of `names`: the resulting id, the truth
    """

    expression: Expression
    names: tuple[str, ...]
    tests: tuple[tuple[str, Exists], ...]
    volatile: bool
    parts: tuple[CompiledExpression, ...] = ()
    constant: int = UNBOUND
    values: dict[tuple[int, ...], int] = field(default_factory=dict)
    truths: dict[tuple[int, ...], int] = field(default_factory=dict)

    @property
    def is_simple(self) -> bool:
        """Whether its operands are evaluated on their own."""
        return bool(self.parts)

    @property
    def is_logical(self) -> bool:
        """Whether its value is the truth that is computed over columns."""
        match self.expression:
            case Call(name, _):
                return name in _LOGICAL or name in COMPARISONS or (self.is_simple and name not in ARITHMETIC)
        return False


def column_name(node: Iteration | Aggregate) -> str:
    """The column in which the value is looked up: `PREV(?v)`, `COUNT(DISTINCT ?v)`, `COUNT(*)`."""
    if isinstance(node, Iteration):
        return f"{node.name}(?{node.variable})"
    match node.argument:
        case None:
            argument = "*"
        case Variable(name):
            argument = f"?{name}"
        case other:
            argument = repr(other)
    distinct = "DISTINCT " if node.distinct else ""
    separator = ""
    if node.name == "GROUP_CONCAT" and node.separator != " ":
        separator = f"; SEPARATOR={to_ntriples(Literal(node.separator))}"
    return f"{node.name}({distinct}{argument}{separator})"


def compile_expression(expression: Expression, dictionary: Dictionary) -> CompiledExpression:
    """The expression made ready; its constants are pinned in the dictionary."""
    tests: dict[Exists, str] = {}
    plain = _as_columns(expression, tests)
    compiled = _compile(plain, dictionary)
    named = tuple((name, test) for test, name in tests.items())
    return CompiledExpression(plain, compiled.names, named, compiled.volatile, compiled.parts, compiled.constant)


def _as_columns(expression: Expression, tests: dict[Exists, str]) -> Expression:
    match expression:
        case Iteration() | Aggregate():
            return Variable(column_name(expression))
        case Exists():
            return Variable(tests.setdefault(expression, f"EXISTS {len(tests)}"))
        case Call(name, arguments):
            return Call(name, tuple(_as_columns(argument, tests) for argument in arguments))
        case Cast(iri, arguments):
            return Cast(iri, tuple(_as_columns(argument, tests) for argument in arguments))
    return expression


def _compile(expression: Expression, dictionary: Dictionary) -> CompiledExpression:
    names = tuple(dict.fromkeys(part.name for part in subexpressions(expression) if isinstance(part, Variable)))
    volatile = is_volatile(expression)
    match expression:
        case Constant(term):
            return CompiledExpression(expression, names, (), False, constant=dictionary.pin(term))
        case Call("IN" | "NOTIN", (left, *choices)) if all(map(_is_leaf, (left, *choices))):
            equal = tuple(_compile(Call("=", (left, choice)), dictionary) for choice in choices)
            return CompiledExpression(
                expression, names, (), volatile, (CompiledExpression(expression, names, (), volatile, equal),)
            )
        case Call(name, arguments) if _has_parts(name, arguments, volatile):
            return CompiledExpression(
                expression, names, (), volatile, tuple(_compile(a, dictionary) for a in arguments)
            )
    return CompiledExpression(expression, names, (), volatile)


def _has_parts(name: str, arguments: tuple[Expression, ...], volatile: bool) -> bool:
    """The operands are evaluated over columns on their own."""
    if name in ARITHMETIC or name in COMPARISONS:
        return not volatile
    return name in _LOGICAL or (name == "SAMETERM" and all(map(_is_leaf, arguments)))


def _is_leaf(expression: Expression) -> bool:
    return isinstance(expression, Variable | Constant)
