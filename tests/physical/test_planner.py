"""Which evaluator is chosen, and what is said when the one asked for cannot run the query."""

from __future__ import annotations

import pytest

from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError
from spaseq.lang.parse import parse
from spaseq.physical.planner import Choice, choose_evaluator

BODIES = {
    "A": "?a a :A ; :k ?k",
    "B": "?b a :B ; :k ?k ; :v ?x",
    "C": "?c a :C ; :v ?x",
    "E": "?e a :E ; :k ?k",
    "D": "?d a :D ; :k ?k ; :v ?y FILTER(?y > ?x)",
}


def chosen(sequence: str, evaluator: str = "auto", head: str = "WITHIN 9 SECONDS") -> Choice:
    """The choice for a sequence of the GPMs above."""
    return choose_evaluator(meaning(sequence, head), evaluator)


def meaning(sequence: str, head: str = "WITHIN 9 SECONDS") -> TemporalQuery:
    """The sequence as a query."""
    streams = "FROM STREAM S <http://ex.org/s>"
    defines = " ".join(f"DEFINE GPM {name} ON S {{ {body} }}" for name, body in BODIES.items() if name in sequence)
    text = f"PREFIX : <http://ex.org/> SELECT * {head} {streams} WHERE {{ SEQ({sequence}) {defines} }}"
    return build(parse(text, "q"))


@pytest.mark.parametrize("sequence", ["A", "A ; B", "A ; A", "A : B:+ , E", "(A | B) ; E", "A : (B | E):{2,3}"])
def test_steps_joined_by_one_key_or_by_nothing_are_for_complex_event_automata(sequence: str) -> None:
    choice = chosen(sequence)
    assert choice.name == "cea"
    assert "equality on a key" in choice.reason
    assert dict(choice.others)["nfa"].startswith("it could")


@pytest.mark.parametrize(
    ("sequence", "head", "reason"),
    [
        ("B ; D", "WITHIN 9 SECONDS", "a condition compares the steps by more than equality"),
        ("A ; B! ; A", "WITHIN 9 SECONDS", "it has a negation"),
        ("A ; B? ; A", "WITHIN 9 SECONDS", "it has an optional step"),
        ("A & B", "WITHIN 9 SECONDS", "a conjunction takes several events at one time"),
        ("B ; C ; A", "WITHIN 9 SECONDS", "some steps but not all share a variable, so that it is not one key"),
        ("B;+ ; A", "WITHIN 9 SECONDS", "some steps but not all share a variable, so that it is not one key"),
        ("A ; B", "WITHIN 9 EVENTS PARTITION BY ?k", "each partition counts the events of its window by itself"),
    ],
)
def test_where_they_do_not_apply_the_reason_is_given(sequence: str, head: str, reason: str) -> None:
    choice = chosen(sequence, head=head)
    assert choice.name == "nfa"
    assert dict(choice.others)["cea"] == reason
    with pytest.raises(InputError, match="cannot be run with --evaluator cea") as refused:
        chosen(sequence, "cea", head)
    assert reason in str(refused.value)
    assert refused.value.hint


def test_members_in_any_order_are_looked_for_lazily_the_rarest_first() -> None:
    choice = chosen("ALL(A, B)")
    assert choice.name == "adaptive"
    assert "the rarest first" in choice.reason
    assert choice.reason.endswith("it begins with lazy chain automata")
    assert dict(choice.others)["cea"] == "it has an ALL( )"
    assert "rates are not known" in dict(chosen("B : D").others)["lazy"]


def test_an_evaluator_that_is_asked_for_and_applies_is_taken() -> None:
    assert (chosen("A ; B", "nfa").name, chosen("A ; B", "cea").name) == ("nfa", "cea")
    assert dict(chosen("A ; B", "nfa").others)["cea"] == "nfa is asked for"


def test_steps_that_can_be_looked_for_in_any_order_are_planned_anew_as_rates_are_measured() -> None:
    choice = chosen("A : B : D")
    assert choice.name == "nfa"
    assert choice.reason.count("where the input is short") == 1
    short = choose_evaluator(meaning("A : B : D"), compiled_pays=False)
    assert short.name == "adaptive"
    assert short.reason.endswith("it begins with run-based NFA^scep")
    assert choice.replanning == short.replanning
    assert "2 times fewer" in short.replanning
    assert not chosen("A ; B ; D").replanning


def test_what_each_evaluator_would_cost_is_estimated() -> None:
    assert [line.partition(":")[0] for line in chosen("A : E").estimates] == [
        "cea",
        "with 100 solutions of each step in a window and 10% of related pairs joining",
        "with the last step 100 times rarer",
    ]
    assert chosen("B ; D").estimates == ()


@pytest.mark.parametrize(
    ("sequence", "head", "reason"),
    [
        ("A : B", "WITHIN 9 EVENTS PARTITION BY ?k", "each partition counts the events of its window by itself"),
        ("A ; B", "WITHIN 9 SECONDS", "';' stands between two steps"),
    ],
)
def test_where_no_other_evaluator_may_take_over_the_reason_is_given(sequence: str, head: str, reason: str) -> None:
    assert dict(chosen(sequence, head=head).others)["adaptive"].startswith(reason)
    with pytest.raises(InputError, match="cannot be run with --evaluator adaptive"):
        chosen(sequence, "adaptive", head)


def test_one_step_is_not_planned_anew() -> None:
    assert dict(chosen("A & B").others)["adaptive"] == "it has one step only"
