"""Scalar evaluation: expressions on terms, one solution at a time, with the error logic of SPARQL 1.1, Section 17."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from arrays.comparison import ARITHMETIC, COMPARISONS, CONNECTIVES, ERROR, TRUE
from sparql_gpm.algebra.rewrite import equalities
from sparql_gpm.durations import calculate_terms
from sparql_gpm.errors import ExpressionError
from sparql_gpm.expressions.functions_casts import CASTS
from sparql_gpm.expressions.functions_strings import STRING_FUNCTIONS, plain
from sparql_gpm.expressions.functions_terms import TERM_FUNCTIONS
from sparql_gpm.expressions.values import boolean, compare, effective_boolean_value, truth_of
from sparql_gpm.numeric import Number, NumericType, calculate, number, numeric_literal
from sparql_gpm.pattern import FALSE as FALSE_TERM
from sparql_gpm.pattern import Call, Cast, Constant, Expression, Variable
from sparql_gpm.terms import IRI, XSD, BlankNode, Literal, Term

_FUNCTIONS = STRING_FUNCTIONS | TERM_FUNCTIONS


def current_time() -> Literal:
    """Now, in UTC, as an xsd:dateTime."""
    return Literal(datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"), XSD + "dateTime")


@dataclass(slots=True)
class Solution:
    """The context of one evaluation.

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
    except (ExpressionError, ArithmeticError, ValueError):
        return None


def _call(name: str, arguments: tuple[Expression, ...], solution: Solution) -> Term:
    match name:
        case "&&" | "||":
            return _connected(name, arguments, solution)
        case "!":
            return boolean(not _truth(arguments[0], solution))
        case "IF":
            return evaluate_term(arguments[1 if _truth(arguments[0], solution) else 2], solution)
        case "COALESCE":
            return _coalesce(arguments, solution)
        case "BOUND":
            assert isinstance(arguments[0], Variable), arguments
            return boolean(solution.value(arguments[0].name) is not None)
        case "IN":
            return _connected("||", equalities(Call(name, arguments)), solution)
        case "NOTIN":
            return boolean(_connected("||", equalities(Call(name, arguments)), solution) == FALSE_TERM)
    terms = [evaluate_term(argument, solution) for argument in arguments]
    if name in COMPARISONS:
        return boolean(compare(name, *terms))
    if name[0] in ARITHMETIC:
        return _chained(name.split(), terms)
    return _FUNCTIONS[name](*terms) if name in _FUNCTIONS else _fresh(name, terms, solution)


def _chained(operators: Sequence[str], terms: Sequence[Term]) -> Term:
    """`+ - * /` from left to right."""
    numbers = [value for term in terms if (value := number(term)) is not None]
    if len(numbers) == len(terms):
        total = numbers[0]
        for operator, value in zip(operators, numbers[1:], strict=True):
            total = calculate(operator, total, value)
        return numeric_literal(total)
    result = terms[0]
    for operator, term in zip(operators, terms[1:], strict=True):
        result = calculate_terms(operator, result, term)
    return result


def _fresh(name: str, terms: list[Term], solution: Solution) -> Term:
    match name:
        case "NOW":
            return solution.now
        case "RAND":
            return numeric_literal(Number(NumericType.DOUBLE, solution.random.random()))
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
    return effective_boolean_value(evaluate_term(expression, solution))


def _connected(name: str, operands: Iterable[Expression], solution: Solution) -> Term:
    """`&&` or `||` of any number of operands; an error in one does not matter if another decides (Section 17.2)."""
    connect, decisive = CONNECTIVES[name]
    found = 1 - decisive
    for operand in operands:
        found = connect(found, truth_of(evaluate_or_none(operand, solution)))
        if found == decisive:
            break
    if found == ERROR:
        raise ExpressionError("an operand has no truth")
    return boolean(found == TRUE)


def _coalesce(arguments: tuple[Expression, ...], solution: Solution) -> Term:
    for argument in arguments:
        value = evaluate_or_none(argument, solution)
        if value is not None:
            return value
    raise ExpressionError("every operand of COALESCE is an error")
