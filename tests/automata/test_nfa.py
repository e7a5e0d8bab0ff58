"""The position automaton: which steps may follow which, and what is crossed on the way (G Figures 4-10, 24-25)."""

from __future__ import annotations

from automata.plan.automaton import START, Automaton, build_automaton
from automata.plan.expression import (
    AnyOrder,
    Choice,
    Contiguity,
    Expression,
    Negation,
    Optional,
    Repetition,
    Sequence,
    Step,
)
from automata.values import NONE

STRICT, NEXT, ANY = Contiguity.STRICT, Contiguity.NEXT, Contiguity.ANY
A, B, C, D = (Step(symbol) for symbol in range(4))
NAMES = "ABCD"


def moves(automaton: Automaton) -> set[str]:
    """Edges as text: source, operator, target, crossings, negations passed."""
    return {
        f"{label(automaton, edge.source)} {edge.operator.value} {label(automaton, edge.target)}"
        + "".join(f" leave{repetition}" for repetition in edge.leaves)
        + (f" loop{edge.loop}" if edge.loop != NONE else "")
        + "".join(f" enter{repetition}" for repetition in edge.enters)
        + "".join(f" !{passed.negation}" for passed in edge.passed)
        for edge in automaton.edges
    }


def ends(automaton: Automaton) -> set[str]:
    return {
        label(automaton, accept.position) + "".join(f" !{passed.negation}" for passed in accept.passed)
        for accept in automaton.accepts
    }


def label(automaton: Automaton, position: int) -> str:
    if position == START:
        return "start"
    if automaton.positions[position].any_order != NONE:
        return "ALL"
    return "&".join(NAMES[symbol] for symbol in automaton.positions[position].symbols) or f"member{position}"


def built(expression: Expression) -> Automaton:
    return build_automaton(expression)


def test_a_chain_has_one_edge_a_step() -> None:
    automaton = built(Sequence((A, B, C), (NEXT, STRICT)))
    assert moves(automaton) == {"start : A", "A ; B", "B , C"}
    assert ends(automaton) == {"C"}


def test_repetition_loops_with_its_own_contiguity() -> None:
    automaton = built(Sequence((A, Repetition(B, 1, None, STRICT), C), (NEXT, ANY)))
    assert moves(automaton) == {"start : A", "A ; B enter0", "B , B loop0", "B : C leave0"}


def test_a_group_iterates_from_its_last_step_to_its_first() -> None:
    automaton = built(Repetition(Sequence((A, B), (STRICT,)), 2, 3, NEXT))
    assert moves(automaton) == {"start : A enter0", "A , B", "B ; A loop0"}
    assert (automaton.repetitions[0].at_least, automaton.repetitions[0].at_most) == (2, 3)


def test_exactly_one_iteration_has_no_loop() -> None:
    assert moves(built(Repetition(A, 1, 1, NEXT))) == {"start : A enter0"}


def test_a_skipped_step_leaves_a_negation_and_the_later_operator() -> None:
    automaton = built(Sequence((A, Optional(B), C), (STRICT, NEXT)))
    assert moves(automaton) == {"start : A", "A , B", "B ; C", "A ; C !0"}


def test_a_trailing_optional_step_may_end_early_with_a_negation() -> None:
    automaton = built(Sequence((A, Optional(B)), (NEXT,)))
    assert ends(automaton) == {"B", "A !0"}


def test_a_negation_takes_no_step() -> None:
    automaton = built(Sequence((A, Negation(B), C), (NEXT, STRICT)))
    assert moves(automaton) == {"start : A", "A , C !0"}


def test_leading_negations_leave_the_first_step_free() -> None:
    automaton = built(Sequence((Negation(A), B), (NEXT,)))
    assert moves(automaton) == {"start : B !0"}


def test_the_branches_of_a_choice_are_rivals_under_skip_till_next() -> None:
    automaton = built(Sequence((A, Choice((B, C))), (NEXT,)))
    (to_b, to_c) = (edge for edge in automaton.edges if edge.source != START)
    assert automaton.edges[to_b.rivals[0]] is to_c
    assert automaton.edges[to_c.rivals[0]] is to_b


def test_optional_steps_are_no_rivals_of_what_follows_them() -> None:
    automaton = built(Sequence((A, Optional(B), C), (NEXT, NEXT)))
    assert all(edge.rivals == () for edge in automaton.edges)


def test_any_other_operator_knows_no_rivals() -> None:
    automaton = built(Sequence((A, Choice((B, C))), (ANY,)))
    assert all(edge.rivals == () for edge in automaton.edges)


def test_the_operator_before_a_group_holds_for_its_first_step_only() -> None:
    automaton = built(Sequence((A, Repetition(Sequence((Optional(B), C), (NEXT,)), 1, None, STRICT)), (ANY,)))
    assert "A : B enter0" in moves(automaton)
    assert "A ; C enter0 !0" in moves(automaton)
    assert "C , B loop0" in moves(automaton)
    assert "C ; C loop0 !0" in moves(automaton)


def test_the_members_of_an_all_start_apart_and_meet() -> None:
    automaton = built(Sequence((A, AnyOrder((B, Sequence((C, D), (ANY,))))), (ANY,)))
    (unordered,) = automaton.unordered
    assert "A : ALL" in moves(automaton)
    assert [len(member.accepts) for member in unordered.members] == [1, 1]
    assert ends(automaton) == {"ALL"}


def test_equal_edges_are_one() -> None:
    choice = Choice((Sequence((Optional(A), B), (ANY,)), Sequence((Optional(C), D), (ANY,))))
    automaton = built(Sequence((A, choice), (ANY,)))
    assert len(automaton.edges) == len(set(automaton.edges))
