"""Every evaluator stops and goes on elsewhere: the rows are those of the reference, and the states small."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from automata.adaptive.adaptive_evaluator import why_not_adaptive
from automata.cea.applicability import why_not_cea
from sparql_gpm.terms import IRI, RDF, XSD, Literal
from spaseq.algebra.build import build
from spaseq.errors import RunError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.physical import replanning
from spaseq.physical.applicability import why_no_registers
from spaseq.physical.program import compile_program
from spaseq.runtime.state.snapshot import loads
from tests.automata.test_adaptive import Moody
from tests.conformance.test_lazy import lazy_query
from tests.drawn import drawn
from tests.driving import comparable
from tests.reference.api import evaluate
from tests.restarting import Restarting
from tests.states.networks import put_back, taken
from tests.strategies.keyed import keyed_queries
from tests.strategies.query import queries
from tests.strategies.register import first_queries, register_queries
from tests.strategies.stream import EX, ORIGIN, SECOND, Arrived, batches, cuts, interleaved, late, streams, to_trig

PAIRS = drawn(100)
STATE_BYTES_MAX = 10 << 20
"""What a shard should not exceed: Spark's access to its state takes about 13 ms a MB."""


def _keyed(data: st.DataObject) -> Query:
    query = parse(data.draw(keyed_queries()), "q")
    assume(why_not_cea(compile_program(build(query)).plan) is None)
    return query


def _registered(data: st.DataObject) -> Query:
    query = parse(data.draw(data.draw(st.sampled_from((register_queries(), first_queries())))), "q")
    assume(why_no_registers(compile_program(build(query))) is None)
    return query


def _lazy(data: st.DataObject) -> Query:
    return lazy_query(data.draw(queries()))


def _adaptive(data: st.DataObject) -> Query:
    query = _lazy(data)
    assume(why_not_adaptive(compile_program(build(query)).plan) is None)
    return query


KINDS: dict[str, tuple[str, Callable[[st.DataObject], Query]]] = {
    "cea": ("cea", _keyed),
    "registers": ("nfa", _registered),
    "chain": ("lazy", _lazy),
    "tree": ("tree", _lazy),
    "adaptive": ("adaptive", _adaptive),
}
"""The evaluator's name, and queries that it runs. test_snapshot.py has the runs."""
COMPILED = ("cea", "registers")


def _restarted(kind: str, data: st.DataObject) -> None:
    evaluator, drawn = KINDS[kind]
    query = drawn(data)
    names = {stream.name for stream in query.streams}
    arrivals = {name: events for name, events in data.draw(streams(6, 12)).items() if name in names}
    delay = data.draw(st.sampled_from((0, 0, 5))) * SECOND
    disordered = {name: data.draw(late(events, delay)) for name, events in arrivals.items()} if delay else arrivals
    note(query.text)
    for name, events in disordered.items():
        note(f"# {name}\n{to_trig(events)}")
    arrived = interleaved(disordered) if not delay else [(n, *e) for n, events in disordered.items() for e in events]
    running = Restarting(query, delay, evaluator, compiled=kind in COMPILED)
    for piece in batches(arrived, data.draw(cuts(len(arrived)))):
        running.push(piece)
        if data.draw(st.booleans()):
            running.restart()
    running.network.finish()
    assert Counter(map(comparable, running.rows)) == Counter(map(comparable, evaluate(query, arrivals)))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=PAIRS)
def test_an_evaluator_that_goes_on_elsewhere_gives_the_rows_of_the_reference(kind: str, data: st.DataObject) -> None:
    _restarted(kind, data)


@given(data=st.data())
@settings(max_examples=PAIRS)
def test_evaluators_that_are_being_exchanged_at_random_go_on_elsewhere(data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replanning, "RatesDecide", lambda plan, _: Moody(random.Random(plan.program.variables), 0.8))
        _restarted("adaptive", data)


QUERY = """PREFIX : <http://ex.org/> SELECT ?k ?a ?b WITHIN 600 SECONDS SLIDING PARTITION BY ?k
FROM STREAM S1 <http://ex.org/s1> WHERE {
  SEQ(A : B : C)
  DEFINE GPM A ON S1 { ?s a :A ; :k ?k ; :v ?a FILTER(?a > 2) }
  DEFINE GPM B ON S1 { ?s a :B ; :k ?k ; :v ?b FILTER(?b > 990) }
  DEFINE GPM C ON S1 { ?s a :C ; :k ?k ; :v ?c FILTER(?c > 998) }
}"""


def _trades(count: int, per_second: int) -> list[Arrived]:
    """Of 500 keys and three types, with values under 1,000."""
    dice = random.Random(1)
    events: list[Arrived] = []
    for number in range(count):
        subject = IRI(f"{EX}s{number}")
        graph = {
            (subject, IRI(RDF + "type"), IRI(EX + "ABC"[dice.randrange(3)])),
            (subject, IRI(EX + "k"), IRI(f"{EX}k{dice.randrange(500)}")),
            (subject, IRI(EX + "v"), Literal(str(dice.randrange(1000)), XSD + "integer")),
        }
        events.append(("S1", ORIGIN + number * SECOND // per_second, f"{EX}event/{number}", frozenset(graph)))
    return events


@pytest.mark.parametrize("kind", ["runs", *KINDS])
def test_the_state_of_a_shard_with_thousands_of_events_in_its_window_is_small(kind: str) -> None:
    evaluator = KINDS[kind][0] if kind in KINDS else "nfa"
    running = Restarting(parse(QUERY, "q"), 0, evaluator, compiled=kind in COMPILED)
    running.push(_trades(9_000, per_second=15))
    size = running.restart()
    print(f"{kind}: {size / 1e6:.2f} MB for a window of 9,000 events, {size / 9_000:.0f} bytes an event")
    assert size < STATE_BYTES_MAX


def test_a_partition_that_the_window_has_left_is_not_in_the_state_of_complex_event_automata() -> None:
    running = Restarting(parse(QUERY, "q"), 0, "cea", compiled=True)
    for piece in (_trades(20, per_second=15), [("S1", ORIGIN + 3600 * SECOND, f"{EX}late", frozenset[Any]())]):
        running.push(piece)
        size = running.restart()
    (state,) = taken(running.network).queries
    running_state, _ = loads(state.blob, running.dictionary)
    assert not running_state["sequence"]["core"]["keys"].ids.size
    assert running.restart() <= size


def test_an_evaluator_that_is_asked_for_does_not_go_on_from_the_state_of_another() -> None:
    running = Restarting(parse(QUERY, "q"), 0, "nfa")
    running.push(_trades(50, per_second=15))
    other = Restarting(parse(QUERY, "q"), 0, "lazy")
    told = "state of query 'q' cannot be read: evaluator 'nfa' wrote it, and 'lazy' is asked for: ask for none"
    with pytest.raises(RunError, match=told):
        put_back(other.network, taken(running.network))
