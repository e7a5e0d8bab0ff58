"""substitute(P, μ) of SPARQL 1.1, 18.6: a pattern with bound variables replaced by their terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sparql_gpm.pattern import (
    BGP,
    Aggregate,
    Call,
    Cast,
    Constant,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Node,
    PathTriple,
    Pattern,
    Project,
    TermParts,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import IRI, Term


def substitute(pattern: Pattern, mu: Mapping[str, Term]) -> Pattern:
    """The pattern with every variable that μ binds replaced; a subquery only in what it projects."""
    match pattern:
        case BGP(triples):
            return BGP(tuple(_triple(triple, mu) for triple in triples))
        case Join(left, right):
            return Join(substitute(left, mu), substitute(right, mu))
        case LeftJoin(left, right, condition):
            inside = None if condition is None else _expression(condition, mu)
            return LeftJoin(substitute(left, mu), substitute(right, mu), inside)
        case Union(left, right):
            return Union(substitute(left, mu), substitute(right, mu))
        case Minus(left, right):
            return Minus(substitute(left, mu), substitute(right, mu))
        case Filter(condition, inner):
            return Filter(_expression(condition, mu), substitute(inner, mu))
        case Extend(inner, variable, expression):
            return Extend(substitute(inner, mu), variable, _expression(expression, mu))
        case Graph(name, inner):
            target = _node(name, mu)
            return Graph(target if isinstance(target, IRI | Variable) else name, substitute(inner, mu))
        case Values(variables):
            return Join(pattern, Values(variables, (tuple(mu.get(name) for name in variables),)))
        case Project(_, variables):
            return Join(pattern, Values(variables, (tuple(mu.get(name) for name in variables),)))
    return pattern


def _node(node: Node, mu: Mapping[str, Term]) -> Node:
    return mu.get(node.name, node) if isinstance(node, Variable) else node


def _triple(triple: Triple | PathTriple | TermParts, mu: Mapping[str, Term]) -> Triple | PathTriple | TermParts:
    subject, object_ = _node(triple.subject, mu), _node(triple.object, mu)
    if isinstance(triple, PathTriple):
        return PathTriple(subject, triple.path, object_)
    return replace(triple, subject=subject, predicate=_node(triple.predicate, mu), object=object_)


def _expression(expression: Expression, mu: Mapping[str, Term]) -> Expression:
    match expression:
        case Variable(name):
            return Constant(mu[name]) if name in mu else expression
        case Call(name, arguments):
            return Call(name, tuple(_expression(argument, mu) for argument in arguments))
        case Cast(iri, arguments):
            return Cast(iri, tuple(_expression(argument, mu) for argument in arguments))
        case Exists(pattern, negated):
            return Exists(substitute(pattern, mu), negated)
        case Aggregate(name, argument, distinct, separator) if argument is not None:
            return Aggregate(name, _expression(argument, mu), distinct, separator)
    return expression
