"""Values of iterations that are read off whole chains: which variables need it, and that every evaluator agrees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from automata.chains.store import ChainStore
from automata.matches.snapshot import _with_told
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.program import Compiled, compile_program
from tests.pairs import EVALUATORS, difference
from tests.random_pairs import drawn, expected_rows, shown
from tests.strategies.iterated import IteratedText

PAIRS = 12


def compiled(sequence: str) -> Compiled:
    """A query that counts ?v; A, B and C bind it, O may do so, N does not."""
    triples = {name: f"[] a :{name} ; :v ?v" for name in "ABC"}
    triples |= {"N": "[] a :N", "O": "?o a :O OPTIONAL { ?o :v ?v }"}
    steps = [name for name in triples if name in sequence]
    defines = " ".join(f"DEFINE GPM {name} ON S {{ {triples[name]} }}" for name in steps)
    head = "PREFIX : <urn:> SELECT (COUNT(?v) AS ?n) WITHIN 9 SECONDS FROM STREAM S <urn:s>"
    return compile_program(build(parse(f"{head} WHERE {{ SEQ({sequence}) {defines} }}", "q")))


@pytest.mark.parametrize(
    "sequence", ["A+", "A ; B+", "A+ ; B+", "(A ; N)+", "A ; (B ; N)+", "(N ; O)+ ; A", "ALL(A, B:{2})"]
)
def test_pointers_tell_the_iterations_of_usual_queries(sequence: str) -> None:
    assert not compiled(sequence).plan.walked


@pytest.mark.parametrize("sequence", ["A ; (B | N)+", "A ; O+", "A? ; (N ; B)+", "(A+ ; B)+", "ALL(A:{2}, B:{2})"])
def test_chains_are_read_where_a_value_may_be_from_outside_or_iterations_go_on_at_one_time(sequence: str) -> None:
    assert compiled(sequence).plan.walked


def test_a_state_from_before_steps_told_of_a_variable_has_it_bound_by_them() -> None:
    core = ChainStore(compiled("A ; O+").plan, None)  # type: ignore[arg-type]
    (told,) = core.layout.told.values()
    own = told - core.layout.variables
    now: Sequence[int] = range(core.layout.width - core.layout.variables)
    before = np.array([[value for value in now if value != own]] * 2, dtype=np.int64)
    assert _with_told(before, core).tolist() == [[1 if value == own else value for value in now]] * 2
    assert _with_told(before[:, 1:], core).shape == (2, len(now) - 2), "a state that lacks more is damaged"


def test_random_pairs_with_shared_iterations_equal_the_reference() -> None:
    for number in range(PAIRS):
        pair = drawn(31, number, (lambda dice: IteratedText(dice).whole(),))
        assert pair is not None
        able = [name for name in EVALUATORS if EVALUATORS[name].why_not(compile_program(build(pair.query))) is None]
        expected = expected_rows(pair)
        assert not [name for name in able if difference(name, pair, expected)], shown(pair)
