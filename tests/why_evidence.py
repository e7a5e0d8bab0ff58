"""The evidence of explanations, made of events that the reference has put into merged order."""

from __future__ import annotations

import numpy as np

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import BlankNode, Term
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.ast import Query
from spaseq.physical.program import compile_program
from spaseq.runtime.stages.pattern_stage import PatternStage
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.runs import Entry
from tests.driving import as_batch
from tests.reference.stream import Events


def evidence_of(query: Query, events: Events, late: Events = ()) -> Evidence:
    """The evidence of a query without knowledge bases."""
    dictionary = Dictionary()
    meaning = build(query)
    setup = Setup({}, RunOptions(), dictionary)
    compiled, background = compile_program(meaning), setup.background(meaning)
    patterns = PatternStage(compiled, (), setup.pool, background, setup.entailed)
    return Evidence(
        compiled,
        dictionary,
        setup.evaluator,
        background,
        patterns,
        setup.pool,
        0,
        _batch(query, events, dictionary),
        _batch(query, late, dictionary),
    )


def _batch(query: Query, events: Events, dictionary: Dictionary) -> EventBatch:
    places = {stream.name: place for place, stream in enumerate(query.streams)}
    batch = as_batch([(event.stream, event.time, event.name, event.triples) for event in events], dictionary)
    streams = np.array([places[event.stream] for event in events], dtype=np.int64)
    return EventBatch(batch.times, streams, batch.names, batch.offsets, *batch.terms)


def solution_of(evidence: Evidence, entry: Entry) -> frozenset[tuple[str, Term]]:
    """The solution of an entry as the reference has it."""
    names = evidence.compiled.query.variables
    prefix = f"{evidence.name(entry.event)}."

    def plain(term: Term) -> Term:
        """A blank node by its label in its event."""
        return BlankNode(term.label.removeprefix(prefix)) if isinstance(term, BlankNode) else term

    found = ((names[v], evidence.term(value)) for v, value in entry.values.items())
    return frozenset((name, plain(term)) for name, term in found if "#" not in name)
