"""Positions of vessels, received by a satellite: it hands over what a vessel reported since the last pass in one burst.

A fishing trip, as SPAseq's Query 6 describes it, leaves the harbour, goes faster on the same course, and stops in a
fishing area. Some trips turn, slow down or stop elsewhere, and the operator of some vessels is not known.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.event_files import Clock, Event, Example, integer, main

NS = "http://example/"
VESSELS = 80
TRIP_SHARE = 0.008  # of the moments
WATERS = ("sea", "ocean", "strait", "bay")
COURSES = ("north", "east", "south", "west")
NAMES = ("Nemo", "Étoile", "Albatros", "Freya", "Mærsk", "Kaikōura", "Santa María", "Wanda")


def _position(vessel: int, speed: int, location: str, course: str) -> tuple[str, ...]:
    return (
        f"<{NS}vessel{vessel}> <{NS}speed> {integer(speed)}",
        f'<{NS}vessel{vessel}> <{NS}location> "{location}"',
        f"<{NS}vessel{vessel}> <{NS}direction> <{NS}{course}>",
    )


def _trip(rng: random.Random) -> Iterator[tuple[int, str, str]]:
    """Speed, location and course of one vessel, in a row; six in ten are fishing trips."""
    course = rng.choice(COURSES)
    fault = rng.choice(("none",) * 6 + ("slow", "turn", "elsewhere", "moving"))
    start = rng.randrange(1, 6)
    yield start, "harbour", course
    for _ in range(rng.randrange(1, 4)):
        yield start + rng.randrange(1, 12), rng.choice(WATERS), course
    if fault == "slow":
        yield start, "sea", course
    elif fault == "turn":
        yield start + 5, "sea", COURSES[COURSES.index(course) - 1]
    yield (
        3 if fault == "moving" else 0,
        "anchorage" if fault == "elsewhere" else "fishingarea",
        rng.choice(COURSES),
    )


def events(rng: random.Random) -> Iterator[Event]:
    """Endless; about one in five seconds. Outside trips no vessel reports twice in a row."""
    clock = Clock(rng, "2026-03-02T06:00:00+00:00", 5000)
    number = 0
    vessel = 0
    while True:
        vessel = (vessel + 1 + rng.randrange(VESSELS - 1)) % VESSELS
        time_ms = clock.tick()
        alone = (rng.randrange(15), rng.choice((*WATERS, "harbour", "fishingarea")), rng.choice(COURSES))
        for speed, location, course in _trip(rng) if rng.random() < TRIP_SHARE else (alone,):
            number += 1
            yield Event("boats", time_ms, f"{NS}report{number}", _position(vessel, speed, location, course))
            time_ms = clock.tick_quickly()


def knowledge() -> str:
    """The name of every vessel, and the operator of seven in eight."""
    lines = ["# KB http://harbour.org/db", f"@prefix : <{NS}> .", ""]
    lines += [f':company{number} :name "Fishery {number}" .' for number in range(5)]
    for vessel in range(VESSELS):
        operator = f" ; :operatedBy :company{vessel % 5}" if vessel % 8 else ""
        lines.append(f':vessel{vessel} :name "{NAMES[vessel % len(NAMES)]} {vessel}"{operator} .')
    return "\n".join(lines) + "\n"


EXAMPLE = Example(__doc__, ("boats",), events, {"kb.ttl": knowledge()})

if __name__ == "__main__":
    main(EXAMPLE)
