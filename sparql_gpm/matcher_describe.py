"""The plan of a pattern as indented text, for `explain`: scans, joins, filters, knowledge bases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from sparql_gpm.matcher_rewrite import conjuncts, push_filters
from sparql_gpm.pattern import (
    BGP,
    Aggregate,
    Call,
    Cast,
    Constant,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Iteration,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    Node,
    OrderBy,
    Path,
    PathAlternative,
    PathSequence,
    PathTriple,
    Pattern,
    Project,
    Repeat,
    Service,
    Slice,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import to_ntriples

_INDENT = "  "
_INFIX = frozenset({"=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "&&", "||"})
_PREFIX = {"!": "!", "NEG": "-", "POS": "+"}
_LISTS = {"IN": "IN", "NOTIN": "NOT IN"}


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


def path_text(path: Path) -> str:
    """A path in SPARQL's syntax, with parentheses wherever it has parts."""
    match path:
        case Link(iri):
            return to_ntriples(iri)
        case Inverse(inner):
            return f"^({path_text(inner)})"
        case PathSequence(first, second):
            return f"({path_text(first)}/{path_text(second)})"
        case PathAlternative(left, right):
            return f"({path_text(left)}|{path_text(right)})"
        case Repeat(inner, at_least_one, unbounded):
            return f"({path_text(inner)}){'?' if not unbounded else '+' if at_least_one else '*'}"
        case NegatedSet(forward, backward):
            return (
                f"!({'|'.join([to_ntriples(iri) for iri in forward] + ['^' + to_ntriples(iri) for iri in backward])})"
            )
        case _:
            assert_never(path)


def expression_text(expression: Expression) -> str:
    """An expression in SPARQL's syntax; the pattern of an EXISTS on one line."""
    match expression:
        case Variable(name):
            return f"?{name}"
        case Constant(term):
            return to_ntriples(term)
        case Call(name, (left, right)) if name in _INFIX:
            return f"({expression_text(left)} {name} {expression_text(right)})"
        case Call(name, (only,)) if name in _PREFIX:
            return f"{_PREFIX[name]}{expression_text(only)}"
        case Call(name, (first, *others)) if name in _LISTS:
            return f"({expression_text(first)} {_LISTS[name]} ({', '.join(map(expression_text, others))}))"
        case Call(name, arguments):
            return f"{name}({', '.join(map(expression_text, arguments))})"
        case Cast(iri, arguments):
            return f"<{iri}>({', '.join(map(expression_text, arguments))})"
        case Exists(pattern, negated):
            return f"{'NOT ' if negated else ''}EXISTS {{ {'; '.join(map(str.strip, _lines(push_filters(pattern))))} }}"
        case Aggregate(name, argument, distinct):
            return f"{name}({'DISTINCT ' if distinct else ''}{'*' if argument is None else expression_text(argument)})"
        case Iteration(name, variable):
            return f"{name}(?{variable})"
        case _:
            assert_never(expression)
