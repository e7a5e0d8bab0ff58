"""The plan of a pattern as indented text, for `explain`: scans, joins, filters, knowledge bases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from sparql_gpm.algebra.expression_text import ExpressionWriter, path_text
from sparql_gpm.algebra.rewrite import conjuncts, push_filters
from sparql_gpm.pattern import (
    BGP,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathTriple,
    Pattern,
    Project,
    Service,
    Slice,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import to_ntriples

_INDENT = "  "


def describe(pattern: Pattern) -> str:
    """How the pattern is matched, one part a line, what a part is made of indented below it."""
    return "\n".join(_lines(push_filters(pattern)))


def _below(pattern: Pattern) -> Iterator[str]:
    return (_INDENT + line for line in _lines(pattern))


def _lines(pattern: Pattern) -> Iterator[str]:
    match pattern:
        case BGP() | Join() | Filter():
            yield from _join_lines(pattern)
        case Union(left, right):
            yield from _titled("union", left, right)
        case Minus(left, right):
            yield from _titled("minus", left, right)
        case LeftJoin(left, right, condition):
            yield from _titled("optional" + (f" if {expression_text(condition)}" if condition else ""), left, right)
        case Extend(inner, variable, expression):
            yield from _titled(f"bind ?{variable} = {expression_text(expression)}", inner)
        case Values(variables, rows):
            yield f"values {' '.join('?' + v for v in variables)}, {len(rows)} rows"
        case Graph(name, inner):
            which = "every knowledge base as " if isinstance(name, Variable) else "knowledge base "
            yield from _titled(f"{which}{_node(name)}", inner)
        case Service(endpoint, inner, silent):
            yield from _titled(f"service {_node(endpoint)}{' silent' if silent else ''}", inner)
        case Group() | OrderBy() | Project() | Distinct() | Slice():
            yield from _titled(_modifier_title(pattern), pattern.inner)
        case _:
            assert_never(pattern)


def _titled(title: str, *parts: Pattern) -> Iterator[str]:
    yield title
    for part in parts:
        yield from _below(part)


def _modifier_title(pattern: Group | OrderBy | Project | Distinct | Slice) -> str:
    match pattern:
        case Group(_, keys, aggregates):
            by = ", ".join(f"?{name} = {expression_text(key)}" for name, key in keys) or "nothing"
            return f"group by {by}: " + ", ".join(expression_text(aggregate) for _, aggregate in aggregates)
        case OrderBy(_, keys):
            return "order by " + ", ".join(
                expression_text(key) + " descending" * descending for key, descending in keys
            )
        case Project(_, variables):
            return "project " + " ".join("?" + variable for variable in variables)
        case Distinct():
            return "distinct"
        case Slice(_, offset, limit):
            return f"rows from {offset}" + ("" if limit is None else f", at most {limit}")
        case _:
            assert_never(pattern)


def _join_lines(pattern: Pattern) -> Iterator[str]:
    inputs = list(_inputs(pattern))
    if len(inputs) == 1:
        yield inputs[0][0]
        yield from inputs[0][1:]
        return
    yield "join, smallest first, on event and shared variables" if inputs else "one empty solution"
    for lines in inputs:
        yield from (_INDENT + line for line in lines)


def _inputs(pattern: Pattern) -> Iterator[list[str]]:
    match pattern:
        case BGP(triples):
            for triple in triples:
                yield [_triple_line(triple)]
        case Join(left, right):
            yield from _inputs(left)
            yield from _inputs(right)
        case Filter(condition, inner):
            yield from _inputs(inner)
            for conjunct in conjuncts(condition):
                yield [f"filter {expression_text(conjunct)}"]
        case _:
            yield list(_lines(pattern))


def _triple_line(triple: Triple | PathTriple) -> str:
    subject, object_ = _node(triple.subject), _node(triple.object)
    if isinstance(triple, Triple):
        return f"scan {subject} {_node(triple.predicate)} {object_}"
    return f"path {subject} {path_text(triple.path)} {object_}"


def _node(node: Node) -> str:
    match node:
        case Variable(name):
            return name if name.startswith("_:") else f"?{name}"
        case _:
            return to_ntriples(node)


def _variable(name: str) -> str:
    return f"?{name}"


def _on_one_line(pattern: Pattern) -> str:
    return "; ".join(map(str.strip, _lines(push_filters(pattern))))


expression_text = ExpressionWriter(_variable, _on_one_line).text
"""An expression in SPARQL's syntax; the pattern of an EXISTS on one line."""
