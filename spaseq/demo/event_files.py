"""Writing streams of RDF events to files, shared by the generators of the demo and of all examples.

A generator yields events in time order, of all its streams together; they go to one file a stream, line by line, so the
memory needed does not depend on how many there are. Only Python's standard library is used.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

GENERATED_AT = "<http://www.w3.org/ns/prov#generatedAtTime>"
XSD = "http://www.w3.org/2001/XMLSchema#"
SUFFIXES = {"nquads": ".nq", "trig": ".trig"}


class Event(NamedTuple):
    """One event on its way to a file.

    stream      a name of Example.streams
    time_ms     milliseconds since the epoch, UTC; never decreasing
    name        the IRI of its graph, without brackets
    triples     each as N-Triples text without the final dot
    """

    stream: str
    time_ms: int
    name: str
    triples: Sequence[str]


@dataclass(frozen=True, slots=True)
class Example:
    """A generator: the names of its streams, its knowledge base, and an endless run of events."""

    description: str
    streams: Sequence[str]
    events: Callable[[random.Random], Iterator[Event]]
    knowledge: Mapping[str, str]  # file name → Turtle text


def integer(value: int) -> str:
    """The xsd:integer literal of a number, as N-Triples."""
    return f'"{value}"^^<{XSD}integer>'


def decimal(hundredths: int) -> str:
    """The xsd:decimal literal with two digits after the point, as N-Triples."""
    return f'"{hundredths // 100}.{hundredths % 100:02d}"^^<{XSD}decimal>'


class Clock:
    """A time in milliseconds that moves on by random steps, never standing still."""

    def __init__(self, rng: random.Random, start: str, step_ms_mean: int) -> None:
        self.now_ms = int(datetime.fromisoformat(start).timestamp() * 1000)
        self._random = rng.random
        self._span_ms = 2 * step_ms_mean - 1

    def tick(self) -> int:
        """The time of the next event: a step of 1 to 2·mean-1 milliseconds later."""
        self.now_ms += 1 + int(self._random() * self._span_ms)
        return self.now_ms

    def tick_quickly(self) -> int:
        """The time of the next event of one burst: 1 to 400 milliseconds later."""
        self.now_ms += 1 + int(self._random() * 400)
        return self.now_ms

    @property
    def hour(self) -> int:
        """The hour of the day, 0 to 23, UTC."""
        return self.now_ms // 3_600_000 % 24


def timestamps() -> Callable[[int], str]:
    """A function from milliseconds to the lexical form of xsd:dateTime; it keeps the text of the current second."""
    second, text = -1, ""

    def timestamp(time_ms: int) -> str:
        nonlocal second, text
        if time_ms // 1000 != second:
            second = time_ms // 1000
            text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{text}.{time_ms % 1000:03d}Z"

    return timestamp


def as_nquads(event: Event, timestamp: str) -> str:
    """The lines of one event: its timestamp in the default graph, then its quads."""
    end = f" <{event.name}> .\n"
    stamp = f'<{event.name}> {GENERATED_AT} "{timestamp}"^^<{XSD}dateTime> .\n'
    return stamp + end.join(event.triples) + end


def as_trig(event: Event, timestamp: str) -> str:
    """The TriG text of one event: its timestamp in the default graph, then its graph."""
    stamp = f'<{event.name}> {GENERATED_AT} "{timestamp}"^^<{XSD}dateTime> .\n'
    return f"{stamp}<{event.name}> {{ {' . '.join(event.triples)} }}\n"


def write_example(example: Example, events: int, seed: int, folder: Path, file_format: str = "nquads") -> None:
    """Write the first `events` events of the example, and its knowledge base, into `folder`; overwrites."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, turtle in example.knowledge.items():
        (folder / name).write_text(turtle, encoding="utf-8")
    suffix = SUFFIXES[file_format]
    with ExitStack() as open_files:
        files = {
            stream: open_files.enter_context(open(folder / (stream + suffix), "w", encoding="utf-8", newline="\n"))
            for stream in example.streams
        }
        _write_events(
            islice(example.events(random.Random(seed)), events),
            {stream: file.write for stream, file in files.items()},
            as_nquads if file_format == "nquads" else as_trig,
        )


def _write_events(
    events: Iterable[Event], writes: Mapping[str, Callable[[str], int]], text: Callable[[Event, str], str]
) -> None:
    timestamp = timestamps()
    for event in events:
        writes[event.stream](text(event, timestamp(event.time_ms)))
