from __future__ import annotations

import pytest

from automata.plan.expression import AnyOrder, Optional, Repetition, Sequence, Span, Step
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from tests.lang.notation import notation
from tests.lang.texts import query_of, sequence_of, text_of

READINGS = {
    "A": "seq(A)",
    "A , B ; C : D": "seq(A , B ; C : D)",
    "A:B": "seq(A : B)",
    "A, B, C,": "seq(A , B , C)",
    "(A)": "seq(A)",
    "((A))+": "seq(repeat(A, 1..*, default))",
    "A & B | C ; D": "seq(choice(both(A, B), C) ; D)",
    "A ; B | C & D": "seq(A ; choice(B, both(C, D)))",
    "A | B | C": "seq(choice(A, B, C))",
    "A & B & C": "seq(both(A, B, C))",
    "A & (B | C)": "seq(both(A, choice(B, C)))",
    "(A & B) | C": "seq(choice(both(A, B), C))",
    "((A;B) | (C;D))": "seq(choice(seq(A ; B), seq(C ; D)))",
    "(A ; B) : C": "seq(A ; B : C)",
    "A+": "seq(repeat(A, 1..*, default))",
    "A,+": "seq(repeat(A, 1..*, ,))",
    "A;+": "seq(repeat(A, 1..*, ;))",
    "A:+": "seq(repeat(A, 1..*, :))",
    "X;A*": "seq(X ; optional(repeat(A, 1..*, default)))",
    "X;A:*;Y": "seq(X ; optional(repeat(A, 1..*, :)) ; Y)",
    "A{2}": "seq(repeat(A, 2..2, default))",
    "A{2,}": "seq(repeat(A, 2..*, default))",
    "A;{2,3}": "seq(repeat(A, 2..3, ;))",
    "A{ 2 , 3 }": "seq(repeat(A, 2..3, default))",
    "X;A{0,3}": "seq(X ; optional(repeat(A, 1..3, default)))",
    "X;A{0,}": "seq(X ; optional(repeat(A, 1..*, default)))",
    "A{007}": "seq(repeat(A, 7..7, default))",
    "X ; A? ; Y": "seq(X ; optional(A) ; Y)",
    "X ; A! ; Y": "seq(X ; not(A) ; Y)",
    "X ; (A ; B)! ; Y": "seq(X ; not(seq(A ; B)) ; Y)",
    "(A ; B),+": "seq(repeat(seq(A ; B), 1..*, ,))",
    "(A | B)+": "seq(repeat(choice(A, B), 1..*, default))",
    "ALL(A, B)": "seq(all(A, B))",
    "all(A+, seq(B : C), (D | E))": "seq(all(repeat(A, 1..*, default), seq(B : C), choice(D, E)))",
    "X : ALL(A, B):+ : Y": "seq(X : repeat(all(A, B), 1..*, :) : Y)",
    "X : ALL(A, B)? : Y": "seq(X : optional(all(A, B)) : Y)",
    "ALL(SEQ(A : B? : C), D)": "seq(all(seq(A : optional(B) : C), D))",
    "From ; Minutes : Select": "seq(From ; Minutes : Select)",
    "A ; WITHIN 5 MINUTES B": "seq(A ; <=300 B)",
    "A;within 1500 milliseconds(B|C)": "seq(A ; <=1.5 choice(B, C))",
    "A ; WITHIN 2 SECONDS (B : C) , D": "seq(A ; <=2 B : C , D)",
    "(A , WITHIN 1 SECOND B) : C": "seq(A , <=1 B : C)",
    "A ; B;+ WITHIN 1 HOUR": "seq(A ; within(repeat(B, 1..*, ;), 3600))",
    "A ; B* WITHIN 1 SECOND": "seq(A ; optional(within(repeat(B, 1..*, default), 1)))",
    "A ; (B;{0,2}) WITHIN 1 SECOND": "seq(A ; within(seq(optional(repeat(B, 1..2, ;))), 1))",
    "(A ; B) WITHIN 1 DAY : C": "seq(within(seq(A ; B), 86400) : C)",
    "((A ; B) WITHIN 2 SECONDS)+ WITHIN 9 SECONDS": (
        "seq(within(repeat(seq(within(seq(A ; B), 2)), 1..*, default), 9))"
    ),
    "ALL(A, B) WITHIN 1 SECOND": "seq(within(all(A, B), 1))",
    "ALL(A:+ WITHIN 1 SECOND, SEQ(B ; WITHIN 1 SECOND C))": ("seq(all(within(repeat(A, 1..*, :), 1), seq(B ; <=1 C)))"),
    "A ; B! WITHIN 15 MINUTES ; C": "seq(A ; not(B, 900) ; C)",
    "A ; ((B ; C) WITHIN 2 SECONDS)! WITHIN 3 SECONDS ; D": "seq(A ; not(seq(within(seq(B ; C), 2)), 3) ; D)",
    "Seconds ; WITHIN 2 SECONDS Seconds": "seq(Seconds ; <=2 Seconds)",
    "A++": "seq(repeat(A, 1..* possessive, default))",
    "A ; B;++ , C,{2,5}+": "seq(A ; repeat(B, 1..* possessive, ;) , repeat(C, 2..5 possessive, ,))",
    "A;B*+;(C;D){0,2}+": "seq(A ; optional(repeat(B, 1..* possessive, default)) ; "
    "optional(repeat(seq(C ; D), 1..2 possessive, default)))",
    "ALL(A;++, B++)": "seq(all(repeat(A, 1..* possessive, ;), repeat(B, 1..* possessive, default)))",
    "A # after A; (\n ; B": "seq(A ; B)",
}


@pytest.mark.parametrize(("text", "reading"), READINGS.items())
def test_a_sequence_is_read_as_its_precedence_says(text: str, reading: str) -> None:
    assert notation(sequence_of(text)) == reading


def test_a_sequence_may_stand_before_the_brace() -> None:
    text = text_of("A ; B").replace("WHERE {\n  SEQ(A ; B)", "SEQ(A ; B) WHERE {")
    assert notation(parse(text).sequence) == "seq(A ; B)"
    text = text_of("A ; B").replace("WHERE {\n  SEQ(A ; B)", "WHERE SEQ (A ; B) {")
    assert notation(parse(text).sequence) == "seq(A ; B)"


def test_every_part_of_a_sequence_knows_its_place() -> None:
    query = query_of("A ; (B , C);+ : ALL(D, E?)".replace("E?", "E"))
    sequence = query.sequence
    assert isinstance(sequence, Sequence)
    step, repeat, any_order = sequence.items
    assert isinstance(step, Step) and isinstance(repeat, Repetition) and isinstance(any_order, AnyOrder)
    assert written(query, sequence.span) == "SEQ(A ; (B , C);+ : ALL(D, E))"
    assert [written(query, span) for span in sequence.operator_spans] == [";", ":"]
    assert written(query, step.span) == "A"
    assert written(query, repeat.span) == ";+"
    assert written(query, repeat.inner.span) == "(B , C)"
    assert written(query, any_order.span) == "ALL(D, E)"


def test_what_may_be_left_out_keeps_the_place_of_its_quantifier() -> None:
    query = query_of("A ; B:{0,4}")
    assert isinstance(query.sequence, Sequence)
    optional = query.sequence.items[1]
    assert isinstance(optional, Optional) and isinstance(optional.inner, Repetition)
    assert written(query, optional.span) == written(query, optional.inner.span) == ":{0,4}"


def test_one_name_may_stand_twice() -> None:
    assert notation(sequence_of("A ; B ; A")) == "seq(A ; B ; A)"


def written(query: Query, span: Span) -> str:
    return query.text[span.start : span.end]
