"""Patterns of the algebra as SPARQL text, for endpoints; of SPARQL 1.2 only where they have triple terms.

Blank nodes of a pattern become variables with names of their own, and every part but plain triples gets braces, so that
filters have the scope that they have in the algebra.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import assert_never

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.expression_text import ExpressionWriter, path_text
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.algebra.triple_terms import statements, with_terms
from sparql_gpm.pattern import Expression, Node, Pattern, Variable
from sparql_gpm.terms import IRI, Literal, Term, TripleTerm, to_ntriples

_NO_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_OTHER = re.compile("[^A-Za-z0-9]")


def select_text(variables: Sequence[str], body: str, limit: int | None = None) -> str:
    """A SELECT of these variables from a group."""
    named = " ".join(f"?{v}" for v in variables) or "*"
    return f"SELECT {named} WHERE {{ {body} }}" + ("" if limit is None else f" LIMIT {limit}")


def values_text(variables: Sequence[str], rows: Sequence[str]) -> str:
    """A VALUES block of rows that are texts of terms, separated by blanks."""
    named = " ".join(f"?{v}" for v in variables)
    return f"VALUES ({named}) {{ ({') ('.join(rows)}) }}"


def key_text(term: Term) -> str | None:
    """The text of a term in SPARQL; None for what no endpoint has: blank nodes, and invalid IRIs."""
    match term:
        case IRI(value):
            return None if _NO_IRI.search(value) else f"<{value}>"
        case Literal():
            return to_ntriples(term)
        case TripleTerm(subject, predicate, target):
            parts = [text for part in (subject, predicate, target) if (text := key_text(part)) is not None]
            return f"<<( {' '.join(parts)} )>>" if len(parts) == len("spo") else None
        case _:
            return None


class SparqlWriter:
    """Writes one query's patterns; the blank nodes of each basic graph pattern are its own."""

    def __init__(self) -> None:
        self._patterns = itertools.count()
        self.expression = ExpressionWriter(_hidden, self.group).text

    def group(self, pattern: Pattern) -> str:
        """The text between the braces of a group."""
        return " ".join(self._parts(pattern))

    def _braced(self, pattern: Pattern) -> str:
        return f"{{ {self.group(pattern)} }}"

    def _inside(self, pattern: Pattern) -> str:
        """The pattern as one part of a group: triples as they are, all else in braces."""
        return self.group(pattern) if isinstance(pattern, algebra.BGP | algebra.Values) else self._braced(pattern)

    def _parts(self, pattern: Pattern) -> Iterator[str]:
        match pattern:
            case algebra.BGP():
                yield from self._triples(pattern)
            case algebra.Join(left, right):
                yield from (self._inside(left), self._inside(right))
            case algebra.LeftJoin(left, right, condition):
                kept = "" if condition is None else f" FILTER ({self.expression(condition)})"
                yield f"{self._inside(left)} OPTIONAL {{ {self._inside(right)}{kept} }}"
            case algebra.Union(left, right):
                yield f"{self._braced(left)} UNION {self._braced(right)}"
            case algebra.Minus(left, right):
                yield f"{self._inside(left)} MINUS {self._braced(right)}"
            case algebra.Filter(condition, inner):
                yield f"{self._inside(inner)} FILTER ({self.expression(condition)})"
            case algebra.Extend(inner, variable, expression):
                yield f"{self._inside(inner)} BIND ({self.expression(expression)} AS ?{variable})"
            case algebra.Values(variables, rows):
                texts = [" ".join("UNDEF" if term is None else to_ntriples(term) for term in row) for row in rows]
                yield values_text(variables, texts) if rows else f"{values_text(variables, ())} FILTER (false)"
            case algebra.Graph(name, inner):
                yield f"GRAPH {_node(name, 0)} {self._braced(inner)}"
            case algebra.Service(endpoint, inner, silent):
                yield f"SERVICE {'SILENT ' if silent else ''}{_node(endpoint, 0)} {self._braced(inner)}"
            case algebra.Group() | algebra.OrderBy() | algebra.Project() | algebra.Distinct() | algebra.Slice():
                yield f"{{ {self._subquery(pattern)} }}"
            case algebra.EventData():
                raise AssertionError("no pattern over a knowledge base reads the event")
            case _:
                assert_never(pattern)

    def _subquery(self, pattern: algebra.Modifier) -> str:
        body = self._braced(pattern.inner)
        everything = " ".join(f"?{v}" for v in sorted(in_scope(pattern))) or "*"
        match pattern:
            case algebra.Group(_, keys, aggregates):
                named = [f"?{name}" for name, _ in keys]
                named += [f"({self.expression(value)} AS {_hidden(name)})" for name, value in aggregates]
                by = " ".join(self._group_key(name, key) for name, key in keys)
                return f"SELECT {' '.join(named)} WHERE {body}" + (f" GROUP BY {by}" if by else "")
            case algebra.OrderBy():
                return f"SELECT {everything} WHERE {body} {self._order(pattern)}"
            case algebra.Project(_, variables):
                return f"SELECT {' '.join(f'?{v}' for v in variables)} WHERE {body}"
            case algebra.Distinct():
                return f"SELECT DISTINCT {everything} WHERE {body}"
            case algebra.Slice(inner, offset, limit):
                order = ""
                if isinstance(inner, algebra.OrderBy):
                    order, body = " " + self._order(inner), self._braced(inner.inner)
                end = "" if limit is None else f" LIMIT {limit}"
                return f"SELECT {everything} WHERE {body}{order} OFFSET {offset}{end}"
            case _:
                assert_never(pattern)

    def _group_key(self, name: str, key: Expression) -> str:
        return f"?{name}" if key == Variable(name) else f"({self.expression(key)} AS ?{name})"

    def _order(self, pattern: algebra.OrderBy) -> str:
        keys = (f"{'DESC' if descending else 'ASC'}({self.expression(key)})" for key, descending in pattern.keys)
        return "ORDER BY " + " ".join(keys) if pattern.keys else ""

    def _triples(self, pattern: algebra.BGP) -> Iterator[str]:
        number = next(self._patterns)
        for triple, terms in statements(pattern.triples):
            node = with_terms(lambda each: _node(each, number), terms)
            middle = node(triple.predicate) if isinstance(triple, algebra.Triple) else path_text(triple.path)
            yield f"{node(triple.subject)} {middle} {node(triple.object)} ."
            visible = (parts.term for parts in terms if not parts.term.name.startswith("_:"))
            yield from (f"BIND ({node(term)} AS ?{term.name})" for term in visible)


def _node(node: Node, pattern: int) -> str:
    if not isinstance(node, Variable):
        return to_ntriples(node)
    label = node.name.removeprefix("_:")
    return f"?{label}" if label == node.name else f"?_b{pattern}_{_OTHER.sub(_number, label)}"


def _number(character: re.Match[str]) -> str:
    """A character of a label that a name of a variable may not have, so that no two labels become one name."""
    return f"_{ord(character[0]):x}_"


def _hidden(name: str) -> str:
    """A variable; the hidden ones of aggregates get a name that SPARQL allows."""
    return f"?_a_{name[2:]}" if name.startswith("_:") else f"?{name}"
