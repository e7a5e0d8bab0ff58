"""Result rows: one value per match, and its line of NDJSON (specification 3.5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sparql_gpm.terms import IRI, XSD_STRING, BlankNode, Literal, Term, TripleTerm, to_ntriples
from sparql_gpm.times import format_time

if TYPE_CHECKING:
    from sparql_gpm.python_values import PythonValue

RowTriple = tuple[Term, Term, Term]
StepEvents = tuple[tuple[str, tuple[str, ...]], ...]
"""The names of the steps that a match took, each with the graph names of its events in order."""
quoted: Callable[[str], str] = json.encoder.encode_basestring
"""A string of JSON, in which characters beyond ASCII are not escaped; written in C."""

time_text = lru_cache(maxsize=1024)(format_time)
"""`format_time`; the matches of one event share its time, and many of them their start."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One match, projected; equal to a row with the same values, `trigger` aside.

    query       the name of the query
    time, start of the last and of the first event, nanoseconds since the epoch, UTC
    bindings    (variable, term) in the order of the projection; an unbound variable is absent
    events      (step name, graph names of its events in order), one pair per step that was taken
    graph       CONSTRUCT: the name of the graph, without brackets; None for SELECT
    triples     CONSTRUCT: the graph, in any order
    trigger     CONSTRUCT: the position of the last event, for derived streams
    """

    query: str
    time: int
    start: int
    bindings: tuple[tuple[str, Term], ...] = ()
    events: StepEvents = ()
    graph: str | None = None
    triples: tuple[RowTriple, ...] = ()
    trigger: int = field(default=-1, repr=False)

    def __getitem__(self, variable: str) -> Term:
        """The term a variable is bound to; KeyError where it is unbound or not projected."""
        return dict(self.bindings)[variable]

    def values(self) -> tuple[PythonValue, ...]:
        """The values of the bound variables: int, Decimal, float, bool, datetime, date, str, else the term."""
        return tuple(self.to_dict().values())

    def to_dict(self) -> dict[str, PythonValue]:
        """Of each bound variable its value, as `values` has it."""
        from sparql_gpm.python_values import python_value

        return {name: python_value(term) for name, term in self.bindings}

    def __str__(self) -> str:
        """The row as its line of NDJSON."""
        return to_json(self)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, Row) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self) -> tuple[Any, ...]:
        return self.query, self.time, self.start, self.bindings, self.events, self.graph, self.triples


def to_json(row: Row) -> str:
    """The row as one line of JSON without the line end; characters beyond ASCII stay readable.

    Written piece by piece: rows are many, and this takes little more than half the time of `json.dumps`.
    """
    if row.graph is None:
        bindings = ", ".join([f"{quoted(variable)}: {term_json(term)}" for variable, term in row.bindings])
        result = f'"bindings": {{{bindings}}}'
    else:
        triples = ", ".join(map(quoted, ntriples_lines(row.triples)))
        result = f'"graph": {quoted(row.graph)}, "triples": [{triples}]'
    events = ", ".join([f"{quoted(step)}: [{', '.join(map(quoted, names))}]" for step, names in row.events])
    return (
        f'{{"query": {quoted(row.query)}, "time": "{time_text(row.time)}", "start": "{time_text(row.start)}", '
        f'{result}, "events": {{{events}}}}}'
    )


def term_json(term: Term) -> str:
    """A term as in SPARQL 1.2 Query Results JSON; the datatype of plain and language strings is left out."""
    match term:
        case IRI(value):
            return f'{{"type": "uri", "value": {quoted(value)}}}'
        case BlankNode(label):
            return f'{{"type": "bnode", "value": {quoted(label)}}}'
        case TripleTerm():
            parts = (("subject", term.subject), ("predicate", term.predicate), ("object", term.object))
            inside = ", ".join(f'"{place}": {term_json(part)}' for place, part in parts)
            return f'{{"type": "triple", "value": {{{inside}}}}}'
        case Literal(lexical, datatype, language, direction):
            tail = ""
            if language:
                tail = f', "xml:lang": {quoted(language)}' + (f', "its:dir": "{direction}"' if direction else "")
            elif datatype != XSD_STRING:
                tail = f', "datatype": {quoted(datatype)}'
            return f'{{"type": "literal", "value": {quoted(lexical)}{tail}}}'


def ntriples_lines(triples: Iterable[RowTriple]) -> list[str]:
    """The distinct triples as lines of N-Triples, sorted, without line ends."""
    return sorted({f"{to_ntriples(s)} {to_ntriples(p)} {to_ntriples(o)} ." for s, p, o in triples})


def bare(term: Term) -> str:
    """A term as in SPARQL 1.1 Query Results CSV: without brackets, quotes, datatype or language.

    A triple term is its N-Triples text: without brackets and quotes its parts could not be told apart.
    """
    match term:
        case IRI(value):
            return value
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical):
            return lexical
        case TripleTerm():
            return to_ntriples(term)
