"""The kernel leaves the same triples as `EventBatch.distinct`."""

from __future__ import annotations

import numpy as np
import pytest

from sparql_gpm.columns import EventBatch
from sparql_gpm.reading.distinct_kernel import distinct


@pytest.mark.parametrize("seed", range(40))
def test_each_triple_of_an_event_stays_once(seed: int) -> None:
    draw = np.random.default_rng(seed)
    counts = draw.integers(0, draw.choice([2, 5, 200]), size=draw.integers(1, 12))
    offsets = np.concatenate(([0], np.cumsum(counts)))
    terms = (draw.integers(1, draw.choice([2, 4, 1 << 40]), size=int(offsets[-1])) for _ in range(3))
    times = np.arange(len(counts))
    events = EventBatch(times, np.zeros_like(times), [f"urn:e{n}" for n in times], offsets, *terms)
    found, wanted = distinct(events), events.distinct()
    assert found.offsets.tolist() == wanted.offsets.tolist()
    for left, right in zip(found.terms, wanted.terms, strict=True):
        assert left.tolist() == right.tolist()
