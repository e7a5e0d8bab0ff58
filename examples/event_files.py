"""The command line of the generators of all examples, and what they write streams with."""

from __future__ import annotations

import argparse
from pathlib import Path

from spaseq.demo.event_files import (
    SUFFIXES,
    Clock,
    Event,
    Example,
    as_nquads,
    as_trig,
    decimal,
    integer,
    timestamps,
    write_example,
)

__all__ = [
    "Clock", "Event", "Example", "as_nquads", "as_trig", "decimal", "integer", "main", "timestamps", "write_example",
]  # fmt: skip


def main(example: Example) -> None:
    """The command line of every generator: --events, --seed, --out, --format."""
    parser = argparse.ArgumentParser(description=example.description)
    parser.add_argument("--events", type=int, default=5000, metavar="N", help="how many, over all streams [5000]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the same seed gives the same files [1]")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the files")
    parser.add_argument("--format", choices=sorted(SUFFIXES), default="nquads", help="[nquads]")
    arguments = parser.parse_args()
    if arguments.events < 0:
        parser.error("--events must not be negative")
    write_example(example, arguments.events, arguments.seed, arguments.out, arguments.format)
