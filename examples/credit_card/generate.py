"""Card transactions: many cards used now and then, and some used several times in a row.

SPAseq's Query 2 looks for a card whose next transactions are not much smaller than the one before them: after a small
purchase that tests the card, a big one. A burst may also end in a tiny amount, which breaks the pattern; and one card
in ten is not in the knowledge base, so nobody can be warned.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.event_files import Clock, Event, Example, decimal, main

NS = "http://example/"
CARDS = 400
BURST_SHARE = 0.01  # of the moments
NAMES = ("Ann", "Bo", "Chloé", "Dan", "Eva", "Fritz", "Gül", "Håkan", "Inês", "José")


def _transaction(card: int, cents: int, place: int) -> tuple[str, ...]:
    return (
        f"<{NS}card{card}> <{NS}id> <{NS}id{card}>",
        f"<{NS}card{card}> <{NS}amount> {decimal(cents)}",
        f"<{NS}card{card}> <{NS}loc> <{NS}shop{place}>",
    )


def _burst(rng: random.Random) -> list[int]:
    """Amounts in cents of one card, one right after the other: small ones, then big; perhaps a tiny one at the end."""
    small = rng.randrange(100, 2000)
    amounts = [small, *(small * rng.randrange(2, 60) for _ in range(rng.randrange(1, 3)))]
    return [*amounts, small // 20] if rng.random() < 0.3 else amounts


def events(rng: random.Random) -> Iterator[Event]:
    """Endless; about one in two seconds. Outside bursts no card is used twice in a row."""
    clock = Clock(rng, "2026-03-02T06:00:00+00:00", 2000)
    number = 0
    card = 0
    while True:
        card = (card + 1 + rng.randrange(CARDS - 1)) % CARDS
        time_ms = clock.tick()
        amounts = _burst(rng) if rng.random() < BURST_SHARE else [rng.randrange(200, 30000)]
        for amount in amounts:
            number += 1
            yield Event("transactions", time_ms, f"{NS}t{number}", _transaction(card, amount, rng.randrange(1000)))
            time_ms = clock.tick_quickly()


def knowledge() -> str:
    """The holder and the address of nine cards in ten."""
    lines = ["# KB http://creditcard.org/db", f"@prefix : <{NS}> .", ""]
    for card in range(CARDS):
        if card % 10 != 3:
            holder = f"{NAMES[card % 10]} {card // 10}"
            lines.append(f':id{card} :cardHolder "{holder}" ; :holderAdrress "{card} Main Street" .')
    return "\n".join(lines) + "\n"


EXAMPLE = Example(__doc__, ("transactions",), events, {"kb.ttl": knowledge()})

if __name__ == "__main__":
    main(EXAMPLE)
