"""What `explain` says of LIMIT 1: golden text, UPDATE_GOLDEN=1 rewrites it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spaseq.engine.described import describe
from spaseq.explain.text import to_text
from spaseq.lang.parse import parse

GOLDEN = Path(__file__).parents[1] / "golden" / "explain" / "happened.txt"


def explained(select: str, end: str) -> str:
    """Some trades rose above an earlier one before one fell below it."""
    text = f"""PREFIX pred: <http://example/>
    SELECT {select} WITHIN 2 MINUTES SLIDING FROM STREAM S1 <http://example/trades>
    WHERE {{ SEQ(A : B:+ : C)
      DEFINE GPM A ON S1 {{ ?company pred:price ?p1 }}
      DEFINE GPM B ON S1 {{ ?company pred:price ?p2 FILTER(?p2 > ?p1) }}
      DEFINE GPM C ON S1 {{ ?company pred:price ?p3 FILTER(?p3 < ?p1) }}
    }} {end}"""
    return to_text(describe(parse(text, "happened")))


def test_a_query_that_asks_whether_something_has_happened_is_explained_as_a_recogniser() -> None:
    text = explained("(true AS ?happened)", "LIMIT 1")
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("select", "end", "said"),
    [
        ("(true AS ?happened)", "LIMIT 1", "a recogniser"),
        ("?company", "LIMIT 1", "the first goes on alone"),
        ("?company", "LIMIT 2", None),
        ("?company", "AFTER MATCH CONSUME ALL LIMIT 1", None),
        ("?company", "", None),
    ],
)
def test_one_run_for_each_future_is_mentioned_where_it_is_kept(select: str, end: str, said: str | None) -> None:
    flat = " ".join(explained(select, end).split())
    assert ("LIMIT 1" in flat.partition("register automaton")[2]) == (said is not None)
    assert said is None or said in flat
