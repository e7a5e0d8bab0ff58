"""Warnings come where a query is doubtful (tests/golden/errors/warned_*), and not where it only resembles one."""

from __future__ import annotations

import pytest

from spaseq.lang.parse import check
from tests.lang.texts import text_of

PREV = "?s :p ?b FILTER({})"
NONE: dict[str, str] = {}

CLEAN = [
    ("A ; B+ ; C", {"B": "?s :p ?b ; :at ?place"}, ""),
    ("A+ ; B", NONE, "PARTITION BY ?s"),
    ("A{1} ; B", NONE, ""),
    ("A ; B+ ; C", {"C": "?s :p ?c FILTER(?c > AVG(?b) && ?c > LAST(?b))"}, ""),
    ("A ; B+", {"A": "?s :p ?a FILTER(?a > ?b)"}, ""),
    ("(A ; B)+", NONE, ""),
    ("A+ | B", NONE, ""),
    ("A ; B+", {"B": PREV.format("!BOUND(PREV(?b)) || ?b > PREV(?b)")}, ""),
    ("A ; B+", {"B": PREV.format("COALESCE(?b > PREV(?b), true)")}, ""),
    ("A ; B+", {"B": PREV.format("COUNT(?b) = 1 || ?b > PREV(?b)")}, ""),
    ("A ; B+", {"B": PREV.format("IF(COUNT(?b) = 1, true, ?b > PREV(?b))")}, ""),
    ("A ; B{2,} ; C", {"C": "?s :p ?c FILTER(?c > PREV(?b))"}, ""),
    ("A : B:{1,3}", NONE, ""),
    ("A : (B:+)! : C", NONE, ""),
    ("A ; B;+", NONE, ""),
    ("A ; B;++", NONE, ""),
    ("N! ; A? ; B;++", NONE, ""),
    ("A ; B", {"B": "?s :p ?b FILTER(?b > 3 && STR(?b) > '3' && ?b = '3' && 1 = '1'^^<http://x/t>)"}, ""),
    ("A ; B+ ; C", {"C": "?s :p ?c FILTER(MAX(?b) > 'm' && GROUP_CONCAT(?b) = 'a b')"}, ""),
    ("A | B", {"A": "?x :p ?a", "B": "?y :p ?b"}, ""),
    ("A ; B", {"A": "?x :p ?a", "B": "?y :p ?b FILTER(?b > ?a)"}, ""),
    ("A ; N! ; B", {"N": "?n :reset ?r"}, ""),
    ("A & B", {"A": "?x :p ?a", "B": "?y :p ?b"}, ""),
    ("A ; B", {"A": "?x :p ?a", "B": ":alarm :is :on"}, ""),
    ("A", {"A": "?x :p ?a"}, ""),
]


@pytest.mark.parametrize(("sequence", "bodies", "header"), CLEAN)
def test_a_query_that_only_resembles_a_doubtful_one_has_no_warning(
    sequence: str, bodies: dict[str, str], header: str
) -> None:
    assert check(text_of(sequence, bodies=bodies, header=header))[1] == ()


@pytest.mark.parametrize("selector", ["MAX", "NEXT", "LAST"])
def test_a_selector_needs_a_partition_where_steps_share_a_variable(selector: str) -> None:
    form = f"SELECT {selector} *"
    assert [problem.code for problem in check(text_of("A ; B", form=form))[1]] == ["SQ108"]
    assert check(text_of("A ; B", form=form, header="PARTITION BY ?s"))[1] == ()
    assert check(text_of("A : B:+", form=form, header="PARTITION BY ?s"))[1] == ()
    assert check(text_of("A+", form=form))[1] == ()


@pytest.mark.parametrize("selector", ["ALL", "STRICT"])
def test_other_selectors_compare_no_matches(selector: str) -> None:
    assert check(text_of("A ; B", form=f"SELECT {selector} *"))[1] == ()


STARTS = ["A;++", "N! ; A;++ ; B", "A | B;{2,}+", "(A;++ ; B);+", "A;*+ ; B", "ALL(A, C;++)"]


@pytest.mark.parametrize("sequence", STARTS)
@pytest.mark.parametrize(
    ("skip", "warned"), [("NO SKIP", True), ("SKIP PAST LAST EVENT", False), ("CONSUME ALL", True)]
)
def test_a_possessive_repetition_that_opens_the_sequence_needs_a_skip(sequence: str, skip: str, warned: bool) -> None:
    text = text_of(sequence, header="PARTITION BY ?s").rstrip() + f"\nAFTER MATCH {skip}\n"
    assert [problem.code for problem in check(text)[1]] == ["SQ114"] * warned


CONDITIONS = [
    ("FILTER (?a < ?b)", ""),
    ("BIND (?b - ?a AS ?d) FILTER (?d > 3)", ""),
    ("BIND (?b - ?a AS ?d)", "SQ110"),
    ("FILTER (?a < 3)", "SQ110"),
]


@pytest.mark.parametrize(("beside", "code"), CONDITIONS)
def test_a_condition_beside_the_defines_relates_steps_and_a_value_does_not(beside: str, code: str) -> None:
    text = text_of("A ; B", bodies={"A": "?x :p ?a", "B": "?y :p ?b"}).rstrip().removesuffix("}") + f"  {beside}\n}}\n"
    assert [problem.code for problem in check(text)[1]] == ([code] if code else [])
