"""Expressions and property paths as SPARQL text, for endpoints and for `explain`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from sparql_gpm import pattern as algebra
from sparql_gpm.pattern import Aggregate, Call, Expression, Path, Pattern
from sparql_gpm.terms import Literal, to_ntriples

_INFIX = frozenset({"=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "&&", "||"})
_PREFIX = {"!": "!", "NEG": "-", "POS": "+"}
_LISTS = {"IN": "IN", "NOTIN": "NOT IN"}


@dataclass(frozen=True, slots=True)
class ExpressionWriter:
    """Writes expressions; every operator of two sides stands in parentheses.

    variable    the text of a variable
    group       the text between the braces of an EXISTS
    """

    variable: Callable[[str], str]
    group: Callable[[Pattern], str]

    def text(self, expression: Expression) -> str:
        """The expression in SPARQL's syntax; what a sequence adds to it, `PREV(?v)`, as our language writes it."""
        match expression:
            case algebra.Variable(name):
                return self.variable(name)
            case algebra.Constant(term):
                return to_ntriples(term)
            case Call(name, arguments):
                return self._call(name, arguments)
            case algebra.Cast(iri, arguments):
                return f"<{iri}>({self._listed(arguments)})"
            case algebra.Exists(pattern, negated):
                return f"{'NOT ' if negated else ''}EXISTS {{ {self.group(pattern)} }}"
            case Aggregate():
                return self._aggregate(expression)
            case algebra.Iteration(name, variable):
                return f"{name}({self.variable(variable)})"
            case _:
                assert_never(expression)

    def _call(self, name: str, arguments: tuple[Expression, ...]) -> str:
        match arguments:
            case (left, right) if name in _INFIX:
                return f"({self.text(left)} {name} {self.text(right)})"
            case (only,) if name in _PREFIX:
                return f"{_PREFIX[name]}{self._operand(only)}"
            case (first, *others) if len(operators := name.split()) > 1:
                rest = (f" {operator} {self.text(other)}" for operator, other in zip(operators, others, strict=True))
                return f"({self.text(first)}{''.join(rest)})"
            case (first, *others) if name in _LISTS:
                return f"({self.text(first)} {_LISTS[name]} ({self._listed(others)}))"
            case _:
                return f"{name}({self._listed(arguments)})"

    def _operand(self, expression: Expression) -> str:
        """The operand of a prefix operator, in parentheses if it has one itself."""
        nested = isinstance(expression, Call) and expression.name in _PREFIX
        return f"({self.text(expression)})" if nested else self.text(expression)

    def _listed(self, expressions: tuple[Expression, ...] | list[Expression]) -> str:
        return ", ".join(map(self.text, expressions))

    def _aggregate(self, aggregate: Aggregate) -> str:
        argument = "*" if aggregate.argument is None else self.text(aggregate.argument)
        distinct = "DISTINCT " if aggregate.distinct else ""
        separator = "" if aggregate.separator == " " else f"; SEPARATOR={to_ntriples(Literal(aggregate.separator))}"
        return f"{aggregate.name}({distinct}{argument}{separator})"


def path_text(path: Path) -> str:
    """A path in SPARQL's syntax, with parentheses wherever it has parts."""
    match path:
        case algebra.Link(iri):
            return to_ntriples(iri)
        case algebra.Inverse(inner):
            return f"^({path_text(inner)})"
        case algebra.PathSequence(first, second):
            return f"({path_text(first)}/{path_text(second)})"
        case algebra.PathAlternative(left, right):
            return f"({path_text(left)}|{path_text(right)})"
        case algebra.Repeat(inner, at_least_one, unbounded):
            return f"({path_text(inner)}){'?' if not unbounded else '+' if at_least_one else '*'}"
        case algebra.NegatedSet(forward, backward):
            return f"!({'|'.join([*map(to_ntriples, forward), *('^' + to_ntriples(iri) for iri in backward)])})"
        case _:
            assert_never(path)
