"""The reasons that evaluators share: golden texts in the words of `explain` and of `--evaluator`."""

from __future__ import annotations

import pytest

from automata.plan.refusals import Refusal, first_refusal
from spaseq.algebra.build import build
from spaseq.errors import InputError
from spaseq.lang.parse import parse
from spaseq.physical.applicability import why_no_registers
from spaseq.physical.plan import PROPAGATION
from spaseq.physical.planner import plan_query
from spaseq.physical.program import Compiled, compile_program

S, T = "WITHIN 9 SECONDS", "FROM STREAM S <http://ex.org/s>"
TWO = f"{T} FROM STREAM R <http://ex.org/r>"
HOPS = "WITHIN 9 SECONDS EVERY 6 SECONDS"
COUNTED = "WITHIN 9 EVENTS SLIDING PARTITION BY ?k"
CEA, LAZY, REGISTERS, ADAPTIVE = "cea", "lazy", "registers", "adaptive"
CASES = (
    (Refusal.STREAMS, "A ; F", S, "events of several streams are not totally ordered", {PROPAGATION, CEA}),
    (Refusal.CONDITIONS, "B ; D", S, "a condition compares the steps by more than equality", {PROPAGATION, CEA}),
    (
        Refusal.LIMITS,
        "A ; WITHIN 5 SECONDS B",
        S,
        "a limit compares the times of events, which are not kept",
        {PROPAGATION, CEA, REGISTERS},
    ),
    (Refusal.NEGATION, "A ; B! ; A", S, "it has a negation", {CEA, REGISTERS}),
    (Refusal.OPTIONAL, "A ; B? ; A", S, "it has an optional step", {CEA, REGISTERS}),
    (
        Refusal.POSSESSIVE,
        "A ; B;++ ; A",
        S,
        "a possessive repetition asks whether it could go on",
        {PROPAGATION, CEA, LAZY, ADAPTIVE, REGISTERS},
    ),
    (Refusal.ANY_ORDER, "ALL(A, B)", S, "it has an ALL( )", {PROPAGATION, CEA, REGISTERS}),
    (
        Refusal.CONJUNCTION,
        "A & B",
        S,
        "a conjunction takes several events at one time",
        {PROPAGATION, CEA, REGISTERS},
    ),
    (
        Refusal.HOP,
        "A : B",
        HOPS,
        "EVERY leaves gaps between the windows that are evaluated together",
        {CEA, LAZY, ADAPTIVE, REGISTERS},
    ),
    (
        Refusal.OWN_COUNTS,
        "A : B",
        COUNTED,
        "each partition counts the events of its window by itself",
        {CEA, ADAPTIVE},
    ),
    (
        Refusal.KEYS,
        "B ; C ; A",
        S,
        "some steps but not all share a variable, so that it is not one key",
        {PROPAGATION, CEA},
    ),
)
BODIES = {
    "A": "A ON S { ?a a :A ; :k ?k }",
    "B": "B ON S { ?b a :B ; :k ?k ; :v ?x }",
    "C": "C ON S { ?c a :C ; :v ?x }",
    "D": "D ON S { ?d a :D ; :k ?k ; :v ?y FILTER(?y > ?x) }",
    "E": "E ON S { ?e a :E ; :k ?k }",
    "G": "G ON S { ?g a :G ; :k ?k }",
    "F": "F ON R { ?f a :F ; :k ?k }",
}


def compiled(sequence: str, head: str, counted: str = "COUNT(*)") -> Compiled:
    """A query OVER MATCHES over one stream, or over two if it has F; MAX has windows that hop evaluated one by one."""
    words = sequence.replace("ALL", "").replace("WITHIN", "").replace("SECONDS", "")
    defines = " ".join(f"DEFINE GPM {body}" for name, body in BODIES.items() if name in words)
    select = f"SELECT {'MAX ' * ('EVERY' in head)}OVER MATCHES ({counted} AS ?n)"
    streams = TWO if "F" in words else T
    text = f"PREFIX : <http://ex.org/> {select} {head} {streams} WHERE {{ SEQ({sequence}) {defines} }}"
    return compile_program(build(parse(text, "q")))


def test_each_shared_reason_has_a_golden_text() -> None:
    assert [refusal for refusal, *_ in CASES] == list(Refusal)


@pytest.mark.parametrize(("refusal", "sequence", "head", "text", "refusing"), CASES)
def test_all_evaluators_say_the_same_reason_in_the_same_words(
    refusal: Refusal, sequence: str, head: str, text: str, refusing: frozenset[str]
) -> None:
    over = compiled(sequence, head)
    said = {REGISTERS: why_no_registers(over), **dict(plan_query(over, "nfa").others)}
    assert refusal == text and first_refusal(over.plan, refusal) is refusal
    assert {name for name in (PROPAGATION, CEA, LAZY, ADAPTIVE, REGISTERS) if said.get(name) == text} == refusing
    for name in sorted(refusing & {CEA, LAZY, ADAPTIVE}):
        with pytest.raises(InputError) as refused:
            plan_query(over, name)
        assert text in str(refused.value)


@pytest.mark.parametrize(
    ("sequence", "twice"),
    [
        ("(A : E)+", True),
        ("(A : (E | G)){2,3}", True),
        ("(A | (E : G))+", True),
        ("((A : E)+ : G)+", True),
        ("A+ : E+", False),
        ("(A | E)+", False),
        ("(A : E+)+", False),
        ("((A | E)+ : G)+", False),
    ],
)
def test_a_value_of_an_iteration_that_two_steps_bind_is_not_counted_step_by_step(sequence: str, twice: bool) -> None:
    """On 8b7edbed propagation counted it once for each of them; pair 11897 of seed 44."""
    planned = plan_query(compiled(sequence, "WITHIN 9 SECONDS PARTITION BY ?k", "SUM(COUNT(?k))"))
    reason = "an aggregate over iterations is asked of a variable that two steps of one iteration bind"
    assert (dict(planned.others).get(PROPAGATION) == reason) is twice
    assert (planned.evaluator == PROPAGATION) is not twice
