"""Quotients of integers and decimals: every digit where they end, else 28 places."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from sparql_gpm.numeric import calculate, number, numeric_literal
from sparql_gpm.terms import XSD, Literal
from tests.reference.functions import function


def divided(top: Literal, bottom: Literal) -> str:
    numbers = number(top), number(bottom)
    assert numbers[0] is not None and numbers[1] is not None
    found = numeric_literal(calculate("/", *numbers))
    assert found.datatype == XSD + "decimal"
    return found.lexical


@pytest.mark.parametrize(
    ("top", "bottom", "quotient"),
    [
        ("1", "3", "0.3333333333333333333333333333"),
        ("2", "3", "0.6666666666666666666666666667"),
        ("1", str(2**40), "0.0000000000009094947017729282379150390625"),
        ("1", str(10**60), "0." + "0" * 59 + "1"),
        ("1", str(3 * 10**30), "0"),
        (str(10**30), "3", "3" * 30 + "." + "3" * 28),
        ("6", "3", "2"),
    ],
)
def test_digits_that_end_are_kept(top: str, bottom: str, quotient: str) -> None:
    assert divided(Literal(top, XSD + "integer"), Literal(bottom, XSD + "integer")) == quotient


def test_quotients_are_those_of_the_reference() -> None:
    dice = Random(3)
    for _ in range(1500):
        top, bottom = drawn(dice), drawn(dice)
        if Fraction(bottom.lexical):
            assert divided(top, bottom) == function("/", [top, bottom]).lexical, (top, bottom)


def drawn(dice: Random) -> Literal:
    long = 10 ** dice.randint(1, 60)
    whole = dice.choice(
        [dice.randint(-9, 9), dice.randint(-long, long), 2 ** dice.randint(1, 200), 5 ** dice.randint(1, 50)]
    )
    if dice.random() < 0.5:
        return Literal(str(whole), XSD + "integer")
    return Literal(f"{whole}.{dice.randint(0, long)}", XSD + "decimal")
