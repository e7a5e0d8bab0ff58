"""Logins to a service: most succeed, some fail by a slip, and now and then somebody tries out the passwords of a user.

The query looks for five or more failed logins of a user in a row, and gives one row for each such episode. Some
attempts end with a success, some give up before the fifth failure, a few go on for longer than the window, and the
logins of other users come in between.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.event_files import Clock, Event, Example, main

NS = "http://logins.org/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
USERS = 300
ATTACK_SHARE = 0.012  # of the moments
ATTACKS_MAX = 4  # at once
ATTACKED_SHARE = 0.45  # of the moments while there is an attack
SLIP_SHARE = 0.06


def _login(number: int, user: int, failed: bool, address: int) -> tuple[str, ...]:
    outcome = "Failure" if failed else "Success"
    return (
        f"<{NS}login{number}> <{RDF_TYPE}> <{NS}{outcome}>",
        f"<{NS}login{number}> <{NS}user> <{NS}user{user}>",
        f"<{NS}login{number}> <{NS}from> <{NS}address{address}>",
    )


def _attack(rng: random.Random) -> list[bool]:
    """Outcomes, the last one first: failures, of which some end with a success, and a few are very many."""
    failures = rng.randrange(40, 70) if rng.random() < 0.1 else rng.randrange(2, 13)
    return [False] * (rng.random() < 0.3) + [True] * failures


def events(rng: random.Random) -> Iterator[Event]:
    """Endless; about one in six seconds."""
    clock = Clock(rng, "2026-03-02T06:00:00+00:00", 6000)
    attacks: list[tuple[int, list[bool]]] = []
    number = 0
    while True:
        number += 1
        if len(attacks) < ATTACKS_MAX and rng.random() < ATTACK_SHARE:
            attacks.append((rng.randrange(USERS), _attack(rng)))
        if attacks and rng.random() < ATTACKED_SHARE:
            place = rng.randrange(len(attacks))
            user, outcomes = attacks[place]
            failed = outcomes.pop()
            if not outcomes:
                del attacks[place]
        else:
            user, failed = rng.randrange(USERS), rng.random() < SLIP_SHARE
        triples = _login(number, user, failed, rng.randrange(50))
        yield Event("logins", clock.tick(), f"{NS}event{number}", triples)


EXAMPLE = Example(__doc__, ("logins",), events, {})

if __name__ == "__main__":
    main(EXAMPLE)
