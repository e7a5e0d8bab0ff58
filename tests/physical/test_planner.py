"""Which evaluator is chosen, and what is said when the one asked for cannot run the query."""

from __future__ import annotations

import pytest

from spaseq.algebra.build import build
from spaseq.errors import InputError
from spaseq.lang.parse import parse
from spaseq.physical.describe import describe
from spaseq.physical.plan import Form, PhysicalPlan
from spaseq.physical.planner import plan_query
from spaseq.physical.program import Compiled, compile_program

BODIES = {
    "A": "?a a :A ; :k ?k",
    "B": "?b a :B ; :k ?k ; :v ?x",
    "C": "?c a :C ; :v ?x",
    "E": "?e a :E ; :k ?k",
    "D": "?d a :D ; :k ?k ; :v ?y FILTER(?y > ?x)",
}


def chosen(sequence: str, evaluator: str = "auto", head: str = "WITHIN 9 SECONDS") -> PhysicalPlan:
    """The plan for a sequence of the GPMs above."""
    return plan_query(compiled(sequence, head), evaluator)


def compiled(sequence: str, head: str = "WITHIN 9 SECONDS", end: str = "") -> Compiled:
    """The sequence as a query."""
    streams = "FROM STREAM S <http://ex.org/s>"
    defines = " ".join(f"DEFINE GPM {name} ON S {{ {body} }}" for name, body in BODIES.items() if name in sequence)
    text = f"PREFIX : <http://ex.org/> SELECT * {head} {streams} WHERE {{ SEQ({sequence}) {defines} }} {end}"
    return compile_program(build(parse(text, "q")))


@pytest.mark.parametrize("sequence", ["A", "A ; B", "A ; A", "A : B:+ , E", "(A | B) ; E", "A : (B | E):{2,3}"])
def test_steps_joined_by_one_key_or_by_nothing_are_for_complex_event_automata(sequence: str) -> None:
    plan = chosen(sequence)
    assert plan.evaluator == "cea"
    assert "equality on a key" in plan.reason
    assert dict(plan.others)["nfa"].startswith("it could")


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
    plan = chosen(sequence, head=head)
    assert plan.evaluator == "nfa"
    assert dict(plan.others)["cea"] == reason
    with pytest.raises(InputError, match="cannot be run with --evaluator cea") as refused:
        chosen(sequence, "cea", head)
    assert reason in str(refused.value)
    assert refused.value.hint


def test_members_in_any_order_are_looked_for_lazily_the_rarest_first() -> None:
    plan = chosen("ALL(A, B)")
    assert plan.evaluator == "adaptive"
    assert "the rarest first" in plan.reason
    assert plan.reason.endswith("it begins with lazy chain automata")
    assert dict(plan.others)["cea"] == "it has an ALL( )"
    assert "rates are not known" in dict(chosen("B : D").others)["lazy"]


def test_an_evaluator_that_is_asked_for_and_applies_is_taken() -> None:
    assert (chosen("A ; B", "nfa").evaluator, chosen("A ; B", "cea").evaluator) == ("nfa", "cea")
    assert dict(chosen("A ; B", "nfa").others)["cea"] == "nfa is asked for"


def test_steps_that_can_be_looked_for_in_any_order_are_planned_anew_as_rates_are_measured() -> None:
    long, short = (plan_query(compiled("A : B : D"), kernels=kernels) for kernels in (True, False))
    first = plan_query(compiled("A : B : D", "WITHIN 9 SECONDS", "LIMIT 1"))
    assert (long.evaluator, short.evaluator, first.evaluator) == ("adaptive", "adaptive", "nfa")
    assert dict(first.others)["adaptive"].startswith("LIMIT 1")
    assert short.reason.endswith("it begins with run-based NFA^scep")
    described = describe("", compiled("A : B : D")).evaluator
    assert described.on_short_input == ""
    assert "2 times fewer" in described.replanning
    ordered = describe("", compiled("A ; B ; D")).evaluator
    assert ordered.on_short_input.startswith("run-based NFA^scep, in columns, row at a time")
    assert not ordered.replanning


def test_the_cost_of_each_evaluator_is_estimated() -> None:
    assert [line.partition(":")[0] for line in describe("", compiled("A : E")).evaluator.estimates] == [
        "cea",
        "with 100 solutions of each step in a window and 10% of related pairs joining",
        "with the last step 100 times rarer",
    ]
    assert describe("", compiled("B ; D")).evaluator.estimates == ()


@pytest.mark.parametrize(
    ("sequence", "evaluator", "kernels", "form", "reason"),
    [
        ("A ; B", "cea", False, Form.KERNELS, "compiled code"),
        ("B ; D", "nfa", True, Form.KERNELS, "a register automaton"),
        ("B ; D", "nfa", False, Form.ROWS, "compiling its kernels"),
        ("A & B", "nfa", True, Form.ROWS, "a conjunction takes several events"),
        ("A : B", "adaptive", True, Form.ROWS, "the evaluators that replace each other"),
        ("A : B", "lazy", True, Form.COLUMNS, "buffered as columns"),
    ],
)
def test_the_plan_says_the_form_and_its_reason(
    sequence: str, evaluator: str, kernels: bool, form: Form, reason: str
) -> None:
    plan = plan_query(compiled(sequence), evaluator, kernels)
    assert plan.form is form and reason in plan.form_reason
    assert (plan.row_events_max > 0) == (form is Form.ROWS)


@pytest.mark.parametrize(
    ("window", "held"),
    [
        ("", "each key and window"),
        ("EVERY 1 SECOND", "each key and window"),
        ("EVERY 400 MILLISECONDS", "each key and pane"),
        ("SLIDING", "each event in the window"),
    ],
)
def test_the_plan_says_of_what_kernels_keep_aggregates_over_matches(window: str, held: str) -> None:
    text = f"""PREFIX : <http://ex.org/> SELECT OVER MATCHES ?k (COUNT(*) AS ?n) WITHIN 9 SECONDS {window}
      FROM STREAM S <http://ex.org/s> WHERE {{
        SEQ(A : A) DEFINE GPM A ON S {{ ?a a :A ; :k ?k }}
      }} GROUP BY ?k"""
    plan = plan_query(compile_program(build(parse(text, "q"))))
    assert plan.form is Form.KERNELS and held in plan.form_reason


def test_a_negation_that_looks_at_the_events_of_a_partition_keeps_runs_in_columns() -> None:
    assert chosen("A ; B! ; A", head="WITHIN 9 SECONDS PARTITION BY ?k").form is Form.ROWS
    counted = chosen("A ; B! ; A", head="WITHIN 9 EVENTS PARTITION BY ?k")
    assert counted.form is Form.COLUMNS and "the events of a partition" in counted.form_reason


def test_a_plan_for_long_slices_has_no_form_for_short_ones() -> None:
    plan = chosen("A & B")
    assert (plan.form, plan.in_columns().form, plan.in_columns().row_events_max) == (Form.ROWS, Form.COLUMNS, 0)
    assert plan.in_columns().in_columns() == plan.in_columns()


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
