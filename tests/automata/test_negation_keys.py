"""Negated steps are looked for by the join key of the match, so that the pairs looked at grow with the events."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from automata.matches import negation
from automata.matches.negation import NegationIndex
from benchmarks.limits import SECOND, Stream, measure, unanswered
from spaseq.lang.parse import parse
from tests.pairs import difference
from tests.random_pairs import Pair, expected_rows, shown
from tests.strategies.late import LateText
from tests.strategies.limited import LimitedLateText
from tests.strategies.planted import planted_streams
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import drawn_cuts, interleaved


def test_random_pairs_equal_the_reference_where_every_negation_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negation, "_PAIRS_PER_ROW", -1)
    keyed, join_key = [], NegationIndex._join_key
    monkeypatch.setattr(NegationIndex, "_join_key", lambda *given: keyed.append(join_key(*given)) or keyed[-1])
    rows = 0
    for number in range(60):
        dice = SeededDice(Random(f"negated {number}"))
        query = parse((LateText, LimitedLateText)[number % 2](dice).whole(), "q")
        arrived = tuple(interleaved(planted_streams(dice, query, 6)))
        pair = Pair(query, arrived, tuple(drawn_cuts(dice, len(arrived))) if dice.chance(50) else (len(arrived),))
        expected = expected_rows(pair)
        rows += len(expected)
        assert not difference("runs", pair, expected), shown(pair)
    assert rows > 30
    assert sum(map(bool, keyed)) > 12


def test_the_pairs_looked_at_grow_with_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [looked_at(events, unanswered(None), monkeypatch) for events in (4000, 8000)]
    assert 0 < seen[1] <= 2.5 * seen[0]
    assert looked_at(4000, unanswered(100 * SECOND), monkeypatch) <= 16 * 4000


def looked_at(events: int, expression: object, monkeypatch: pytest.MonkeyPatch) -> int:
    """The pairs of matches and solutions of B that are compared, one in four events being a B of many keys."""
    fits, pairs = NegationIndex._fits, [0]

    def counted(*given: object) -> object:
        pairs[0] += len(given[-1])  # type: ignore[arg-type]
        return fits(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(NegationIndex, "_fits", counted)
        rng = np.random.default_rng(1)
        stream = Stream((rng.random(events) < 0.25).astype(np.int64), rng.integers(1, events, events))
        measure("", expression, stream, 1000)  # type: ignore[arg-type]
    return pairs[0]
