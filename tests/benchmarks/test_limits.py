"""The benchmark of limits: its peers in plain Python find as many matches."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.limits import DAY, PATTERNS, PEERS, SECOND, Stream, measure, plain


@pytest.mark.parametrize("limit", [2 * SECOND, 30 * SECOND, None])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_plain_python_finds_as_many_matches(pattern: str, limit: int | None) -> None:
    rng, of = np.random.default_rng(3), PATTERNS[pattern]
    events = Stream((rng.random(1500) < 0.3).astype(np.int64), rng.integers(1, 40, 1500))
    found, peer = measure(pattern, of(limit), events, 100), plain(pattern, PEERS[of](limit or DAY), events)
    assert found.matches == peer.matches > 0
    assert limit is None or found.held <= measure(pattern, of(None), events, 100).held
