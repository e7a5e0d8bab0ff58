"""The core as sources and sinks see it, and they as the core does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec import UNSET, to_builtins

from arrays.wanted import NotWanted
from spaseq.errors import InputError
from spaseq.service.connections.connections import Connections
from spaseq.service.core.admission import Admission
from spaseq.service.core.results import Results
from spaseq.service.errors import Refused
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.sinks.feed import SinkPosition
from spaseq.service.sinks.places import Taken
from spaseq.service.store.database import Database
from spaseq.service.store.faults import refused
from spaseq.service.store.writes import forget_sinks, store


class Outside:
    """Sources and sinks of what is declared. They are at work from `start` to `close`.

    data    the data folder, in which no sink may write
    """

    def __init__(self, admission: Admission, results: Results, database: Database, data: Path) -> None:
        self._admission, self._results, self._database, self._data = admission, results, database, data
        self._connections: Connections | None = None
        self._following, self._entering = Lock(), Lock()

    def start(self) -> None:
        """Begin with all that is declared; what lacks a package or a secret is said to have failed.

        So is a sink in the data folder, or in the place of another: release 0.1.0 took them.
        """
        self._connections = Connections(self)
        state = self._admission.durable
        for name, stream in [*state.streams.items()]:
            self._connections.put_source(name, stream.settings.source, lenient=True)
        taken = Taken(str(self._data))
        for name, query in [*state.queries.items()]:
            sinks = query.settings.sinks
            faults = {
                sink.key: fault
                for key, sink, path in _files(sinks)
                if (fault := taken.claim(key, path, _sink_of(name))) is not None
            }
            self._connections.put_sinks(name, sinks, lenient=True, faults=faults)

    def close(self) -> None:
        """End all."""
        if self._connections is not None:
            self._connections.close()

    # --- for the core -----------------------------------------------------------------------------

    def check_stream(self, name: str, settings: StreamSettings) -> None:
        """Refused if the source cannot be made here."""
        _check("source", lambda: Connections.check(name, settings.source))

    def stream_changed(self, name: str) -> None:
        """Follow what is declared now."""
        with self._following:
            stream = self._admission.durable.streams.get(name)
            if self._connections is not None:
                self._connections.put_source(name, None if stream is None else stream.settings.source, lenient=True)

    @contextmanager
    def entering(
        self, name: str, changes: QueryChanges, checked: Callable[[str, QueryChanges], object]
    ) -> Iterator[None]:
        """The time in which a query is put: its new sinks begin behind the rows that there are.

        Refused, before anything is written, if a sink cannot be made here, or for what `checked` finds.
        """
        if changes.sinks is UNSET:
            yield
            return
        sinks = changes.sinks
        with self._entering:
            _check("sinks", lambda: Connections.check(name, sinks=sinks))
            self._check_files(name, sinks)
            checked(name, changes)
            begun = self._begin(name, sinks)
            try:
                yield
            except Refused as refused:
                if refused.status != 503:  # then it may be in the log all the same
                    self._forget(begun)
                raise
            except NotWanted:  # nobody asks once it is on its way to the log
                self._forget(begun)
                raise

    def _check_files(self, name: str, sinks: tuple[SinkSettings, ...]) -> None:
        """Refused for a file in the data folder, or one that another sink has, by whatever name."""
        files = _files(sinks)
        if not files:
            return
        with self._admission.deciding:
            others = {
                path: _sink_of(other)
                for other, query in self._admission.decided.queries.items()
                for _, _, path in _files(query.settings.sinks)
                if other != name
            }
        taken = Taken(str(self._data))
        for path, whose in others.items():
            taken.take(path, whose)
        for key, _, path in files:
            if (fault := taken.claim(key, path, _sink_of(name))) is not None:
                raise Refused(422, "Unusable value", fault)

    def _begin(self, name: str, sinks: tuple[SinkSettings, ...]) -> list[str]:
        """Let new sinks begin behind the rows that there are; their keys."""
        known = self._admission.durable.queries.get(name)
        before = set() if known is None else {sink.key for sink in known.settings.sinks}
        newest = 0 if known is None else self._results.newest_row(name)
        begun = [sink.key for sink in sinks if sink.key not in before]
        for key in begun:
            self.store_sink_position(name, key, SinkPosition(newest))
        return [f"{name} {key}" for key in begun]

    def _forget(self, begun: list[str]) -> None:
        """Delete the positions of sinks that there are not to be."""
        if begun:
            with refused(), self._database.transaction() as write:
                forget_sinks(write, begun)

    def query_changed(self, name: str) -> None:
        """Follow what is declared now."""
        with self._following:
            query = self._admission.durable.queries.get(name)
            if self._connections is not None:
                self._connections.put_sinks(name, () if query is None else query.settings.sinks, lenient=True)

    def source(self, name: str, settings: SourceSettings) -> dict[str, Any]:
        """A source as GET gives it: as written, with its state, and the reason if it is not running."""
        state = {} if self._connections is None else self._connections.source(name)
        return {**to_builtins(settings), **state}

    def sinks(self, name: str, sinks: tuple[SinkSettings, ...]) -> list[dict[str, Any]]:
        """Sinks as GET gives them: as written, with state, reason, and the number of the last row delivered."""
        return [] if self._connections is None else self._connections.sinks(name, sinks)

    # --- for sources and sinks --------------------------------------------------------------------

    def accept_from(self, stream: str, body: bytes, body_format: str, position: bytes) -> object:
        """See `connections.ends.Core`."""
        return self._admission.accept(stream, body, body_format if body else "nquads", offset=position).kept()

    def source_position(self, stream: str) -> bytes:
        """See `connections.ends.Core`."""
        declared = self._admission.durable.streams.get(stream)
        return b"" if declared is None else declared.progress.offset

    def rows(self, name: str, after: int | None, limit: int) -> list[tuple[int, str]]:
        """See `connections.ends.Core`."""
        with refused():
            return self._results.rows(name, after, limit)

    def newest_row(self, name: str) -> int:
        """See `connections.ends.Core`."""
        with refused():
            return self._results.newest_row(name)

    def on_rows(self, name: str, notify: Callable[[], None]) -> Callable[[], None]:
        """See `connections.ends.Core`."""
        return self._results.follow(name, notify)

    def sink_position(self, name: str, sink: str) -> SinkPosition:
        """See `connections.ends.Core`."""
        with refused():
            found = self._database.delivered(f"{name} {sink}")
        return SinkPosition() if found is None else SinkPosition(*found)

    def store_sink_position(self, name: str, sink: str, position: SinkPosition) -> None:
        """See `connections.ends.Core`."""
        with refused(), self._database.transaction() as write:
            store(write, "delivered", f"{name} {sink}", position.n, position.note)


def _files(sinks: tuple[SinkSettings, ...]) -> list[tuple[str, SinkSettings, str]]:
    """The sinks that are files, each with the key that names it and its path."""
    return [(f"sinks[{number}].file", sink, sink.file) for number, sink in enumerate(sinks) if sink.file is not None]


def _sink_of(query: str) -> str:
    return f"a sink of query '{query}'"


def _check(key: str, made: Callable[[], None]) -> None:
    try:
        made()
    except InputError as error:
        raise Refused(422, "Unusable value", f"{key}: {error.message}: {error.hint}") from error
