"""Rows as TriG, one named graph with its time per row: a stream that can be read again.

A row of a CONSTRUCT query is its graph. A row of a SELECT query is a graph about one blank node:

    <urn:spaseq:match:Q1:0> prov:generatedAtTime "2026-01-01T00:00:20Z"^^xsd:dateTime .
    <urn:spaseq:match:Q1:0> {
      [ a <urn:spaseq:vocabulary:Match> ;
        <urn:spaseq:vocabulary:query> "Q1" ;
        prov:startedAtTime "2026-01-01T00:00:10Z"^^xsd:dateTime ;
        prov:endedAtTime "2026-01-01T00:00:20Z"^^xsd:dateTime ;
        <urn:spaseq:variable:house> <http://example.org/H1> ;     one property per bound variable
        <urn:spaseq:step:B> ( <urn:e2> <urn:e3> ) ;               one list per step, in order
        prov:wasDerivedFrom <urn:e2> , <urn:e3> ] .               every event of the match; of a group nothing
    }

The number at the end counts the rows of a query from 0. Provenance of a graph of CONSTRUCT stands right after it, in
the default graph: a reader of the stream counts these statements as left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from sparql_gpm.terms import IRI, XSD, Literal, to_ntriples
from spaseq.outputs.destination import Output
from spaseq.outputs.provenance import PROV, row_statements
from spaseq.outputs.rows import Row, ntriples_lines, time_text
from spaseq.outputs.sink import Columns, TextSink

VOCABULARY = "urn:spaseq:vocabulary:"
VARIABLE = "urn:spaseq:variable:"
STEP = "urn:spaseq:step:"


class TrigSink(TextSink):
    """One named graph per row; its time stands in the default graph, right before it."""

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        self._rows: Counter[str] = Counter()

    def text(self, rows: Sequence[Row]) -> str:
        """The graphs."""
        return "".join(map(self._block, rows))

    def _block(self, row: Row) -> str:
        if row.graph is not None:
            return named_graph(row.graph, row.time, ntriples_lines(row.triples)) + self._provenance(row)
        number = self._rows[row.query]
        self._rows[row.query] += 1
        statement = "[ " + " ;\n    ".join(_properties(row)) + " ] ."
        name = quote(row.query, safe="", errors="surrogatepass")
        return named_graph(f"urn:spaseq:match:{name}:{number}", row.time, [statement])

    def _provenance(self, row: Row) -> str:
        """Lines about the graph of a row, where they are asked for."""
        return "".join(f"{statement}\n" for statement in row_statements(row)) if self._columns.provenance else ""


def named_graph(name: str, time: int, statements: Sequence[str]) -> str:
    """A named graph with its time right before it."""
    body = "".join(f"  {statement}\n" for statement in statements)
    return f"{time_statement(name, time)}\n{to_ntriples(IRI(name))} {{\n{body}}}\n"


def time_statement(name: str, time: int) -> str:
    """The statement about the name of a graph that gives its time."""
    return f"{to_ntriples(IRI(name))} <{PROV}generatedAtTime> {_date_time(time)} ."


def _properties(row: Row) -> Iterator[str]:
    yield f"a <{VOCABULARY}Match>"
    yield f"<{VOCABULARY}query> {to_ntriples(Literal(row.query))}"
    yield f"<{PROV}startedAtTime> {_date_time(row.start)}"
    yield f"<{PROV}endedAtTime> {_date_time(row.time)}"
    for variable, term in row.bindings:
        yield f"{to_ntriples(IRI(VARIABLE + variable))} {to_ntriples(term)}"
    for step, names in row.events:
        yield f"{to_ntriples(IRI(STEP + step))} ( {' '.join(to_ntriples(IRI(name)) for name in names)} )"
    if events := dict.fromkeys(to_ntriples(IRI(name)) for _, names in row.events for name in names):
        yield f"<{PROV}wasDerivedFrom> {' , '.join(events)}"


def _date_time(time: int) -> str:
    return to_ntriples(Literal(time_text(time), XSD + "dateTime"))
