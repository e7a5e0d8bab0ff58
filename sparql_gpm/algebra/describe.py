"""The plan of a pattern as indented text, for `explain`: scans, joins, filters, knowledge bases."""

from __future__ import annotations

from collections.abc import Iterator

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.expression_text import ExpressionWriter
from sparql_gpm.algebra.parts import node_text, triple_text
from sparql_gpm.algebra.rewrite import conjuncts, push_filters
from sparql_gpm.algebra.traversal import children
from sparql_gpm.algebra.triple_terms import statements
from sparql_gpm.pattern import Pattern, Variable


def describe(pattern: Pattern) -> str:
    """The steps of matching the pattern, one a line, the inputs of a step indented below it."""
    return "\n".join(_lines(push_filters(pattern)))


def _lines(pattern: Pattern) -> Iterator[str]:
    if not isinstance(pattern, algebra.BGP | algebra.Join | algebra.Filter):
        yield _title(pattern)
        for child in children(pattern):
            yield from _indented(_lines(child))
        return
    inputs = list(_inputs(pattern))
    if len(inputs) == 1:
        yield from inputs[0]
        return
    yield "join, smallest first, on event and shared variables" if inputs else "one empty solution"
    for lines in inputs:
        yield from _indented(lines)


def _indented(lines: Iterator[str] | list[str]) -> Iterator[str]:
    return ("  " + line for line in lines)


def _title(pattern: Pattern) -> str:
    match pattern:
        case algebra.LeftJoin(_, _, condition):
            return "optional" + (f" if {expression_text(condition)}" if condition else "")
        case algebra.Extend(_, variable, expression):
            return f"bind ?{variable} = {expression_text(expression)}"
        case algebra.Values(variables, rows):
            return f"values {' '.join('?' + v for v in variables)}, {len(rows)} rows"
        case algebra.EventData(graph, time):
            parts = (("graph name", graph), ("time", time))
            return "event: " + ", ".join(f"{part} as ?{variable}" for part, variable in parts if variable)
        case algebra.Graph(name):
            return ("every knowledge base as " if isinstance(name, Variable) else "knowledge base ") + node_text(name)
        case algebra.Service(endpoint, _, silent):
            return f"service {node_text(endpoint)}{' silent' if silent else ''}"
        case algebra.Group(_, keys, aggregates):
            by = ", ".join(f"?{name} = {expression_text(key)}" for name, key in keys) or "nothing"
            return f"group by {by}: " + ", ".join(expression_text(aggregate) for _, aggregate in aggregates)
        case algebra.OrderBy(_, order):
            return "order by " + ", ".join(expression_text(key) + " descending" * falls for key, falls in order)
        case algebra.Project(_, variables):
            return "project " + " ".join("?" + variable for variable in variables)
        case algebra.Slice(_, offset, limit):
            return f"rows from {offset}" + ("" if limit is None else f", at most {limit}")
        case _:  # union, minus, distinct
            return type(pattern).__name__.lower()


def _inputs(pattern: Pattern) -> Iterator[list[str]]:
    match pattern:
        case algebra.BGP(triples):
            for triple, terms in statements(triples):
                scan = "path" if isinstance(triple, algebra.PathTriple) else "scan"
                yield [f"{scan} {triple_text(triple, terms)}"]
        case algebra.Join(left, right):
            yield from _inputs(left)
            yield from _inputs(right)
        case algebra.Filter(condition, inner):
            yield from _inputs(inner)
            for conjunct in conjuncts(condition):
                yield [f"filter {expression_text(conjunct)}"]
        case _:
            yield list(_lines(pattern))


def _variable(name: str) -> str:
    return f"?{name}"


expression_text = ExpressionWriter(
    _variable, lambda pattern: "; ".join(map(str.strip, _lines(push_filters(pattern))))
).text
"""An expression in SPARQL's syntax; the pattern of an EXISTS on one line."""
