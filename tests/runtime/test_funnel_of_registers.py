"""Register match automata make every partial match, and count the same ones as the reference on each edge."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from automata.plan import expression as nodes
from automata.plan.program import Demand
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.applicability import why_no_registers
from spaseq.physical.plan import Form
from spaseq.physical.program import compile_program
from tests.drawn import drawn
from tests.reference import funnel as literal
from tests.reference.stream import merge
from tests.reference.whole import matches
from tests.reference.world import partitions, whole_world
from tests.runtime.test_funnel import counted
from tests.strategies.keyed import keyed_queries
from tests.strategies.query import queries
from tests.strategies.register import register_queries
from tests.strategies.stream import batches, cuts, interleaved, streams


def is_for_registers(text: str) -> bool:
    """True if kernels run it; of equal branches, as in `A | A`, the reference counts each, and a plan has only one."""
    query = parse(text)
    meaning = build(query)
    written, planned = (len(list(nodes.steps(sequence))) for sequence in (query.sequence, meaning.sequence))
    return written == planned and why_no_registers(compile_program(meaning)) is None


@settings(max_examples=drawn(24))
@given(st.data())
def test_partial_matches_are_those_of_the_reference(data: st.DataObject) -> None:
    text = data.draw((queries() | keyed_queries() | register_queries()).filter(is_for_registers))
    query, drawn_streams = parse(text, "q"), data.draw(streams())
    arrivals = {stream.name: drawn_streams[stream.name] for stream in query.streams}
    arrived = interleaved(arrivals)
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    funnel, operator, _ = counted(query, pieces, evaluator="nfa", compiled=True)
    assert operator.physical.form is Form.KERNELS
    if any(edge.took is None for edge in funnel.edges):
        assert operator.automaton.program.demand is not Demand.EVERY
        return
    parts = list(partitions(whole_world(query, merge(arrivals), {})))
    took = Counter[tuple[str, str]]()
    for edge in funnel.edges:
        took[edge.source, edge.target] += edge.took or 0
    assert +took == sum((literal.edges_taken(part) for part in parts), Counter[tuple[str, str]]())
    if funnel.matches is not None:
        assert funnel.matches == sum(len(matches(part)) for part in parts)
