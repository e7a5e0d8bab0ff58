"""Stock trades of forty companies, with chart patterns planted in them.

Strict contiguity looks at neighbours in the stream, so a pattern is a run of trades of one company with no other
between: the fills of one large order. Outside such runs no company trades twice in a row.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.event_files import Clock, Event, Example, decimal, integer, main

NS = "http://example/"
COMPANIES = 40
V_SHARE, HEAD_SHARE = 0.004, 0.006  # of the moments: a V below the first, head and shoulders below the second

# Steps from the price before, in hundredths: a shoulder, the head, a shoulder; some stop before the end.
HEAD_AND_SHOULDERS = (200, -80, 300, -250, 120, -60)


def _trade(company: int, price: int, volume: int) -> tuple[str, ...]:
    return (
        f"<{NS}company{company}> <{NS}price> {decimal(price)}",
        f"<{NS}company{company}> <{NS}volume> {integer(volume)}",
    )


def _steps(rng: random.Random) -> tuple[int, ...]:
    """The changes of price inside one moment: none, a V shape, or head and shoulders (a third of them incomplete)."""
    kind = rng.random()
    if kind < V_SHARE:
        return (rng.randrange(1, 300), -rng.randrange(1, 300))
    if kind < HEAD_SHARE:
        scale = rng.randrange(1, 4)
        length = len(HEAD_AND_SHOULDERS) if rng.random() < 0.67 else rng.randrange(3, len(HEAD_AND_SHOULDERS))
        return tuple(step * scale for step in HEAD_AND_SHOULDERS[:length])
    return ()


def events(rng: random.Random) -> Iterator[Event]:
    """Endless; about one a second. Prices walk at random and never fall below 20."""
    clock = Clock(rng, "2026-03-02T09:00:00+00:00", 1000)
    prices = [rng.randrange(5000, 50000) for _ in range(COMPANIES)]
    number = 0
    company = 0
    while True:
        company = (company + 1 + rng.randrange(COMPANIES - 1)) % COMPANIES
        price = max(2000, prices[company] + rng.randrange(-50, 51))
        time_ms = clock.tick()
        for step in (0, *_steps(rng)):
            price += step
            number += 1
            yield Event("trades", time_ms, f"{NS}trade{number}", _trade(company, price, rng.randrange(1, 500)))
            time_ms = clock.tick_quickly()
        prices[company] = price


EXAMPLE = Example(__doc__, ("trades",), events, {})

if __name__ == "__main__":
    main(EXAMPLE)
