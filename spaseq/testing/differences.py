"""The rows of a query beside those that a test expects of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sparql_gpm.canonical_labels import canonical_labels, with_labels
from sparql_gpm.terms import BlankNode, Term, relabelled, to_ntriples
from spaseq.outputs.rows import Row

Cell = Term | tuple[str, ...] | int
"""A term of a variable; the names of a step's events; the triples of a graph as texts; a time in nanoseconds."""
Cells = Mapping[str, Cell]
START, TIME, GRAPH = "start", "time", "graph"
"""Columns beside the variables, `?name`, and the steps, `step name`."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A row that a test expects, as far as the test states it."""

    query: str
    cells: Cells


@dataclass(frozen=True, slots=True)
class Difference:
    """The rows of one query that are missing, and those that are not expected; both in the columns of the test.

    found   the number of its rows
    """

    query: str
    found: int
    missing: tuple[Cells, ...]
    unexpected: tuple[Cells, ...]


def difference(query: str, rows: Sequence[Row], expected: Iterable[Expected]) -> Difference:
    """The multisets of rows compared in the columns that some expected row states; in all of them if there is none.

    A row that does not state such a column expects it to be empty. Blank nodes are equal to each other.
    """
    wanted = [each.cells for each in expected]
    columns = list(dict.fromkeys(column for cells in wanted for column in cells))
    found = [cells_of(row) for row in rows]
    if columns:
        found = [{column: cells[column] for column in columns if column in cells} for cells in found]
    wanted_keys, found_keys = Counter(map(_key, wanted)), Counter(map(_key, found))
    missing = _left(wanted, wanted_keys - found_keys)
    return Difference(query, len(rows), missing, _left(found, found_keys - wanted_keys))


def cells_of(row: Row) -> dict[str, Cell]:
    """The cells of a row by column."""
    cells: dict[str, Cell] = {f"?{name}": term for name, term in row.bindings}
    cells |= {step_column(step): names for step, names in row.events}
    if row.graph is not None:
        cells[GRAPH] = graph_cell(row.triples)
    return cells | {START: row.start, TIME: row.time}


def step_column(step: str) -> str:
    """The column of a step's events."""
    return f"step {step}"


def graph_cell(triples: Iterable[tuple[Term, Term, Term]]) -> tuple[str, ...]:
    """A graph as sorted lines of N-Triples, equal for isomorphic graphs."""
    texts = [(to_ntriples(s), to_ntriples(p), to_ntriples(o)) for s, p, o in dict.fromkeys(triples)]
    labels = canonical_labels(texts)
    lines = (" ".join(with_labels(term, lambda node: labels[node]) for term in triple) for triple in texts)
    return tuple(sorted(f"{line} ." for line in lines))


def _key(cells: Cells) -> frozenset[tuple[str, Cell]]:
    return frozenset((column, _comparable(cell)) for column, cell in cells.items())


def _comparable(cell: Cell) -> Cell:
    if isinstance(cell, BlankNode):
        return BlankNode("")
    return cell if isinstance(cell, tuple | int) else relabelled(cell, lambda _: "")


def _left(rows: Iterable[Cells], keys: Counter[frozenset[tuple[str, Cell]]]) -> tuple[Cells, ...]:
    """The first rows with these keys, as many as the keys count."""
    left = []
    for cells in rows:
        if keys[_key(cells)] > 0:
            keys[_key(cells)] -= 1
            left.append(cells)
    return tuple(left)
