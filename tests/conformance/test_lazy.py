"""The lazy evaluators against the reference, on random queries over random streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from automata.adaptive.adaptive_evaluator import why_not_adaptive
from spaseq.algebra.build import build
from spaseq.errors import QueryError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.physical import replanning
from spaseq.physical.applicability import why_not_lazy
from spaseq.physical.program import compile_program
from tests.automata.test_adaptive import Moody
from tests.drawn import drawn
from tests.driving import comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies.query import queries, under_any
from tests.strategies.stream import batches, cuts, interleaved, streams, to_trig

# In the `ci` profile 60 pairs with each evaluator; tests/automata/test_lazy.py has more, below the level of RDF.
PAIRS = drawn(60)


def lazy_query(text: str) -> Query:
    """The query; one that is not lazy, or that without its repetition is not valid, is not tried."""
    try:
        query = parse(under_any(text), "q")
    except QueryError:
        assume(False)
    assume(why_not_lazy(compile_program(build(query)).plan) is None)
    return query


@pytest.fixture(scope="module")
def moody() -> Iterator[None]:
    """Evaluators are exchanged at random, not as rates are measured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replanning, "RatesDecide", lambda plan, _: Moody(Random(plan.program.variables), 0.8))
        yield


@pytest.mark.usefixtures("moody")
@pytest.mark.parametrize("evaluator", ["lazy", "tree", "adaptive"])
@given(data=st.data())
@settings(max_examples=PAIRS)
def test_the_lazy_evaluators_equal_the_reference_whatever_the_batches(evaluator: str, data: st.DataObject) -> None:
    query = lazy_query(data.draw(queries()))
    assume(evaluator != "adaptive" or why_not_adaptive(compile_program(build(query)).plan) is None)
    declared = {stream.name for stream in query.streams}
    arrivals = {name: events for name, events in data.draw(streams()).items() if name in declared}
    note(query.text)
    for name, events in arrivals.items():
        note(f"# {name}\n{to_trig(events)}")
    arrived = interleaved(arrivals)
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    expected = Counter(map(comparable, evaluate(query, arrivals)))
    assert Counter(map(comparable, run_engine(query, pieces, evaluator=evaluator))) == expected


def refusal(sequence: str) -> str | None:
    defines = " ".join(f"DEFINE GPM {name} ON S {{ ?s{name} a <urn:{name}> }}" for name in "ABC")
    text = f"SELECT * WITHIN 5 SECONDS FROM STREAM S <urn:s> WHERE {{ SEQ({sequence}) {defines} }}"
    return why_not_lazy(compile_program(build(parse(text, "q"))).plan)


@pytest.mark.parametrize(
    ("sequence", "reason"),
    [
        ("A ; B : C", "';' stands between two steps: buffered events are joined under ':' only"),
        ("A : B, C", "',' stands between two steps: buffered events are joined under ':' only"),
        ("A : B+ : C", "',' stands between the iterations of a step: buffered events are joined under ':' only"),
        ("(A : B):+ : C", "a group of several steps is repeated"),
        ("A : ALL(B, C):+", "an ALL( ) is repeated"),
        ("A : (B & C):+", "a conjunction is repeated"),
        ("A? : B? : C : A? : B? : C? : A? : B?", "its optional steps and branches make more than 64 chains"),
    ],
)
def test_what_lazy_evaluation_does_not_cover_is_refused_with_the_reason(sequence: str, reason: str) -> None:
    assert refusal(sequence) == reason


@pytest.mark.parametrize(
    "sequence",
    [
        "A : B : C",
        "ALL(A, B, C)",
        "ALL(A, SEQ(B : C))",
        "A : B! : C",
        "A : (B | C)",
        "A : B:+ : C",
        "A & B : C",
        "A? : B:* : C",
    ],
)
def test_what_k_covers_is_not_refused(sequence: str) -> None:
    assert refusal(sequence) is None
