"""A query of an engine, from `Engine.register` on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError
from spaseq.lang.ast import Query
from spaseq.outputs.row_table import Rows
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.audience import Reader
from spaseq.runtime.state.saved_states import QueryState, shape_digest

OnMatch: TypeAlias = Callable[[Row], object]
"""A function of a row."""
Found: TypeAlias = "deque[tuple[Registration, Row]]"
"""Rows that have not been handed to their functions yet."""


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A registered query.

    max_runs    its own bound on partial matches, or None
    matches     its rows so far
    paused      its events wait
    """

    name: str
    text: str
    max_runs: int | None
    matches: int
    paused: bool
    state: QueryState


class Owner(Protocol):
    """An engine, as its registrations know it."""

    def unregister_query(self, registration: Registration) -> None:
        """See `Registration.unregister`."""

    def pause_query(self, registration: Registration) -> None:
        """See `Registration.pause`."""

    def resume_query(self, registration: Registration) -> None:
        """See `Registration.resume`."""

    def replace_query(self, registration: Registration, query: Query, keep: str) -> None:
        """See `Registration.replace`."""


@dataclass(slots=True, eq=False, repr=False)
class Registration:
    """A registered query.

    matches     its rows so far
    """

    _query: TemporalQuery
    _on_match: OnMatch | None
    _found: Found
    _owner: Owner
    _max_runs: int | None = None
    matches: int = 0
    _reader: Reader | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The name of the query."""
        return self._query.name

    @property
    def registered(self) -> bool:
        """False once it has been unregistered."""
        return self._reader is not None

    @property
    def stopped(self) -> bool:
        """True if it had too many partial matches and was stopped, or has been unregistered."""
        return self._reader is None or self._reader.stopped

    @property
    def error(self) -> str:
        """The reason for which it was stopped; "" while it runs."""
        return "" if self._reader is None or self._reader.reason is None else str(self._reader.reason)

    @property
    def replanned(self) -> tuple[str, ...]:
        """The latest replacements of its evaluator: time and reason, one sentence each."""
        operator = None if self._reader is None else self._reader.operator
        return () if operator is None else operator.replanned

    @property
    def paused(self) -> bool:
        """True if its events wait for `resume`."""
        return self._reader is not None and self._reader.audience.paused

    def pause(self) -> None:
        """Let its events wait: no row of it is reported until `resume`, and it keeps all that it holds.

        Queries that read the stream that it makes wait as well. More than `PAUSED_EVENTS_MAX` of
        `spaseq.runtime.embedded.pausing` waiting events stop it. Raises InputError if it is not registered.
        """
        self._owner.pause_query(self)

    def resume(self) -> None:
        """Let a paused query read what has come meanwhile: its rows are those that it would have had."""
        self._owner.resume_query(self)

    def replace(self, query: Query, keep: str = "nothing") -> None:
        """Run another query in its place, which has the same function of rows, and sees the events pushed from now on.

        keep    of the state: "nothing"; "state": all, if only SELECT, the template or constants of FILTERs differ;
                "window": what the new query would hold had it been there, from the events of the window, if the engine
                keeps its history

        Raises InputError, and changes nothing, if the other query cannot be registered, does not make the stream that
        others read, or cannot go on with the state.
        """
        self._owner.replace_query(self, query, keep)

    def unregister(self) -> None:
        """End the query: no row of it is reported from now on, and all that it holds is released.

        What waits for later events is not reported. A second call does nothing.
        Raises InputError if the engine is closed, or if other queries read the stream that it makes.
        """
        if self._reader is not None:
            self._owner.unregister_query(self)

    def begin(self, reader: Reader, meaning: TemporalQuery | None = None) -> None:
        """The query, or the one that takes its place, reads events from now on."""
        self._reader = reader
        self._query = meaning or self._query

    @property
    def meaning(self) -> TemporalQuery:
        """The query, before it was optimised."""
        return self._query

    @property
    def max_runs(self) -> int | None:
        """Its own bound on partial matches, or None."""
        return self._max_runs

    @property
    def reader(self) -> Reader:
        """The query in the network; it must be registered."""
        assert self._reader is not None, self.name
        return self._reader

    def end(self) -> TemporalQuery:
        """The query reads events no more."""
        self._reader = None
        return self._query

    def saved(self, state: QueryState) -> SavedQuery:
        """The query with its state, for a snapshot of its engine."""
        return SavedQuery(self.name, self._query.parsed.text, self._max_runs, self.matches, self.paused, state)

    def check_shape(self, shape: bytes) -> None:
        """Raises InputError if a state of that shape is not one of this query as it is run now."""
        if shape_digest(self.reader.query) != shape:
            message = f"the knowledge bases of query '{self.name}' are other ones than those of the snapshot"
            hint = "give them as they were, or register the query anew"
            raise InputError(f"{message}: it is run in another way now", hint=hint)

    def take(self, rows: Rows) -> int:
        """More rows, for `hand_out`; returns their number."""
        self.matches += len(rows)
        if self._on_match is not None:
            self._found.extend([(self, row) for row in rows])
        return len(rows)

    def hand_out(self, row: Row) -> None:
        """Calls the function with a row that was taken, unless the query has been unregistered since."""
        if self._on_match is not None and self._reader is not None:
            self._on_match(row)
