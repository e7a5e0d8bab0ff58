"""The outcome of a test in words: rows that are missing and rows that are not expected, with the file's prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sparql_gpm.terms import DECIMAL_FORM, INTEGER_FORM, IRI, XSD, Literal, Term, TripleTerm, to_ntriples
from spaseq.outputs.provenance import PROV
from spaseq.outputs.rows import Row, time_text
from spaseq.outputs.trig import STEP, VARIABLE, VOCABULARY
from spaseq.testing.differences import GRAPH, START, TIME, Cell, Cells, Difference, cells_of
from spaseq.testing.running import Outcome

SHOWN_MAX = 20
"""Rows of each kind that a report shows."""
_LOCAL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?|")
_OWN = {"s": VOCABULARY, "var": VARIABLE, "step": STEP, "prov": PROV, "xsd": XSD}


def report(outcome: Outcome) -> str:
    """`ok` or `FAILED` with the path, and below it each difference: `-` before what is missing, `+` before the rest."""
    test = outcome.test
    if outcome.passed:
        return f"ok      {test.path}"
    lines = [f"FAILED  {test.path}"]
    if outcome.late != test.late:
        lines.append(f"  late events: {outcome.late}, expected {test.late}")
    for each in outcome.differences:
        lines += _difference(each, test.prefixes)
    return "\n".join(lines)


def rows_text(outcome: Outcome) -> str:
    """The rows that were found as a test file states them, to be read and copied into it."""
    prefixes = dict(outcome.test.prefixes)
    for prefix, namespace in _OWN.items():
        if namespace not in prefixes.values():
            prefixes.setdefault(prefix, namespace)
    several = len(outcome.rows) > 1
    selected = [row for rows in outcome.rows.values() for row in rows if row.graph is None]
    graphs = [row for rows in outcome.rows.values() for row in rows if row.graph is not None]
    stated = (" ;\n     ".join(_statements(row, prefixes, several)) for row in selected)
    body = "".join(f"  [] {row} .\n" for row in stated)
    text = f"{shown(IRI(VOCABULARY + 'rows'), prefixes)} {{\n{body}}}\n" if selected else ""
    return text + "".join(_graph(row, prefixes, several) for row in graphs)


def shown(term: Term, prefixes: Mapping[str, str]) -> str:
    """A term as Turtle with these prefixes."""
    match term:
        case IRI(value):
            for prefix, namespace in prefixes.items():
                if value.startswith(namespace) and _LOCAL.fullmatch(value.removeprefix(namespace)):
                    return f"{prefix}:{value.removeprefix(namespace)}"
        case Literal(lexical, datatype) if datatype == XSD + "integer" and INTEGER_FORM.fullmatch(lexical):
            return lexical
        case Literal(lexical, datatype) if datatype == XSD + "decimal" and _is_bare_decimal(lexical):
            return lexical
        case Literal("true" | "false" as lexical, datatype) if datatype == XSD + "boolean":
            return lexical
        case Literal(lexical, datatype, "") if datatype != XSD + "string":
            return f"{to_ntriples(Literal(lexical))}^^{shown(IRI(datatype), prefixes)}"
        case TripleTerm(subject, predicate, value):
            return f"<<( {' '.join(shown(each, prefixes) for each in (subject, predicate, value))} )>>"
    return to_ntriples(term)


def _is_bare_decimal(lexical: str) -> bool:
    return DECIMAL_FORM.fullmatch(lexical) is not None and "." in lexical and not lexical.endswith(".")


def _difference(each: Difference, prefixes: Mapping[str, str]) -> Iterator[str]:
    if not each.missing and not each.unexpected:
        return
    rows = "1 row" if each.found == 1 else f"{each.found} rows"
    yield f"  query '{each.query}', {rows}: {len(each.missing)} missing (-), {len(each.unexpected)} not expected (+)"
    for mark, kind in (("-", each.missing), ("+", each.unexpected)):
        yield from (f"  {mark} {_row(cells, prefixes)}" for cells in kind[:SHOWN_MAX])
        if len(kind) > SHOWN_MAX:
            yield f"  {mark} … {len(kind) - SHOWN_MAX} more"


def _row(cells: Cells, prefixes: Mapping[str, str]) -> str:
    """A row in one line, and a graph in as many as it has triples."""
    graph = cells.get(GRAPH)
    words = [f"{column} {_cell(cell, prefixes)}" for column, cell in cells.items() if column != GRAPH]
    lines = [f"\n      {line}" for line in graph] if isinstance(graph, tuple) else []
    return "  ".join(words or ["a match" if graph is None else "a graph"]) + "".join(lines)


def _cell(cell: Cell, prefixes: Mapping[str, str]) -> str:
    if isinstance(cell, int):
        return time_text(cell)
    if isinstance(cell, tuple):
        return f"( {' '.join(_name(name, prefixes) for name in cell)} )"
    return shown(cell, prefixes)


def _name(name: str, prefixes: Mapping[str, str]) -> str:
    return name if name.startswith("_:") else shown(IRI(name), prefixes)


def _statements(row: Row, prefixes: Mapping[str, str], several: bool) -> Iterator[str]:
    if several:
        yield f"{shown(IRI(VOCABULARY + 'query'), prefixes)} {to_ntriples(Literal(row.query))}"
    for column, cell in cells_of(row).items():
        if column.startswith("?"):
            yield f"{shown(IRI(VARIABLE + column[1:]), prefixes)} {_cell(cell, prefixes)}"
        elif column.startswith("step "):
            yield f"{shown(IRI(STEP + column.removeprefix('step ')), prefixes)} {_cell(cell, prefixes)}"
        elif column in (START, TIME):
            name = "startedAtTime" if column == START else "endedAtTime"
            time = Literal(_cell(cell, prefixes), XSD + "dateTime")
            yield f"{shown(IRI(PROV + name), prefixes)} {shown(time, prefixes)}"


def _graph(row: Row, prefixes: Mapping[str, str], several: bool) -> str:
    name = _name(row.graph or "", prefixes)
    about = " ; ".join([f"a {shown(IRI(VOCABULARY + 'Graph'), prefixes)}", *_statements(row, prefixes, several)])
    body = "".join(f"  {' '.join(shown(term, prefixes) for term in triple)} .\n" for triple in row.triples)
    return f"{name} {about} .\n{name} {{\n{body}}}\n"


def summary(outcomes: Sequence[Outcome], broken: int) -> str:
    """The last line: how many tests there were, and what became of them."""
    failed = sum(not outcome.passed for outcome in outcomes)
    count = len(outcomes) + broken
    words = [f"{count} test" + ("" if count == 1 else "s")]
    words += [f"{failed} failed"] if failed else []
    words += [f"{broken} could not be run"] if broken else []
    return ", ".join(words if len(words) > 1 else [*words, "all as expected"])
