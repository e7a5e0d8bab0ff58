"""Events that come one by one give the rows that long stretches give, and those of the reference."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from automata.runs.single_steps import runs_singly
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from tests.driving import comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies import batches, cuts, interleaved, queries, streams, to_trig
from tests.strategies_register import register_queries

PAIRS = 60 if settings().derandomize else 40


def _compare(data: st.DataObject, text: str) -> None:
    query = parse(text, "q")
    assume(runs_singly(compile_program(build(query)).program))
    names = {stream.name for stream in query.streams}
    arrivals = {name: events for name, events in data.draw(streams(6, 12)).items() if name in names}
    note(text)
    for name, events in arrivals.items():
        note(f"# {name}\n{to_trig(events)}")
    arrived = interleaved(arrivals)
    expected = Counter(map(comparable, evaluate(query, arrivals)))
    one_by_one = [[event] for event in arrived]
    assert Counter(map(comparable, run_engine(query, one_by_one, release=False))) == expected
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    mixed = [part for piece in pieces for part in (piece[:1], piece[1:]) if part]
    assert Counter(map(comparable, run_engine(query, mixed))) == expected


@given(st.data())
@settings(max_examples=PAIRS)
def test_conditions_between_steps_hold_for_events_one_by_one(data: st.DataObject) -> None:
    _compare(data, data.draw(register_queries()))


@given(st.data())
@settings(max_examples=PAIRS)
def test_queries_of_every_kind_run_one_by_one(data: st.DataObject) -> None:
    _compare(data, data.draw(queries()))
