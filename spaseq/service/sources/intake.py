"""The way of a source into a stream."""

from __future__ import annotations

from typing import Protocol

from spaseq.service.peers.pauses import State


class Full(Exception):
    """Nothing can be taken now, and nothing was: the queue or the disk is full. The text says which."""


class Intake(Protocol):
    """A stream as its source sees it."""

    async def accept(self, body: bytes, body_format: str, position: bytes) -> object:
        """Put the events of a body into the log, in one record with the position of the source after them.

        body_format     as the media types of POST have it: "nquads", "jsonld"
        position        some kilobytes at most, and never empty

        Returns when the record is on disk. A body without an event is a dead letter, and moves the position as any
        other; an empty one is no letter. Raises Full if nothing can be taken now, Failed if it cannot be read at all
        with the settings of the stream.
        """

    def position(self) -> bytes | None:
        """The position of the last body that is on disk; None before the first."""

    def report(self, state: State, error: str | None) -> None:
        """Say what the source does, for GET and metrics; it may be called often."""


class Source(Protocol):
    """A place from which events of a stream come."""

    async def run(self, intake: Intake) -> None:
        """Hand over events until it is cancelled; failures are reported, and it is tried again."""
