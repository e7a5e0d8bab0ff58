"""A smart grid: power drawn by houses, readings of weather stations, offers of storage, at twelve locations.

Most events come alone, from anywhere. A weather station sends its readings in bursts; after some bursts the storage of
the location answers at once, which is what SPAseq's Query 1 looks for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from spaseq.demo.event_files import Clock, Event, Example, integer

NS = "http://smartgrid.org/ns#"
CITIES = ("Paris", "Lyon", "Saint-Étienne")
LOCATIONS = 12
HOUSES_PER_LOCATION = 8
OWNERS = ("Ann", "Bo", "Chloé", "Dan", "Eva", "Fritz", "Gül", "Håkan", "Inês", "José")

POWER_SHARE, WEATHER_SHARE = 0.82, 0.95  # of the moments: power below the first, weather below the second, else storage
ANSWER_SHARE = 0.05  # of the bursts of a weather station
SOURCES = ("fuel",) * 3 + ("nuclear",) * 3 + ("wind",) * 2 + ("solar",) * 2


def base_fare(hour: int) -> int:
    """The least price of power, in cents, by the hour of the day: a morning and an evening peak."""
    if 7 <= hour < 10 or 17 <= hour < 21:
        return 16
    return 10 if hour < 6 or hour >= 23 else 13


def _power(subject: str, location: int, source: str, fare: int) -> tuple[str, ...]:
    return (
        f"<{NS}{subject}> <{NS}loc> <{NS}L{location}>",
        f"<{NS}{subject}> <{NS}pow> <{NS}Pw>",
        f'<{NS}Pw> <{NS}source> "{source}"',
        f"<{NS}Pw> <{NS}fare> {integer(fare)}",
    )


def _weather(location: int, light: int, wind: int) -> tuple[str, ...]:
    return (
        f"<{NS}W{location}> <{NS}loc> <{NS}L{location}>",
        f"<{NS}W{location}> <{NS}value> <{NS}Vl>",
        f"<{NS}Vl> <{NS}light> {integer(light)}",
        f"<{NS}Vl> <{NS}windsp> {integer(wind)}",
    )


def events(rng: random.Random) -> Iterator[Event]:
    """Endless; about one a second."""
    clock = Clock(rng, "2026-03-02T06:00:00+00:00", 1000)
    chance = rng.random
    number = 0

    def event(stream: str, time_ms: int, triples: tuple[str, ...]) -> Event:
        nonlocal number
        number += 1
        return Event(stream, time_ms, f"urn:{stream}:{number}", triples)

    def storage(time_ms: int, location: int) -> Event:
        fare = base_fare(clock.hour) + int(chance() * 14) - 4
        source = "solar" if chance() < 0.7 else "battery"
        return event("storage", time_ms, _power(f"St{location}", location, source, fare))

    while True:
        location = int(chance() * LOCATIONS)
        kind = chance()
        if kind < POWER_SHARE:
            house = location * HOUSES_PER_LOCATION + int(chance() * HOUSES_PER_LOCATION)
            source = SOURCES[int(chance() * len(SOURCES))]
            fare = base_fare(clock.hour) + int(chance() * 12)
            yield event("power", clock.tick(), _power(f"H{house}", location, source, fare))
        elif kind < WEATHER_SHARE:
            good = chance() < 0.6
            clock.tick()
            for _ in range(1 + int(chance() * 3)):
                light, wind = (41, 4) if good else (0, 0)
                reading = _weather(location, light + int(chance() * 40), wind + int(chance() * 8))
                yield event("weather", clock.tick_quickly(), reading)
            if chance() < ANSWER_SHARE:
                yield storage(clock.tick_quickly(), location)
        else:
            yield storage(clock.tick(), location)


def knowledge() -> str:
    """The place of each house, its two neighbours there, and its owner."""
    lines = ["# KB http://smartgrid.org/db", f"@prefix : <{NS}> .", ""]
    for house in range(LOCATIONS * HOUSES_PER_LOCATION):
        location, place = divmod(house, HOUSES_PER_LOCATION)
        first = location * HOUSES_PER_LOCATION
        left, right = (first + (place + step) % HOUSES_PER_LOCATION for step in (-1, 1))
        city = CITIES[location % len(CITIES)]
        owner = OWNERS[house * 7 % len(OWNERS)]
        lines.append(f':H{house} :locatedIn :{city} ; :nearBy :H{left}, :H{right} ; :ownerNAme "{owner}" .')
    return "\n".join(lines) + "\n"


EXAMPLE = Example(__doc__ or "", ("power", "weather", "storage"), events, {"kb.ttl": knowledge()})
