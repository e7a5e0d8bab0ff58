"""The service: everything that can be asked of it, apart from HTTP.

    accept, put, pause … ──► Admission ──► log ──► Matcher ──► database ──► rows, dead letters

Methods may be called from any thread and wait until what they say is on disk. They raise Refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from arrays.wanted import while_wanted
from spaseq.service.core.admission import Admission, Promise, durable
from spaseq.service.core.aside import bounds_of
from spaseq.service.core.body_bounds import BodyBounds
from spaseq.service.core.clock import Clock, SystemClock
from spaseq.service.core.copies import KnowledgeSources
from spaseq.service.core.counted import with_counts
from spaseq.service.core.counters import Counters
from spaseq.service.core.declarations import Declarations
from spaseq.service.core.disk import Disk
from spaseq.service.core.explaining import Explaining
from spaseq.service.core.folder import DataFolder
from spaseq.service.core.history import Marks
from spaseq.service.core.kernels import Kernels
from spaseq.service.core.looks import Looks
from spaseq.service.core.matcher import Matcher
from spaseq.service.core.meanings import declared_meaning
from spaseq.service.core.outside import Outside
from spaseq.service.core.overview import Overview
from spaseq.service.core.queries import Queries
from spaseq.service.core.records import Record
from spaseq.service.core.recovery import Recovery, Stopped
from spaseq.service.core.rest import Rest
from spaseq.service.core.results import Results, time_of
from spaseq.service.core.retained import Retained
from spaseq.service.core.saved_groups import restore_groups
from spaseq.service.core.storing import Storing
from spaseq.service.core.ticker import Ticker
from spaseq.service.core.upkeep import Upkeep
from spaseq.service.errors import Refused
from spaseq.service.log.segmented import Place
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import StreamSettings

KERNEL_STATE_BYTES_MIN = 1 << 20
"""A snapshot from this size on, some 50,000 terms, repays loading kernels that hold terms in tables."""


class Service:
    """A service over a data folder; `open` makes one.

    explaining  the reasons of rows and of missing rows
    retained    the events that the log has
    disk        what waits for it
    counters    for metrics
    """

    _queries: Queries

    def __init__(self, folder: DataFolder, limits: Limits, clock: Clock) -> None:
        self._folder, self._limits = folder, limits
        self._database, self._log, saved = folder.database, folder.log, folder.saved
        self._kernels = Kernels()
        self._admission = Admission(
            self._log, saved.state, clock, self._hand, self._waiting, limits.queue, self._kernels, BodyBounds.of(limits)
        )
        self._rest = Rest()
        sources = KnowledgeSources(folder.copies, self._rest, limits.kb_bytes)
        self._declarations = Declarations(self._admission, sources, clock, lambda name: self._queries.has_failed(name))
        upkeep = Upkeep(self._log, self._database, self._admission, clock, folder.copies)
        self._recovery = Recovery(saved, self._log, self._admission)
        self._watch, self._is_stopped = folder.watch, False
        bounds = bounds_of(limits)
        self._queries = Queries(
            saved.state, saved.replaced, sources, upkeep.past_of, self._kernels, bounds, self._watch
        )
        self._aside = self._queries.operators.aside
        self._aside.know((each for _, each in self._admission.durable.aside), self._watch.deadly)
        rebuilt = []
        if saved.groups:
            if sum(each.state_bytes for each in saved.groups) > KERNEL_STATE_BYTES_MIN:
                self._kernels.load()
            rebuilt = restore_groups(self._queries, saved.groups, self._database.last_row)
        self._overview = Overview(self._admission, sources, self._queries, self._database)
        self._results = Results(self._database, self._overview.number)
        self._outside = Outside(self._admission, self._results, self._database, folder.copies.parent)
        self._overview.outside = self._outside
        storing = Storing(self._database, clock, self._results.stored, self._rest, self._decide)
        self._marks = Marks(saved.marks)
        self.explaining = Explaining(
            self._log,
            self._marks,
            self._results,
            self._admission.durable_copy,
            self._overview.sources,
            bounds,
        )
        self.retained = Retained(self._log, self._marks, self._results, self._overview, bounds)
        state = saved.state.copy()
        self._matcher = upkeep.matcher = Matcher(
            self._log, folder.place, state, self._queries, self._marks, storing, upkeep.save, self._rest, self._watch
        )
        self._looks = Looks(self._matcher, self._queries)
        self.disk = Disk(self._log, storing, self._matcher, sources)
        self.counters = Counters(self._matcher, self._log, self._admission, self._database)
        self._ticker = Ticker(self._admission, self._declarations, self._matcher, self._log, clock)
        self._rebuilt, self._clock = rebuilt, clock
        self._queries.stop_before(self._recovery.stopped(self._database.rows_before))

    @staticmethod
    def open(
        data: Path | DataFolder,
        limits: Limits,
        clock: Clock | None = None,
        recovering: Callable[[Service], None] | None = None,
    ) -> Service:
        """The service of a data folder, as it was, at work; raises what `DataFolder` does.

        recovering  is told the service before it matches what the log has: it can be asked, and queries be stopped;
                    when one was, it is told another service
        """
        folder = DataFolder(data) if isinstance(data, Path) else data
        try:
            while True:
                service = Service(folder, limits, clock or SystemClock())
                if recovering is not None:
                    recovering(service)
                if service.recover():
                    break
                folder.read_again()
        except BaseException:
            folder.close()
            raise
        service._matcher.start()
        service._ticker.start()
        service._outside.start()
        return service

    def recover(self) -> bool:
        """Match what the log has behind the snapshot; False if a query was stopped meanwhile, which ends it.

        Then the service begins again, as if it had been killed: another one has to be made.
        """
        operators = self._queries.operators
        operators.match_singly(bool(self._watch.careful_until))
        self._watch.start()
        try:
            with while_wanted(self._check_stopped):
                self._matcher.begin(self._rebuilt)
                self._recovery.read(self._matcher, self._kernels)
        except BaseException as error:
            self._admission.close()
            self._queries.close()
            if isinstance(error, Stopped):
                self._watch.stop()
                return False
            self._watch.close()
            raise
        operators.match_singly(False)
        return True

    @property
    def recovering(self) -> dict[str, Any]:
        """The number of the record that was matched last, that of the last one, and the query that is matched."""
        return {"position": self._matcher.place.number, "of": self._recovery.of, "query": self._watch.query}

    def end_recovery(self) -> None:
        """Give up what is being matched; `recover` raises GivenUp. The next start goes on from the log."""
        self._matcher.end_by(0)

    def _check_stopped(self) -> None:
        self._matcher.check_end()
        if self._is_stopped:
            raise Stopped

    def _decide(self) -> None:
        """Have on disk which events were set aside, before anything is stored that was found without them."""
        while (record := self._aside.take(self._clock.wall())) is not None:
            self._matcher.until_durable(partial(self._admission.change, record))

    def is_known(self, kind: str, name: str) -> bool:
        """True if there is, or was, a stream, kb or query of the name."""
        return f"{kind} {name}" in self._admission.durable.known

    # --- streams ----------------------------------------------------------------------------------

    def put_stream(self, name: str, settings: StreamSettings) -> bool:
        """Make or change a stream; True if it is new."""
        self._outside.check_stream(name, settings)
        is_new = _changed(self._declarations.put_stream(name, settings))
        self._outside.stream_changed(name)
        return is_new

    def streams(self) -> list[dict[str, Any]]:
        """All streams, the derived ones among them."""
        return self._overview.streams()

    def stream(self, name: str) -> dict[str, Any]:
        """A stream, with its counters."""
        return self._overview.stream(name)

    def delete_stream(self, name: str) -> None:
        """Delete a stream that nobody reads."""
        durable(self._declarations.delete_stream(name))
        self._outside.stream_changed(name)

    def accept(
        self, stream: str, body: bytes, format: str, idempotency_key: str | None = None, ce_id: str | None = None
    ) -> dict[str, Any]:
        """Take the events of a body; the answer, once they are on disk."""
        return self.begin(stream, body, format, idempotency_key, ce_id).kept()

    def begin(
        self, stream: str, body: bytes, format: str, idempotency_key: str | None = None, ce_id: str | None = None
    ) -> Promise:
        """`accept`, which does not wait for the disk."""
        self._check_pushed(stream)
        return self._admission.accept(stream, body, format, idempotency_key, ce_id)

    def begin_at_once(
        self, stream: str, body: bytes, format: str, idempotency_key: str | None = None, ce_id: str | None = None
    ) -> Promise | None:
        """`begin`, if that needs to wait for no other thread."""
        self._check_pushed(stream)
        return self._admission.accept_at_once(stream, body, format, idempotency_key, ce_id)

    def advance(self, stream: str, time: str) -> None:
        """No event before this time will come on the stream."""
        self._check_pushed(stream)
        self._admission.advance(stream, time_of(time))

    # --- knowledge bases --------------------------------------------------------------------------

    def put_kb(self, name: str, settings: KnowledgeSettings) -> bool:
        """Make or change a knowledge base; True if it is new."""
        return _changed(self._declarations.put_kb(name, settings))

    def kbs(self) -> list[dict[str, Any]]:
        """All knowledge bases."""
        return self._overview.kbs()

    def kb(self, name: str) -> dict[str, Any]:
        """A knowledge base."""
        return self._overview.kb(name)

    def delete_kb(self, name: str) -> None:
        """Delete a knowledge base that no query uses."""
        durable(self._declarations.delete_kb(name))

    # --- queries ----------------------------------------------------------------------------------

    def put_query(self, name: str, changes: QueryChanges) -> bool:
        """Make or change a query; True if it is new."""
        with self._outside.entering(name, changes, self._declarations.query_put):
            is_new = _changed(self._declarations.put_query(name, changes))
        self._outside.query_changed(name)
        return is_new

    def queries(self) -> list[dict[str, Any]]:
        """All queries."""
        return self._looks.as_now(self._overview.queries())

    def query(self, name: str) -> dict[str, Any]:
        """A query, with its counters."""
        return self._looks.as_now([self._overview.query(name)])[0]

    def delete_query(self, name: str) -> None:
        """Delete a query whose stream nobody reads; those who follow its rows are told."""
        recovering = not self._matcher.at_work
        durable(self._declarations.delete_query(name, recovering))
        self._is_stopped = recovering
        self._outside.query_changed(name)
        self._results.tell({name})

    def pause(self, name: str) -> None:
        """Pause a query: it keeps its state and its place in the log."""
        recovering = not self._matcher.at_work
        if (future := self._declarations.pause(name, True, recovering)) is not None:
            durable(future)
            self._is_stopped = recovering

    def resume(self, name: str) -> None:
        """Let a paused query read what came meanwhile, and go on."""
        if (future := self._declarations.pause(name, False, False)) is not None:
            durable(future)

    def validate(self, text: str) -> dict[str, Any]:
        """The problems and the warnings of a text."""
        return self._declarations.validated(text)

    def explain(self, name: str) -> dict[str, Any]:
        """The JSON of `spaseq explain`, with the partial matches of now."""
        return with_counts(self._overview.explain(name), self._looks.looked(lambda: self._queries.run_counts(name)))

    def waiting(self, name: str, state: int, limit: int) -> list[dict[str, Any]]:
        """The newest partial matches that wait at a state, `limit` at most; Refused (404, 409, 503)."""
        if state not in [each["id"] for each in self._overview.explain(name)["states"]]:
            raise Refused(
                404, "No such state", f"query '{name}' has no state {state}: explain has the ids of its states"
            )
        self.check_matching()
        found = self._looks.looked(lambda: self._queries.waiting(name, state, limit))
        if found is None:
            raise Refused(503, "Not now", "matching is busy; ask again", headers={"Retry-After": "1"})
        return found

    # --- rows -------------------------------------------------------------------------------------

    def rows(self, name: str, after: int | None, limit: int) -> list[tuple[int, str]]:
        """Rows by number, each with its line of NDJSON; Refused if the one after `after` is no longer kept."""
        return self._results.rows(name, after, limit)

    def newest_row(self, name: str) -> int:
        """The number of the newest row that is on disk; 0: there was none."""
        return self._results.newest_row(name)

    def query_number(self, name: str) -> int:
        """A number of a query that no other one of its name has; any thread asks, and waits for nothing."""
        return self._overview.number(name)

    def fresh_rows(self, name: str, after: int) -> list[tuple[int, str]] | None:
        """The rows after one, if they were found so lately that it is known without the disk; else None."""
        return self._results.fresh_rows(name, after)

    def on_rows(self, name: str, notify: Callable[[], None]) -> Callable[[], None]:
        """Let a function know of rows that are on disk, or of the end of the query; the result ends that."""
        return self._results.follow(name, notify)

    def trig_rows(self, name: str, after: int | None, limit: int) -> tuple[str, int]:
        """The rows of a CONSTRUCT query as TriG, and how many are left out because they are damaged on disk."""
        return self._results.trig_rows(name, after, limit)

    def damaged_rows(self, name: str, after: int | None, limit: int) -> int:
        """The number of rows that are damaged on disk among those that `rows` gives."""
        return self._results.damaged(name, after, limit)

    def dead_letters(self, after: int, limit: int) -> list[str]:
        """Dead letters by number, each a line of NDJSON."""
        return self._results.dead_letters(after, limit)

    # --- state ------------------------------------------------------------------------------------

    def snapshot(self) -> None:
        """Store the state, and delete what is no longer needed of the log."""
        self._matcher.call(self._matcher.save).result()

    def settled(self) -> None:
        """Wait until all that was accepted has been read, with what was set aside, and its rows are on disk."""
        self._read_until(self._admission.durable.number)
        self._read_until(self._admission.durable.number)

    def _read_until(self, number: int) -> None:
        while self._matcher.call(lambda: self._matcher.state.number < number or bool(self._queries.lagging)).result():
            pass

    def check_matching(self) -> None:
        """Raises Refused (503) if matching has ended by a defect: then no row comes any more."""
        self._matcher.check()

    def close(self) -> None:
        """Store the state, and end; what the disk does not take is read again from the log."""
        self._matcher.end_by(self._limits.grace_s / 2)
        self._rest.end()
        self._outside.close()
        self._ticker.close()
        self._admission.close()
        with suppress(Refused, OSError, sqlite3.Error):  # it was said already
            self.snapshot()
        self._matcher.close()
        self._watch.close()
        self._queries.close()
        self._folder.close()

    def _hand(self, place: Place, record: Record) -> None:
        self._matcher.hand(place, record)

    def _waiting(self) -> int:
        return self._matcher.waiting

    def _check_pushed(self, stream: str) -> None:
        """Refused for a stream that a query makes."""
        state = self._admission.durable
        if stream in state.queries and declared_meaning(state, stream).register is not None:
            raise Refused(409, "Conflict", f"query '{stream}' makes this stream: nothing can be pushed to it")


def _changed(made: tuple[bool, Future[int] | None]) -> bool:
    is_new, future = made
    if future is not None:
        durable(future)
    return is_new
