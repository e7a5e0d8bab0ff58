"""Traffic sensors on three junctions of each road: congestion levels from 0 (free) to 10 (standing).

The first junction reports on its own; the other two report together, at exactly the same time, or one of them alone. A
jam at the first junction of a road spreads to the others some minutes later, or dissolves.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.event_files import Clock, Event, Example, integer, main

SSN = "http://purl.oclc.org/NET/ssnx/ssn#"
SAO = "http://purl.oclc.org/NET/sao/ssn#"
NS = "http://example/traffic/"
ROADS = 60
JAM_SHARE = 0.006  # of the moments
SPREAD_MS = 4 * 60_000  # how long a jam takes to the next junctions


def _observation(road: int, level: int) -> tuple[str, ...]:
    return (
        f"<{NS}road{road}> <{SSN}observedProperty> <{NS}congestion>",
        f"<{NS}road{road}> <{SAO}hasValue> {integer(level)}",
    )


def events(rng: random.Random) -> Iterator[Event]:
    """Endless; about one a second."""
    clock = Clock(rng, "2026-03-02T06:00:00+00:00", 1000)
    spreading: list[tuple[int, int, int]] = []  # (due, road, level), soonest first
    number = 0

    def event(stream: str, time_ms: int, road: int, level: int) -> Event:
        nonlocal number
        number += 1
        return Event(stream, time_ms, f"{NS}{stream}/{number}", _observation(road, level))

    while True:
        time_ms = clock.tick()
        road, level, kind = rng.randrange(ROADS), rng.randrange(4), rng.random()
        if spreading and spreading[0][0] <= time_ms:
            _, road, jam = spreading.pop(0)
            second = jam + rng.randrange(-1, 3)  # one time in four below the first junction: it dissolves
            yield event("second", time_ms, road, second)
            yield event("third", time_ms, road, second + rng.randrange(2))
        elif kind < JAM_SHARE:
            jam = rng.randrange(4, 8)
            spreading.append((time_ms + SPREAD_MS, road, jam))
            yield event("first", time_ms, road, jam)
        elif kind < 0.5:
            yield event("first", time_ms, road, level)
        elif kind < 0.8:
            yield event("second", time_ms, road, level)
            yield event("third", time_ms, road, rng.randrange(4))
        else:
            yield event("second" if kind < 0.9 else "third", time_ms, road, rng.randrange(8))


EXAMPLE = Example(__doc__, ("first", "second", "third"), events, {})

if __name__ == "__main__":
    main(EXAMPLE)
