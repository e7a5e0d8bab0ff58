"""Register automata against the reference, on random queries that they take.

NUMBA_DISABLE_JIT=1 runs the same tests with the kernels as Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from automata.plan.program import Demand
from automata.registers import answers as register_answers
from automata.registers import partitions as register_partitions
from automata.registers import pool as register_pool
from automata.registers import register_evaluator
from sparql_gpm.terms import IRI, XSD, Literal
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.applicability import why_no_registers
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from tests.drawn import drawn
from tests.driving import comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies.register import first_queries, register_queries
from tests.strategies.stream import ORIGIN, SECOND, Arrived, batches, cuts, interleaved, streams, to_trig

PAIRS = drawn(120)
WITHOUT_JIT = "NUMBA_DISABLE_JIT"


def _compare(data: st.DataObject, texts: st.SearchStrategy[str]) -> None:
    text = data.draw(texts)
    query = parse(text, "q")
    assume(why_no_registers(compile_program(build(query))) is None)
    names = {stream.name for stream in query.streams}
    arrivals = {name: events for name, events in data.draw(streams(6, 12)).items() if name in names}
    note(text)
    for name, events in arrivals.items():
        note(f"# {name}\n{to_trig(events)}")
    arrived = interleaved(arrivals)
    expected = [comparable(row) for row in evaluate(query, arrivals)]
    assert [comparable(row) for row in run_engine(query, [arrived], evaluator="nfa")] == expected
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    assert Counter(map(comparable, run_engine(query, pieces, evaluator="nfa"))) == Counter(expected)


@given(st.data())
@settings(max_examples=PAIRS)
def test_register_automata_equal_the_reference_whatever_the_batches(data: st.DataObject) -> None:
    _compare(data, register_queries())


@given(st.data())
@settings(max_examples=PAIRS)
def test_keeping_only_what_makes_the_first_match_changes_no_row(data: st.DataObject) -> None:
    _compare(data, first_queries())


@pytest.fixture(scope="module")
def smallest() -> Iterator[None]:
    """Every table as small as it can be, so that all of them are full again and again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(register_pool, "_ROWS_INITIAL", 2)
        patch.setattr(register_partitions, "_ROWS_INITIAL", 1)
        patch.setattr(register_answers, "_QUESTIONS_MAX", 1)
        patch.setattr(register_answers, "_ANSWERS_INITIAL", 2)
        for name in ("_CANDIDATES_INITIAL", "_MATCHES_INITIAL", "_ENTRIES_INITIAL"):
            patch.setattr(register_evaluator, name, 1)
        yield


@pytest.mark.usefixtures("smallest")
@given(st.data())
@settings(max_examples=PAIRS // 2)
def test_tables_that_fill_up_change_no_row(data: st.DataObject) -> None:
    _compare(data, data.draw(st.sampled_from((register_queries(), first_queries()))))


def test_the_kernels_give_the_same_rows_as_python() -> None:
    if os.environ.get(WITHOUT_JIT) == "1":
        return  # this is that run
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    run = subprocess.run(command, env={**os.environ, WITHOUT_JIT: "1"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-4000:]


QUERY = """PREFIX : <http://ex.org/>
SELECT * WITHIN 60 MINUTES FROM STREAM S1 <http://ex.org/s1>
WHERE {{ SEQ({sequence})
  DEFINE GPM A ON S1 {{ ?s :v ?v }}
  DEFINE GPM B ON S1 {{ ?s :v ?w FILTER({condition}) }}
}}"""


@pytest.mark.parametrize(
    ("sequence", "condition", "said"),
    [
        ("A, B", "?w > ?v && ?w - ?v < 10", "a register automaton, its conditions guards"),
        ("A, B", "REGEX(?w, STR(?v))", "is more than comparisons of numbers"),
        ("A+, B", "?w > PREV(?v) && ?w < FIRST(?v)", "a register automaton, its conditions guards"),
        ("A+, B", "?w > AVG(?v)", "aggregates look at all iterations of a repetition"),
        ("A; B!; A", "?w > ?v", "it has a negation"),
        ("A & B", "?w > ?v", "a conjunction takes several events"),
    ],
)
def test_the_plan_says_whether_runs_are_kept_as_a_register_automaton(sequence: str, condition: str, said: str) -> None:
    query = parse(QUERY.format(sequence=sequence, condition=condition), "q")
    assert said in plan_query(compile_program(build(query)), "nfa").form_reason


@pytest.mark.parametrize(
    ("selected", "limit", "demand"),
    [
        ("SELECT (1 AS ?happened)", "LIMIT 1", Demand.HAPPENED),
        ("SELECT DISTINCT ?v", "LIMIT 1", Demand.FIRST),
        ("SELECT (1 AS ?happened)", "LIMIT 2", Demand.EVERY),
        ("SELECT (1 AS ?happened)", "AFTER MATCH SKIP PAST LAST EVENT LIMIT 1", Demand.EVERY),
        ("SELECT MAX (1 AS ?happened)", "LIMIT 1", Demand.EVERY),
        ("SELECT NEXT (1 AS ?happened)", "", Demand.FIRST),
    ],
)
def test_what_limit_one_leaves_is_all_that_is_wanted(selected: str, limit: str, demand: Demand) -> None:
    text = QUERY.format(sequence="A, B", condition="?w > ?v").replace("SELECT *", selected) + limit
    assert compile_program(build(parse(text, "q"))).program.demand is demand


def test_whether_something_has_happened_is_told_without_the_runs_that_multiply() -> None:
    """2^15 runs; those that go on are as many as pairs of a first and a last event."""
    text = QUERY.format(sequence="A : B:+", condition="?w > ?v").replace("SELECT *", "SELECT (1 AS ?happened)")
    query = parse(text + "LIMIT 1", "q")
    value, thing = IRI("http://ex.org/v"), IRI("http://ex.org/s")
    arrived: list[Arrived] = [
        ("S1", ORIGIN + n * SECOND, f"urn:e{n}", frozenset({(thing, value, Literal(str(n), XSD + "integer"))}))
        for n in range(16)
    ]
    rows = run_engine(query, [arrived], evaluator="nfa")
    assert [dict(row.events)["B"] for row in rows] == [tuple(f"urn:e{n}" for n in range(1, k)) for k in range(2, 17)]
