"""A query that pauses reads nothing, whoever shares its streams, and has all its rows in the end."""

from __future__ import annotations

import pytest

import spaseq
from tests.states.release import EVENTS, HALF, QUERIES, pushed

BESIDE = ("chain", "two", "counted", "negated")
"""Queries that read the same streams as most."""


def rows_of(name: str, pauses: bool) -> tuple[list[str], int]:
    """The rows of a query beside others, and the number of those that it had while it paused."""
    found: list[str] = []
    with spaseq.Engine(max_delay_ns=3 * 10**9) as engine:
        for other in ("made", *BESIDE):
            if other != name:
                engine.register(spaseq.parse(QUERIES[other], other))
        registered = engine.register(spaseq.parse(QUERIES[name], name), lambda row: found.append(str(row)))
        pushed(engine, EVENTS[: HALF // 2])
        before = len(found)
        if pauses:
            registered.pause()
        pushed(engine, EVENTS[HALF // 2 : HALF])
        meanwhile = len(found) - before
        if pauses:
            registered.resume()
        pushed(engine, EVENTS[HALF:])
    return found, meanwhile


@pytest.mark.parametrize("name", QUERIES)
def test_a_paused_query_has_no_row_and_misses_none(name: str) -> None:
    """So far one that derives a stream, or counts groups, was visited by those with whom it had shared an input."""
    expected, _ = rows_of(name, pauses=False)
    found, meanwhile = rows_of(name, pauses=True)
    assert found == expected and not meanwhile and found
