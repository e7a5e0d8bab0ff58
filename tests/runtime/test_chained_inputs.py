"""Queries that read a derived stream and a plain one see each event once, whatever is visited in between."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from spaseq.engine.live import Engine
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from tests.driving import comparable

NONE = """REGISTER STREAM <http://x/first> AS CONSTRUCT { ?a <http://x/p> ?v } WITHIN 3 EVENTS FROM STREAM S <http://x/s>
WHERE { SEQ(A) DEFINE GPM A ON S { ?a <http://x/p> ?v FILTER(?v = 'none') } }"""
OF_NONE = NONE.replace("<http://x/s>", "<http://x/first>").replace("<http://x/first> AS", "<http://x/second> AS")
BOTH = """SELECT * WITHIN 4 EVENTS FROM STREAM D <http://x/second> FROM STREAM S <http://x/s> WHERE {
SEQ(A ; B:{1,2}) DEFINE GPM A ON D, S { ?a <http://x/p> ?v } DEFINE GPM B ON D, S { ?b <http://x/p> ?w } }"""
EVENT = """<urn:e{0}> <http://www.w3.org/ns/prov#generatedAtTime> \
"2026-01-01T00:00:{1:02}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<urn:t{0}> <http://x/p> "{0}" <urn:e{0}> .
"""


@pytest.mark.parametrize("seed", range(10))
def test_a_derived_stream_without_events_changes_nothing(seed: int) -> None:
    events = [EVENT.format(number, number) for number in range(20)]
    ends = [0, *sorted(Random(seed).sample(range(1, 20), 3)), 20]
    found: list[list[Row]] = [[], []]
    for rows, producers in zip(found, ((), (NONE, OF_NONE)), strict=True):
        engine = Engine()
        for number, text in enumerate(producers):
            engine.register(parse(text, f"producer{number}"))
        engine.register(parse(BOTH, "both"), rows.append)
        for begin, end in pairwise(ends):
            engine.push_batch("http://x/s", "".join(events[begin:end]).encode(), "nquads")
        engine.close()
    assert found[0] and [comparable(row) for row in found[0]] == [comparable(row) for row in found[1]]


def test_a_query_that_comes_later_knows_how_far_a_derived_stream_is() -> None:
    """It waits for nothing, though nothing moves the derived stream any more."""
    engine, rows = Engine(), list[Row]()
    engine.register(parse(NONE, "none"))
    engine.push_batch("http://x/s", EVENT.format(1, 30).encode(), "nquads")
    later = (
        BOTH.replace("second", "first").replace("http://x/s>", "http://x/t>").replace("4 EVENTS", "20 SECONDS SLIDING")
    )
    engine.register(parse(later, "later"), rows.append)
    for second in (11, 12, 13):
        engine.push_batch("http://x/t", EVENT.format(second, second).encode(), "nquads")
    assert len(rows) == 1
