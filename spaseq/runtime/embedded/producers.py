"""The order of queries in which each derived stream is made before it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar

from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError


class _HasQuery(Protocol):
    """A thing with a query."""

    @property
    def query(self) -> TemporalQuery:
        """Its meaning."""


R = TypeVar("R", bound=_HasQuery)


def producers_first(readers: Sequence[R]) -> list[R]:
    """The queries in an order in which each derived stream is made before it is read; raises InputError."""
    produced = Counter(reader.query.register for reader in readers if reader.query.register)
    for iri, producers in produced.items():
        if producers > 1:
            raise InputError(f"two queries REGISTER the stream <{iri}>", hint="give each stream an IRI of its own")
    waiting, ordered = list(readers), []
    while waiting:
        missing = {reader.query.register for reader in waiting}
        ready = [reader for reader in waiting if missing.isdisjoint(iri for _, iri in reader.query.streams)]
        if not ready:
            names = ", ".join(f"'{reader.query.name}'" for reader in waiting)
            raise InputError(
                f"queries {names} read each other's streams in a circle",
                hint="a query may read a REGISTERed stream only if that does not come from its own output",
            )
        ordered += ready
        taken = set(map(id, ready))
        waiting = [reader for reader in waiting if id(reader) not in taken]
    return ordered
