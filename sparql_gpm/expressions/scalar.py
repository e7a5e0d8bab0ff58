"""Expressions on terms, one solution at a time, with the error logic of SPARQL 1.1, Section 17."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sparql_gpm.expressions.functions_casts import CASTS
from sparql_gpm.expressions.functions_strings import STRING_FUNCTIONS, plain
from sparql_gpm.expressions.functions_terms import TERM_FUNCTIONS
from sparql_gpm.expressions.values import (
    ExpressionError,
    Kind,
    Number,
    boolean,
    calculate,
    compare,
    numeric_literal,
    require_number,
    truth,
)
from sparql_gpm.pattern import Call, Cast, Constant, Expression, Variable
from sparql_gpm.terms import IRI, XSD, BlankNode, Literal, Term

VOLATILE = frozenset(("RAND", "UUID", "STRUUID", "BNODE"))
"""Functions with a value of their own in every solution."""

_FUNCTIONS = STRING_FUNCTIONS | TERM_FUNCTIONS
_COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">="))
_ARITHMETIC = frozenset("+-*/")


def current_time() -> Literal:
    """Now, in UTC, as an xsd:dateTime."""
    return Literal(datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"), XSD + "dateTime")


@dataclass(slots=True)
class Solution:
    """What one evaluation sees.

    value   the term of a variable, None where it is unbound
    now     the value of NOW()
    labels  the blank nodes that BNODE("…") has made for this solution
    """

    value: Callable[[str], Term | None]
    now: Literal
    random: random.Random
    labels: dict[str, BlankNode] = field(default_factory=dict)


def evaluate_term(expression: Expression, solution: Solution) -> Term:
    """The value of an expression of variables, constants, calls and casts; ExpressionError where it has none."""
    match expression:
        case Variable(name):
            term = solution.value(name)
            if term is None:
                raise ExpressionError(f"?{name} is unbound")
            return term
        case Constant(term):
            return term
        case Cast(iri, arguments):
            if iri not in CASTS or len(arguments) != 1:
                raise ExpressionError(f"the function <{iri}> is not known")
            return CASTS[iri](evaluate_term(arguments[0], solution))
        case Call(name, arguments):
            return _call(name, arguments, solution)
    raise AssertionError(expression)


def evaluate_or_none(expression: Expression, solution: Solution) -> Term | None:
    """The value of an expression, None for an error."""
    try:
        return evaluate_term(expression, solution)
    except (ExpressionError, ArithmeticError, ValueError, RecursionError):
        return None


def _call(name: str, arguments: tuple[Expression, ...], solution: Solution) -> Term:
    match name:
        case "&&" | "||":
            return boolean(_logical(arguments, solution, decided_by=name == "||"))
        case "!":
            return boolean(not _truth(arguments[0], solution))
        case "IF":
            return evaluate_term(arguments[1 if _truth(arguments[0], solution) else 2], solution)
        case "COALESCE":
            return _coalesce(arguments, solution)
        case "BOUND":
            return boolean(_is_bound(arguments[0], solution))
        case "IN":
            return boolean(_is_in(arguments, solution))
        case "NOTIN":
            return boolean(not _is_in(arguments, solution))
    terms = [evaluate_term(argument, solution) for argument in arguments]
    if name in _COMPARISONS:
        return boolean(compare(name, *terms))
    if name in _ARITHMETIC:
        return numeric_literal(calculate(name, require_number(terms[0]), require_number(terms[1])))
    return _FUNCTIONS[name](*terms) if name in _FUNCTIONS else _fresh(name, terms, solution)


def _fresh(name: str, terms: list[Term], solution: Solution) -> Term:
    match name:
        case "NOW":
            return solution.now
        case "RAND":
            return numeric_literal(Number(Kind.DOUBLE, solution.random.random()))
        case "UUID":
            return IRI(f"urn:uuid:{_uuid(solution)}")
        case "STRUUID":
            return Literal(_uuid(solution))
        case "BNODE" if not terms:
            return BlankNode(f"f{_uuid(solution).replace('-', '')}")
        case "BNODE":
            return solution.labels.setdefault(plain(terms[0]), BlankNode(f"f{_uuid(solution).replace('-', '')}"))
    raise ExpressionError(f"the function {name} is not known")


def _uuid(solution: Solution) -> str:
    return str(uuid.UUID(int=solution.random.getrandbits(128), version=4))


def _truth(expression: Expression, solution: Solution) -> bool:
    return truth(evaluate_term(expression, solution))


def _logical(arguments: tuple[Expression, ...], solution: Solution, decided_by: bool) -> bool:
    """`||` is decided by a true operand and `&&` by a false one, whatever error the others are (Section 17.2)."""
    error: ExpressionError | None = None
    for argument in arguments:
        try:
            if _truth(argument, solution) == decided_by:
                return decided_by
        except (ExpressionError, ArithmeticError, ValueError) as found:
            error = found if isinstance(found, ExpressionError) else ExpressionError(str(found))
    if error is not None:
        raise error
    return not decided_by


def _coalesce(arguments: tuple[Expression, ...], solution: Solution) -> Term:
    for argument in arguments:
        value = evaluate_or_none(argument, solution)
        if value is not None:
            return value
    raise ExpressionError("COALESCE of nothing but errors")


def _is_bound(argument: Expression, solution: Solution) -> bool:
    assert isinstance(argument, Variable), argument
    return solution.value(argument.name) is not None


def _is_in(arguments: tuple[Expression, ...], solution: Solution) -> bool:
    """`x IN (a, b)` is `x = a || x = b`, and false for no choice at all."""
    choices = tuple(Call("=", (arguments[0], choice)) for choice in arguments[1:])
    return _logical(choices, solution, decided_by=True)
