"""The bounds of reading one body: the memory that it becomes, and the processor time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import thread_time

from arrays.wanted import NotWanted, while_wanted
from sparql_gpm.reading.decoded import while_counted
from spaseq.service.settings.configuration import Limits

_LOOKS = 32
"""Questions between two looks at the clock."""
_LARGE_BYTES = 64 << 10
"""Of so many bytes each count looks at the clock."""


class OverBound(NotWanted):
    """A body is over a bound; the text says which, and the way out."""


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """The limits `decoded` and `body_seconds`."""

    decoded_bytes: int
    seconds: float

    @staticmethod
    def of(limits: Limits) -> BodyBounds:
        """The bounds that the configuration says."""
        return BodyBounds(limits.decoded_bytes, limits.body_seconds)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside one body is read; raises OverBound where it is over a bound."""
        reading = _Reading(self)
        with while_wanted(reading.look), while_counted(reading.count):
            yield


class _Reading:
    """The reading of one body by this thread."""

    def __init__(self, bounds: BodyBounds) -> None:
        self._bounds, self._end = bounds, thread_time() + bounds.seconds
        self._bytes, self._asked = 0, 0

    def count(self, size: int) -> None:
        """See `count_decoded`."""
        self._bytes += size
        if self._bytes > self._bounds.decoded_bytes:
            most = f"{self._bounds.decoded_bytes / 1e6:,g} MB"
            raise OverBound(f"decoded: the body becomes more than {most} in memory: send its events in several bodies")
        if size > _LARGE_BYTES:
            self._look_at_clock()
        else:
            self.look()

    def look(self) -> None:
        """See `check_wanted`."""
        self._asked += 1
        if self._asked % _LOOKS == 0:
            self._look_at_clock()

    def _look_at_clock(self) -> None:
        if thread_time() > self._end:
            most = f"{self._bounds.seconds:g} s"
            raise OverBound(
                f"body_seconds: reading the body takes more than {most} of processor time: "
                "send its events in several bodies"
            )
