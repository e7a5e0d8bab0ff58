"""The streams of the five use cases in memory, for the experiments of SPAseq's paper."""

from __future__ import annotations

import importlib
import re
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from examples.event_files import Example, write_example
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions, read_events
from spaseq.lang.parse import parse

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
USE_CASES = {
    "smart_grid": "query.rq",
    "credit_card": "query.rq",
    "stock": "v_shape.rq",
    "traffic": "query.rq",
    "vessels": "query.rq",
}
"""Each with the query that is measured."""


@dataclass(frozen=True, slots=True)
class Data:
    """The events of one use case, in memory.

    streams     each stream's events by IRI
    reading     processor seconds that reading them took
    """

    knowledge: dict[str, str]
    dictionary: Dictionary
    streams: dict[str, EventBatch]
    events: int
    triples: int
    reading: float

    def pieces(self, together: int) -> list[dict[str, EventBatch]]:
        """Slices of time with so many events each."""
        times = np.sort(np.concatenate([batch.times for batch in self.streams.values()]))
        borders = [-1, *np.unique(times[together::together]).tolist(), int(times[-1]) + 1]
        return [{iri: _between(batch, *ends) for iri, batch in self.streams.items()} for ends in pairwise(borders)]


def query_text(use_case: str) -> str:
    """The query of a use case."""
    return (EXAMPLES / use_case / USE_CASES[use_case]).read_text(encoding="utf-8")


def load(use_case: str, events: int, folder: Path) -> Data:
    """Generates and reads the events of a use case."""
    example: Example = importlib.import_module(f"examples.{use_case}.generate").EXAMPLE
    write_example(example, events, 1, folder)
    query = parse(query_text(use_case), use_case)
    dictionary = Dictionary()
    started = time.process_time()
    streams = {
        stream.iri: _read(folder / f"{name}.nq", dictionary)
        for stream, name in zip(query.streams, example.streams, strict=True)
    }
    reading = time.process_time() - started
    found = re.findall(r"<(http://[^>]*/db)>", query_text(use_case))
    knowledge = {iri: str(folder / "kb.ttl") for iri in found if (folder / "kb.ttl").exists()}
    events, triples = (sum(len(getattr(b, column)) for b in streams.values()) for column in ("times", "subjects"))
    return Data(knowledge, dictionary, streams, events, triples, reading)


def _read(path: Path, dictionary: Dictionary) -> EventBatch:
    def refuse(malformed: object) -> None:
        raise AssertionError(malformed)

    with path.open("rb") as file:
        return EventBatch.concatenate(list(read_events(file, "nquads", dictionary, ReadOptions(), refuse)))


def _between(batch: EventBatch, begin: int, end: int) -> EventBatch:
    first, last = np.searchsorted(batch.times, (begin, end))
    return batch.take(np.arange(first, last))
