"""A damaged folder gives the same rows, or a refusal, or says what is damaged: draws over every file and region."""

from __future__ import annotations

from collections import Counter

from tests.drawn import drawn as examples
from tests.service.damage import drawn, prepared


def test_no_damage_gives_another_row_or_loses_an_event_in_silence() -> None:
    outcomes = Counter[str]()
    with prepared(1) as (some, scratch):
        for number in range(examples(60)):
            _, outcome = drawn(2, number, some, scratch)
            outcomes[outcome] += 1
    assert outcomes["refused"] > outcomes.total() / 2 and outcomes["not noticed"] < outcomes.total() / 10
