"""Symbolic register match automata: what each construction recognises, on random streams and the paper's examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.theory.closure import concatenation, event_as, filtered, intersection, iteration, union
from automata.theory.formulas import TRUE, Every, Formula, Holds, Not, Predicate, evaluate
from automata.theory.symbolic import SymbolicAutomaton, matches, reads_only_written, recognised
from automata.theory.windowed import complement, determinised, over_streams, unrolled
from tests.drawn import drawn

Reading = tuple[str, int, int]
Matches = frozenset[frozenset[int]]
Found = list[tuple[frozenset[int], dict[str, int]]]
IS_T = Predicate("T", lambda event: event[0] == "T")
IS_H = Predicate("H", lambda event: event[0] == "H")
SAME = Predicate("same id", lambda x, y: x[1] == y[1])
RISES = Predicate("rises", lambda x, y: x[2] < y[2])
BETWEEN = Predicate("between", lambda x, y, z: x[2] <= y[2] <= z[2])
OUTSIDE = Predicate("outside", lambda x: x[2] < -40 or x[2] > 50)
TABLE_1: tuple[Reading, ...] = (("T", 1, 22), ("T", 1, 24), ("T", 2, 32), ("H", 1, 70), ("H", 1, 68), ("T", 2, 33))
READINGS = st.tuples(st.sampled_from("TH"), st.integers(1, 2), st.integers(0, 2))
STREAMS = st.lists(READINGS, max_size=6)
SIZES = st.integers(1, 3)


def _sets(*positions: set[int]) -> Matches:
    return frozenset(map(frozenset, positions))


def _all(found: Sequence[Matches]) -> Matches:
    return frozenset().union(*found)


# --- bounded expressions, their meaning (RMA Section 3) and their automata -------------------------------------------


@dataclass(frozen=True, slots=True)
class Phrase:
    """An expression: its automaton, its variables, and its matches with their valuations by definition."""

    automaton: SymbolicAutomaton
    variables: tuple[str, ...]
    means: Callable[[Sequence[Reading], int], Found]

    def found(self, stream: Sequence[Reading], begin: int) -> Found:
        """(match, valuation) from this index on."""
        return self.means(stream, begin)


def _event(variable: str, formula: Formula) -> Phrase:
    def means(stream: Sequence[Reading], begin: int) -> Found:
        taken = [i for i in range(begin, len(stream)) if evaluate(formula, {}, stream[i])]
        return [(frozenset({i}), {variable: i}) for i in taken]

    return Phrase(event_as(variable, formula), (variable,), means)


def _filtered(inner: Phrase, formula: Formula) -> Phrase:
    def means(stream: Sequence[Reading], begin: int) -> Found:
        return [
            (match, valuation)
            for match, valuation in inner.found(stream, begin)
            if evaluate(formula, {name: stream[i] for name, i in valuation.items()}, None)
        ]

    return Phrase(filtered(inner.automaton, formula), inner.variables, means)


def _either(left: Phrase, right: Phrase) -> Phrase:
    """Outside, the variables of a disjunction are bound in every disjunct, or may not be used."""

    def means(stream: Sequence[Reading], begin: int) -> Found:
        both = left.found(stream, begin) + right.found(stream, begin)
        return [(match, {}) for match, _ in both]

    return Phrase(union(left.automaton, right.automaton), (), means)


def _then(left: Phrase, right: Phrase) -> Phrase:
    def means(stream: Sequence[Reading], begin: int) -> Found:
        return [
            (first | second, {**values, **more})
            for first, values in left.found(stream, begin)
            for second, more in right.found(stream, max(first) + 1)
        ]

    return Phrase(concatenation(left.automaton, right.automaton), left.variables + right.variables, means)


def _several(inner: Phrase) -> Phrase:
    def means(stream: Sequence[Reading], begin: int) -> Found:
        found = {match for match, _ in inner.found(stream, begin)}
        waiting = list(found)
        while waiting:
            match = waiting.pop()
            more = {match | second for second, _ in inner.found(stream, max(match) + 1)}
            waiting += more - found
            found |= more
        return [(match, {}) for match in found]

    return Phrase(iteration(inner.automaton), (), means)


@st.composite
def phrases(draw: st.DrawFn, depth: int = 2) -> Phrase:
    """A bounded expression; every variable is bound once."""
    return _drawn(draw, depth, iter(range(100)))


def _drawn(draw: st.DrawFn, depth: int, numbers: Iterator[int]) -> Phrase:
    kind = draw(st.sampled_from(("event", "event", "then", "then", "either", "several"))) if depth else "event"
    if kind == "event":
        unaries: tuple[Formula, ...] = (Holds(IS_T), Holds(IS_H), Not(Holds(IS_T)), TRUE)
        unary = draw(st.sampled_from(unaries))
        return _event(f"x{next(numbers)}", unary)
    inner = _drawn(draw, depth - 1, numbers)
    if kind == "several":
        return _several(inner)
    other = _drawn(draw, depth - 1, numbers)
    phrase = _then(inner, other) if kind == "then" else _either(inner, other)
    if len(phrase.variables) >= 2 and draw(st.booleans()):
        chosen = draw(st.permutations(phrase.variables))
        predicate, count = draw(st.sampled_from(((SAME, 2), (RISES, 2), (BETWEEN, 3))))
        if count <= len(chosen):
            compared: Formula = Holds(predicate, tuple(chosen[:count]))
            phrase = _filtered(phrase, draw(st.sampled_from((compared, Not(compared)))))
    return phrase


# --- the constructions -----------------------------------------------------------------------------------------------


@given(phrases(), STREAMS)
@settings(max_examples=drawn(150))
def test_the_automaton_of_an_expression_has_the_matches_of_the_expression(
    phrase: Phrase, stream: list[Reading]
) -> None:
    found = matches(phrase.automaton, stream)
    assert _all(found) == {match for match, _ in phrase.found(stream, 0)}
    assert all(max(match) == index for index, some in enumerate(found) for match in some)
    assert reads_only_written(phrase.automaton)


@given(phrases(1), phrases(1), STREAMS)
@settings(max_examples=drawn(100))
def test_union_and_intersection_are_those_of_the_matches(left: Phrase, right: Phrase, stream: list[Reading]) -> None:
    first, second = matches(left.automaton, stream), matches(right.automaton, stream)
    joined = matches(union(left.automaton, right.automaton), stream)
    common = matches(intersection(left.automaton, right.automaton), stream)
    assert joined == [one | other for one, other in zip(first, second, strict=True)]
    assert common == [one & other for one, other in zip(first, second, strict=True)]


@given(phrases(1), STREAMS, SIZES)
@settings(max_examples=drawn(80))
def test_an_unrolled_automaton_has_the_matches_that_fit_the_window(
    phrase: Phrase, stream: list[Reading], size: int
) -> None:
    windowed = over_streams(phrase.automaton, size)
    fitting = [{m for m in some if max(m) - min(m) < size} for some in matches(phrase.automaton, stream)]
    assert matches(windowed, stream) == fitting
    assert reads_only_written(windowed)
    tree = unrolled(phrase.automaton, size)
    assert len({transition.target for transition in tree.transitions}) == len(tree.transitions)


@given(phrases(1), STREAMS, st.integers(1, 2))
@settings(max_examples=drawn(60))
def test_a_windowed_automaton_made_deterministic_keeps_its_matches(
    phrase: Phrase, stream: list[Reading], size: int
) -> None:
    windowed = over_streams(phrase.automaton, size)
    assert matches(determinised(windowed, by_output=True), stream) == matches(windowed, stream)


@given(phrases(1), STREAMS, st.integers(1, 2))
@settings(max_examples=drawn(60))
def test_an_output_agnostic_automaton_recognises_with_one_run_and_so_does_its_complement(
    phrase: Phrase, stream: list[Reading], size: int
) -> None:
    single = determinised(over_streams(phrase.automaton, size))
    happened = [any(max(m) - min(m) < size for m in some) for some in matches(phrase.automaton, stream)]
    assert recognised(single, stream) == happened
    assert recognised(complement(single), stream) == [not seen for seen in happened]
    assert all(_applying(single, state, stream) == 1 for state in range(single.states) if state == single.start)


def _applying(automaton: SymbolicAutomaton, state: int, stream: list[Reading]) -> int:
    """How many transitions from a state apply to the first event; 1 where there is none to look at."""
    if not stream:
        return 1
    formulas = [transition.formula for transition in automaton.leaving()[state]]
    return sum(formula is not None and evaluate(formula, {}, stream[0]) for formula in formulas)


# --- the paper's own -------------------------------------------------------------------------------------------------

PHI_1 = filtered(
    concatenation(event_as("x", Holds(IS_T)), event_as("y", Holds(IS_H))), Holds(SAME, ("x", "y"))
)  # (T AS x) ; (H AS y) FILTER x.id = y.id


def test_expression_1_has_the_matches_of_table_1() -> None:
    pairs = concatenation(event_as("x", Holds(IS_T)), event_as("y", Holds(IS_H)))
    every = _sets({0, 3}, {0, 4}, {1, 3}, {1, 4}, {2, 3}, {2, 4})
    assert _all(matches(pairs, TABLE_1)) == every
    assert _all(matches(PHI_1, TABLE_1)) == every - _sets({2, 3}, {2, 4})


def test_expression_4_checks_its_filter_after_either_branch() -> None:
    extreme = Every((Holds(IS_T), Holds(OUTSIDE)))
    low_or_high = union(event_as("x", extreme), event_as("x", extreme))
    sensor = filtered(concatenation(low_or_high, event_as("y", Holds(IS_T))), Holds(SAME, ("y", "x")))
    stream = (("T", 1, -50), ("T", 2, 20), ("T", 1, 60), ("T", 1, 20))
    assert _all(matches(sensor, stream)) == _sets({0, 2}, {0, 3}, {2, 3})


def test_nested_iterations_are_bounded_and_forget_what_earlier_iterations_bound() -> None:
    alike = Holds(Predicate("same value", lambda x, y: x[2] == y[2]), ("x1", "x2"))
    hot = filtered(concatenation(event_as("x1", Holds(IS_T)), event_as("x2", Holds(IS_T))), alike)
    stream = (("T", 1, 5), ("T", 1, 5), ("T", 1, 7), ("T", 1, 7))
    assert _all(matches(iteration(hot), stream)) == _sets({0, 1}, {2, 3}, {0, 1, 2, 3})


def test_a_filter_over_a_variable_that_nothing_binds_is_not_bounded() -> None:
    with pytest.raises(ValueError, match="not a bounded expression"):
        filtered(event_as("x", Holds(IS_T)), Holds(SAME, ("x", "y")))


@pytest.mark.parametrize("size", [2, 3])
def test_the_windowed_expression_1_is_recognised_by_one_run(size: int) -> None:
    single = determinised(over_streams(PHI_1, size))
    assert recognised(single, TABLE_1) == [False, False, False, size == 3, False, False]
    twice = (("T", 1, 1), ("T", 2, 1), ("H", 1, 1), ("T", 1, 1), ("H", 2, 1), ("H", 1, 1))
    assert recognised(single, twice) == [False, False, size == 3, False, False, size == 3]


def test_a_second_first_event_does_not_overwrite_the_register_of_a_walk_under_way() -> None:
    """With a loop on one start state, as in RMA Lemma 6.5, the second T would stand in the register of the first."""
    windowed = over_streams(PHI_1, 3)
    stream = (("T", 1, 0), ("T", 2, 0), ("H", 1, 0))
    assert matches(windowed, stream)[-1] == _sets({0, 2})
    assert len({name for name in windowed.registers if name.startswith("x.")}) >= 3
