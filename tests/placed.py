"""A pair of a query and its streams elsewhere in the range of times, where sums and differences of int64 end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from spaseq.lang.numbers import NUMBER_MAX
from spaseq.lang.parse import parse
from tests.conformance.times import from_iso, to_iso
from tests.random_pairs import Pair
from tests.strategies.stream import SECOND

_TIMES: Mapping[str, int] = {
    "bottom": TIME_NS_MIN,
    "top": TIME_NS_MAX,
    **{f"{sign}2^{power}": int(f"{sign}1") << power for power in (60, 61, 62) for sign in ("", "-")},
}
WHOLE = "whole"
PLACES = (*_TIMES, WHOLE)
"""The first event's time is the first of all, the last one's is the last, one in the middle has a power of two; the
events are spread over the whole range, with windows and limits that are as much longer."""

_DURATION = re.compile(r"\b(\d+) (MILLI)?SECONDS?\b")
_START = re.compile(r'(?<=STARTING AT ")[^"]*')


def places_of(name: str | None) -> tuple[str, ...]:
    """The place with a name; `all`: each of them; None: none, where the events are is not changed."""
    return PLACES if name == "all" else () if name is None else (name,)


def placed(pair: Pair, place: str) -> Pair:
    """The pair at one of the `PLACES`; where it has an even number of events, STARTING AT moves with them."""
    times = sorted(time for _, time, _, _ in pair.arrived) or [0]
    if place == WHOLE:
        span = max(times[-1] - times[0], SECOND)
        return _stretched(pair, times[0], (TIME_NS_MAX - TIME_NS_MIN) * SECOND // span)
    among = {"bottom": times[0], "top": times[-1]}.get(place, times[len(times) // 2])
    return _moved(pair, among, _TIMES[place], 1, pair.query.text)


def _stretched(pair: Pair, first: int, second: int) -> Pair:
    """So many nanoseconds for each second."""

    def longer(duration: re.Match[str]) -> str:
        length = int(duration[1]) * second // (1000 if duration[2] else 1)
        return f"{min(length, NUMBER_MAX) // 10**6} MILLISECONDS"

    return _moved(pair, first, TIME_NS_MIN, second // 10**6 * 10**6, _DURATION.sub(longer, pair.query.text))


def _moved(pair: Pair, origin: int, to: int, second: int, text: str) -> Pair:
    """The pair whose time `origin` becomes `to`, and each second since then so many nanoseconds; 1: they stay."""

    def new(time: int) -> int:
        return to + (time - origin if second == 1 else (time - origin) * second // SECOND)

    def start(written: re.Match[str]) -> str:
        time = new(from_iso(written[0]))
        return to_iso(time) if TIME_NS_MIN <= time <= TIME_NS_MAX else written[0]

    if len(pair.arrived) % 2 == 0:
        text = _START.sub(start, text)
    arrived = tuple((stream, new(time), name, graph) for stream, time, name, graph in pair.arrived)
    return replace(pair, query=parse(text, pair.query.name), arrived=arrived)
