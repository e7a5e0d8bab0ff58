"""The worked cases of docs/how-to/why-not.md: one for each cause, with the answer as text and as JSON."""

from __future__ import annotations

import json
import re

import pytest

from spaseq.outputs.attempts import CAUSES
from tests.why_not_cases import GOLDEN, PAGE, Case, answers, cases

CASES = list(cases())
MISTAKES = {
    "a misspelt predicate": "write <http://x/price>, which events have,",
    "a comma for a semicolon": "write ';' for ','",
    "a number written in two ways": "compare the values: FILTER(?w_B = ?w)",
}
"""Real mistakes, and how the first attempt of the answer names them."""


def test_every_cause_has_a_worked_case() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    named = [cause for row in rows for cause in re.findall(r"`([\w-]+)`", row)]
    assert sorted(named) == sorted(CAUSES)
    assert {*CAUSES, *MISTAKES} == {case.title for case in CASES}
    assert {case.golden for case in CASES} == {*GOLDEN.iterdir()}


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_a_case_has_the_answer_that_is_printed(case: Case) -> None:
    text, found = answers(case)
    assert text == case.text
    assert found == case.golden.read_text(encoding="utf-8")
    attempts = json.loads(found)["attempts"]
    if case.title in MISTAKES:
        assert MISTAKES[case.title] in attempts[0]["repair"]
    else:
        assert any(case.title in (each["cause"], *each["also"]) for each in attempts)
