"""Streams whose events are there already, such as those of a log: what is late or malformed has been decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.labels import SetAside
from sparql_gpm.reading.event_builder import Malformed
from spaseq.inputs.streams import SourceBatch

_SOURCE = "log"


class LeftOut(Protocol):
    """Takes what is no event that is on time."""

    def late(self, events: EventBatch, delays: Sequence[int]) -> None:
        """Events that were late, and the delays in nanoseconds with which they would not have been."""

    def faulty(self, fault: Malformed) -> None:
        """A piece of malformed input."""


@dataclass(frozen=True, slots=True)
class GivenEvents:
    """The events of a stream that goes on.

    read        those on time, in the order in which they arrived, as ids of the dictionary
    watermark   no event before it is to come
    aside       the events that are not matched with a pattern, as was decided; None: all are
    """

    read: Callable[[Dictionary, LeftOut], Iterator[EventBatch]]
    watermark: int
    aside: SetAside | None = None

    def batches(self, dictionary: Dictionary, left_out: LeftOut) -> Iterator[SourceBatch]:
        """The events as those of an input without lines."""
        for events in self.read(dictionary, left_out):
            nowhere = np.zeros(len(events), dtype=np.int64)
            yield SourceBatch(events, (_SOURCE,), nowhere, nowhere, 0)
