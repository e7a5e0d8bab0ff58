"""The patterns of the examples, looked for in plain Python: what the engine's rows are compared with.

Each function knows one query and nothing of the language. An event of the examples has flat properties, so it is a
mapping from the local name of a property to its value, read from the generated files themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

MINUTES_MS = 60_000
_QUAD = re.compile(r'<([^>]*)> <[^>]*[/#]([^/#>]*)> (?:<([^>]*)>|"([^"]*)"[^ ]*) (?:<([^>]*)> )?\.')
_STATEMENT = re.compile(r":(\w+) ([^;.]+)")


@dataclass(frozen=True)
class Seen:
    """An event: `facts` by the local name of the property, `subject` that of its first triple."""

    stream: str
    time_ms: int
    name: str
    subject: str
    facts: dict[str, str]


@dataclass(frozen=True)
class Expected:
    """A row: the bindings that identify it, in their lexical form, and the graph names of each step."""

    bindings: tuple[tuple[str, str], ...]
    events: tuple[tuple[str, tuple[str, ...]], ...]


def read_events(folder: Path, streams: Sequence[str]) -> list[Seen]:
    """All events of the streams in merged order."""
    seen = [event for stream in streams for event in _read_stream(folder / f"{stream}.nq", stream)]
    return sorted(seen, key=lambda event: (event.time_ms, streams.index(event.stream)))


def _read_stream(path: Path, stream: str) -> Iterator[Seen]:
    name, time_ms, subject = "", 0, ""
    facts: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        quad = _QUAD.fullmatch(line)
        assert quad is not None, line
        about, prop, iri, value, graph = quad.groups()
        if graph is None:
            if name:
                yield Seen(stream, time_ms, name, subject, facts)
            name, time_ms, subject, facts = about, _milliseconds(value), "", {}
        else:
            assert graph == name
            subject = subject or about
            facts[prop] = value if iri is None else iri
    yield Seen(stream, time_ms, name, subject, facts)


def _milliseconds(text: str) -> int:
    day, hour, minute, second, milli = map(int, re.findall(r"\d+", text)[2:])
    return (((day * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli


def read_knowledge(path: Path) -> dict[str, dict[str, list[str]]]:
    """The knowledge base of an example: subject → property → values; one subject a line."""
    known: dict[str, dict[str, list[str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(":"):
            subject, _, rest = line[1:].partition(" ")
            known[subject] = {
                prop: [value.strip(' ":') for value in values.split(",")]
                for prop, values in _STATEMENT.findall(" " + rest)
            }
    return known


def local(iri: str) -> str:
    """What follows the last slash or hash."""
    return re.split(r"[/#]", iri)[-1]


def same_window(first: Seen, other: Seen, minutes: int) -> bool:
    """Whether two events of one month are in one tumbling window; a window divides the day."""
    width = minutes * MINUTES_MS
    return first.time_ms // width == other.time_ms // width


def solar_after_good_weather(events: Sequence[Seen], known: dict[str, dict[str, list[str]]]) -> list[Expected]:
    """Query 1: expensive fuel; then the first good weather there, all of it in a row, and right then cheaper solar."""
    rows = []
    for index, drawn in enumerate(events):
        if not is_expensive_fuel(drawn):
            continue
        inside = [event for event in events[index + 1 : index + 3000] if same_window(drawn, event, 30)]
        there = [is_good_weather(event) and event.facts["loc"] == drawn.facts["loc"] for event in inside]
        start = there.index(True) if True in there else len(inside)
        end = start
        while end < len(inside) and there[end]:
            end += 1
        if end == len(inside) or not _is_cheaper_solar(inside[end], drawn):
            continue
        readings = tuple(event.name for event in inside[start:end])
        house = known[local(drawn.subject)]
        rows += [
            Expected(
                (
                    ("house", drawn.subject),
                    ("fr1", drawn.facts["fare"]),
                    ("fr2", inside[end].facts["fare"]),
                    ("house2", f"http://smartgrid.org/ns#{neighbour}"),
                    ("city", f"http://smartgrid.org/ns#{house['locatedIn'][0]}"),
                    ("oname", house["ownerNAme"][0]),
                ),
                (("A", (drawn.name,)), ("B", readings), ("C", (inside[end].name,))),
            )
            for neighbour in house["nearBy"]
        ]
    return rows


def is_expensive_fuel(event: Seen) -> bool:
    """What pattern A of Query 1 matches."""
    return event.stream == "power" and event.facts["source"] == "fuel" and int(event.facts["fare"]) > 20


def is_good_weather(event: Seen) -> bool:
    """What pattern B of Query 1 matches."""
    return event.stream == "weather" and int(event.facts["light"]) > 40 and int(event.facts["windsp"]) > 3


def is_solar_offer(event: Seen) -> bool:
    """What pattern C of Query 1 matches, apart from the fare, which it compares with A's."""
    return event.stream == "storage" and event.facts["source"] == "solar"


def _is_cheaper_solar(offer: Seen, drawn: Seen) -> bool:
    cheaper = is_solar_offer(offer) and int(offer.facts["fare"]) < int(drawn.facts["fare"])
    return cheaper and offer.facts["loc"] == drawn.facts["loc"]


def big_after_small(events: Sequence[Seen], known: dict[str, dict[str, list[str]]]) -> list[Expected]:
    """Query 2: a transaction and a run of the next ones of the same card, every prefix of the run a row."""
    rows = []
    for index, first in enumerate(events):
        opening = Decimal(first.facts["amount"])
        run: list[str] = []
        for event in events[index + 1 :]:
            amount = Decimal(event.facts["amount"])
            goes_on = event.subject == first.subject and amount * 10 >= opening and same_window(first, event, 30)
            if not goes_on or local(event.facts["id"]) not in known:
                break
            run.append(event.name)
            bindings = (
                ("card", first.subject),
                ("id1", first.facts["id"]),
                ("amount1", first.facts["amount"]),
                ("amount2", event.facts["amount"]),
                ("name", known[local(first.facts["id"])]["cardHolder"][0]),
            )
            rows.append(Expected(bindings, (("A", (first.name,)), ("B", tuple(run)))))
    return rows


def login_episodes(events: Sequence[Seen]) -> list[Expected]:
    """Five or more failed logins of a user in a row, within ten minutes of the first, and as many as there are."""
    rows = []
    of_user: dict[str, list[Seen]] = {}
    for event in events:
        of_user.setdefault(event.facts["user"], []).append(event)
    for user, logins in of_user.items():
        first = 0
        while first < len(logins):
            after = first
            while (
                after < len(logins)
                and local(logins[after].facts["type"]) == "Failure"
                and logins[after].time_ms <= logins[first].time_ms + 10 * MINUTES_MS
            ):
                after += 1
            episode = logins[first:after]
            first = after if len(episode) >= 5 else first + 1
            if len(episode) >= 5:
                addresses = {event.facts["from"] for event in episode}
                bindings = (("user", user), ("failures", str(len(episode))), ("addresses", str(len(addresses))))
                rows.append(Expected(bindings, (("F", tuple(event.name for event in episode)),)))
    return rows


def price_runs(events: Sequence[Seen], steps: str, has_shape: Callable[..., bool]) -> list[Expected]:
    """Queries 3 and 4: trades of one company in a row, one a step, whose prices have the shape."""
    rows = []
    for start in range(len(events) - len(steps) + 1):
        run = events[start : start + len(steps)]
        if any(trade.subject != run[0].subject or not same_window(run[0], trade, 60) for trade in run):
            continue
        if has_shape(*(Decimal(trade.facts["price"]) for trade in run)):
            shown = [("company", run[0].subject)]
            shown += [(f"p{number}", trade.facts["price"]) for number, trade in enumerate(run, 1)]
            shown += [(f"vol{number}", trade.facts["volume"]) for number, trade in enumerate(run, 1)]
            named = tuple((step, (trade.name,)) for step, trade in zip(steps, run, strict=True))
            rows.append(Expected(tuple(shown), named))
    return rows


def is_head_and_shoulders(
    p1: Decimal, p2: Decimal, p3: Decimal, p4: Decimal, p5: Decimal, p6: Decimal, p7: Decimal
) -> bool:
    """Three peaks p2, p4, p6 with p4 the highest, over valleys that do not fall below the one before."""
    return p2 > p3 > p1 and p4 > p2 and p4 > p5 > p3 and p5 < p7 < p6 < p4


def rises_and_falls(p1: Decimal, p2: Decimal, p3: Decimal) -> bool:
    """One peak."""
    return p1 < p2 > p3


def jams_that_spread(events: Sequence[Seen]) -> list[Expected]:
    """Query 5: a jam at the first junction; then the first moment at which the two others are at least as bad."""
    pairs = [
        (second, third)
        for second, third in pairwise(events)
        if (second.stream, third.stream) == ("second", "third") and second.time_ms == third.time_ms
    ]
    rows = []
    for jam in (event for event in events if event.stream == "first" and _level(event) > 3):
        for second, third in pairs:
            later = jam.time_ms < second.time_ms and same_window(jam, second, 30)
            one_road = jam.subject == second.subject == third.subject
            if later and one_road and _level(jam) <= _level(second) <= _level(third):
                levels = tuple((f"v{n}", str(_level(event))) for n, event in enumerate((jam, second, third), 1))
                steps = (("A", (jam.name,)), ("B", (second.name,)), ("C", (third.name,)))
                rows.append(Expected((("traffic", jam.subject), *levels), steps))
                break
    return rows


def _level(event: Seen) -> int:
    return int(event.facts["hasValue"])


def fishing_trips(events: Sequence[Seen], known: dict[str, dict[str, list[str]]]) -> list[Expected]:
    """Query 6: out of the harbour, a run of faster reports on the same course, then at rest in a fishing area."""
    rows = []
    for index, out in enumerate(events):
        if out.facts["location"] != "harbour" or int(out.facts["speed"]) == 0:
            continue
        end = index + 1
        while end < len(events) and _goes_on(out, events[end]):
            end += 1
        vessel = known[local(out.subject)]
        if end == index + 1 or end == len(events) or "operatedBy" not in vessel or not _rests(out, events[end]):
            continue
        company = known[vessel["operatedBy"][0]]
        bindings = (("vessel", out.subject), ("n", vessel["name"][0]), ("cname", company["name"][0]))
        way = tuple(event.name for event in events[index + 1 : end])
        rows.append(Expected(bindings, (("A", (out.name,)), ("B", way), ("C", (events[end].name,)))))
    return rows


def _goes_on(out: Seen, event: Seen) -> bool:
    same_course = event.subject == out.subject and event.facts["direction"] == out.facts["direction"]
    return same_course and int(event.facts["speed"]) > int(out.facts["speed"]) and same_window(out, event, 30)


def _rests(out: Seen, event: Seen) -> bool:
    at_rest = event.facts["speed"] == "0" and event.facts["location"] == "fishingarea"
    return at_rest and event.subject == out.subject and same_window(out, event, 30)
