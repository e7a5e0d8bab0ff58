"""Simulated hours of a service, and of an engine, each with its twin.

    python -m tests.simulation                              2,200 hours
    python -m tests.simulation service --hours 20 --seed 7  some hours of one of them
    python -m tests.simulation engine --seed 7 --from 12    other histories: those from a number on

A difference ends it: exit code 1, and the history is printed without what can be left out of it.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
from os import cpu_count

from tests.simulation.running import simulate
from tests.simulation.subjects import SUBJECTS

HOURS = {"service": 2_000, "engine": 200}


def main() -> int:
    """Simulate what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", choices=[[], *SUBJECTS], help="service or engine; else both")
    parser.add_argument("--hours", type=int, help="of each; else 2,000 of a service and 200 of an engine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=cpu_count(), help="else one for each processor")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="NUMBER", help="of the first history")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # refusals and failing disks are what is simulated
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # as it is without, 7 % of the time is spent looking for garbage
    return max(_simulated(name, given) for name in given.subjects or SUBJECTS)


def _simulated(name: str, given: argparse.Namespace) -> int:
    hours = given.hours or HOURS[name]
    ran, failure = simulate(SUBJECTS[name], given.seed, hours, given.first, given.processes)
    print(f"{name}: {ran}", flush=True)
    if failure is not None:
        print(f"\nhistory {failure.number} fails at step {len(failure.steps)}; it is reduced", flush=True)
        print(f"\n{failure.reduced()}")
        return 1
    for one, other in ran.follows.missing:
        print(f"{one} was never followed by {other}")
    return 1 if ran.follows.missing else 0


if __name__ == "__main__":
    sys.exit(main())
