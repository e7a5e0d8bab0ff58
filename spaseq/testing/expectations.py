"""The rows that a test file states: those of the graph `s:rows`, and the graphs that are an `s:Graph`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparql_gpm.terms import IRI, RDF, Literal, Term, to_ntriples
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError
from spaseq.inputs.terms import nanoseconds
from spaseq.outputs.provenance import PROV
from spaseq.outputs.trig import STEP, VARIABLE, VOCABULARY
from spaseq.testing.differences import GRAPH, START, TIME, Cell, Expected, graph_cell, step_column
from spaseq.testing.document import Document, Triple, to_name

ROWS = VOCABULARY + "rows"
"""The graph of the rows that SELECT queries are expected to give."""
_TIMES = {PROV + "startedAtTime": START, PROV + "endedAtTime": TIME, PROV + "generatedAtTime": TIME}
_IGNORED = {RDF + "type", VOCABULARY + "query", PROV + "wasDerivedFrom"}


def expected_of(document: Document, queries: Sequence[TemporalQuery]) -> tuple[tuple[Expected, ...], set[str]]:
    """The rows that the test expects, and the graphs that state them. Raises InputError for what no query gives."""
    rows = [_row(document, node, ROWS, queries) for node in document.subjects(ROWS)]
    about = (node for node in document.subjects("") if _is_graph(document, node))
    graphs = [(node, _row(document, node, "", queries)) for node in about]
    stated = [
        Expected(row.query, {**row.cells, GRAPH: graph_cell(document.graphs.get(to_name(node), ()))})
        for node, row in graphs
    ]
    return (*rows, *stated), {to_name(node) for node, _ in graphs}


def _is_graph(document: Document, node: Term) -> bool:
    return IRI(VOCABULARY + "Graph") in document.values(node, RDF + "type")


def _row(document: Document, node: Term, graph: str, queries: Sequence[TemporalQuery]) -> Expected:
    query = _query_of(document, node, graph, queries)
    cells = dict(_cells(document, [each for each in document.graphs[graph] if each[0] == node], graph, query))
    return Expected(query.name, cells)


def _query_of(document: Document, node: Term, graph: str, queries: Sequence[TemporalQuery]) -> TemporalQuery:
    """The query of a row; the one that there is, if the row says nothing."""
    selecting = [each for each in queries if (each.template is None) == (graph == ROWS)]
    stated = document.own(node, "query", graph)
    known = ", ".join(each.name for each in selecting) or "none"
    kind = "SELECT" if graph == ROWS else "CONSTRUCT"
    if not stated and len(selecting) == 1:
        return selecting[0]
    if not stated:
        reason = f"no {kind} query is tested" if not selecting else "a row has to name its query"
        raise InputError(f"{document.path}: {reason}", hint=f's:query "NAME"; {kind} queries: {known}')
    for each in selecting:
        if stated == [Literal(each.name)]:
            return each
    shown = ", ".join(map(to_ntriples, stated))
    raise InputError(f"{document.path}: a row is of the {kind} query {shown}, which is not tested", hint=known)


def _cells(
    document: Document, triples: Sequence[Triple], graph: str, query: TemporalQuery
) -> Iterator[tuple[str, Cell]]:
    """The cells that the triples about a row state."""
    names = {column.name for column in query.columns}
    steps = _steps(query)
    seen: set[str] = set()
    for _, predicate, value in triples:
        name = predicate.value if isinstance(predicate, IRI) else ""
        if name in _IGNORED:
            continue
        if name in seen:
            raise InputError(f"{document.path}: a row has two values of <{name}>", hint="write two rows, or one list")
        seen.add(name)
        if name in _TIMES:
            yield _TIMES[name], nanoseconds(value if isinstance(value, Literal) else to_ntriples(value))
        elif name.startswith(STEP):
            step = _known(document, name.removeprefix(STEP), steps, f"query '{query.name}' has no step")
            yield step_column(step), tuple(to_name(each) for each in document.members(value, graph))
        elif name.startswith(VARIABLE):
            yield (
                "?" + _known(document, name.removeprefix(VARIABLE), names, f"query '{query.name}' selects no ?"),
                value,
            )
        else:
            hint = f"variables are <{VARIABLE}…>, steps <{STEP}…>, times prov:startedAtTime and prov:endedAtTime"
            raise InputError(f"{document.path}: <{name}> is nothing that a row has", hint=hint)


def _known(document: Document, name: str, known: set[str], fault: str) -> str:
    if name not in known:
        space = "" if fault.endswith("?") else " "
        raise InputError(f"{document.path}: {fault}{space}{name}", hint=f"it has {', '.join(sorted(known)) or 'none'}")
    return name


def _steps(query: TemporalQuery) -> set[str]:
    """The names of the steps; the last pattern is no step if it is that of USING."""
    return {pattern.name for pattern in query.patterns[: len(query.patterns) - (query.using is not None)]}
