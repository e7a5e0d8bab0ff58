"""Driving the engine over events held in memory, for tests that compare it with the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from unittest.mock import patch

import numpy as np

from automata import protocol
from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import BlankNode, Term
from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Knowledge, Setup
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row, ntriples_lines
from spaseq.runtime.embedded.network import Network
from tests.reference.api import Row as ReferenceRow
from tests.strategies.stream import Arrived

Comparable = tuple[object, ...]


def run_engine(
    query: Query,
    pieces: Sequence[Sequence[Arrived]],
    delay_ns: int = 0,
    evaluator: str = "auto",
    kb: Knowledge | None = None,
    optimise: bool = True,
    release: bool = True,
    compiled: bool | None = None,
    few: int | None = None,
    reader: Query | None = None,
    later: bool = False,
    built: TemporalQuery | None = None,
    finish: bool = True,
) -> list[Row]:
    """The rows of one query over events that arrive in pieces; a term no longer needed is released after each.

    A piece of one event goes the way of events that are pushed by themselves. The rows of a query that reads the
    stream which the first one REGISTERs come after those of the first.

    compiled    runs may be kept by compiled kernels; None: where they or complex event automata are asked for
    few         so many events that come together may go one by one; None: as in the product where the number of
                pieces is even, else none, so that random cuts go both ways
    later       compiled kernels may take over while the query runs
    built       the meaning of the query, where it is known
    finish      the streams end; else the rows are those by now
    """
    dictionary = Dictionary()
    network = Network(dictionary, delay_ns)
    rows: list[Row] = []
    read: list[Row] = []
    compiled = evaluator in ("nfa", "cea") if compiled is None else compiled
    options = RunOptions(evaluator=evaluator, compiled=None if later else compiled, optimise=optimise)
    setup = Setup(kb or {}, options, dictionary)
    iris = {stream.name: stream.iri for stream in query.streams}
    if few is None:
        few = 1 if len(pieces) % 2 else protocol.FEW_EVENTS_MAX
    with patch.object(protocol, "FEW_EVENTS_MAX", few):
        if reader is not None:
            network.add(Setup({}, RunOptions(compiled=False), dictionary).operator(build(reader)), read.extend)
        network.add(setup.operator(built or build(query)), rows.extend)
        for piece in pieces:
            for name in dict.fromkeys(event[0] for event in piece):
                if name in iris:
                    batch = as_batch([e for e in piece if e[0] == name], dictionary)
                    if len(batch) == 1:
                        network.push_event(iris[name], *RowEvent.each_of(batch))
                    else:
                        network.push(iris[name], batch)
            network.release_terms(always=release)
        if finish:
            network.finish()
    setup.bases.close()
    return rows + read


def as_batch(events: Sequence[Arrived], dictionary: Dictionary) -> EventBatch:
    """Events of one stream as a batch; their blank nodes are their own."""
    triples = [
        [[dictionary.intern(_own(term, name)) for term in triple] for triple in sorted(graph, key=repr)]
        for _, _, name, graph in events
    ]
    flat = np.array([triple for graph in triples for triple in graph], dtype=np.int64).reshape(-1, 3)
    return EventBatch(
        np.array([time for _, time, _, _ in events], dtype=np.int64),
        np.zeros(len(events), dtype=np.int64),
        [name for _, _, name, _ in events],
        np.concatenate(([0], np.cumsum([len(graph) for graph in triples]))).astype(np.int64),
        *(np.ascontiguousarray(flat[:, column]) for column in range(3)),
    )


def _own(term: Term, event: str) -> Term:
    return BlankNode(f"{event}.{term.label}") if isinstance(term, BlankNode) else term


def comparable(row: Row | ReferenceRow, variables: Mapping[str, object] | None = None) -> Comparable:
    """What two rows must agree in; a blank node only in being one."""
    bindings = dict(row.bindings)
    if isinstance(row, Row):
        lines = tuple(_plain(line) for line in ntriples_lines(row.triples)) if row.graph is not None else None
    else:
        lines = None if row.triples is None else tuple(_plain(line) for line in row.lines())
    bound = tuple(sorted((name, _shown(term)) for name, term in bindings.items()))
    events = tuple(sorted((step, tuple(names)) for step, names in dict(row.events).items()))
    return row.time, row.start, bound, lines if lines is None else tuple(sorted(lines)), row.graph, events


def _shown(term: Term) -> object:
    return "bnode" if isinstance(term, BlankNode) else term


def _plain(line: str) -> str:
    return " ".join("_:" if word.startswith("_:") else word for word in line.split(" "))
