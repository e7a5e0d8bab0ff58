"""The queries of an engine: they come, pause, are replaced and go while events are pushed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.arguments import meanings_of
from spaseq.engine.history import History, check_rebuilt
from spaseq.engine.options import RunOptions, Statistics
from spaseq.engine.registration import Found, OnMatch, Registration
from spaseq.engine.replacement import check_same_state
from spaseq.engine.setup import Setup
from spaseq.engine.streams import PushedStreams
from spaseq.errors import InputError
from spaseq.lang.ast import Query
from spaseq.outputs.row_table import Rows
from spaseq.physical.plan import PhysicalPlan
from spaseq.runtime.embedded.audience import Reader
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.reader_state import ReaderState

KEEPS = ("nothing", "state", "window")
"""The parts of the state of a query that the one in its place may go on with."""


class LiveQueries:
    """The registered queries of one engine.

    history     None: no state is rebuilt
    turn        the time in which an engine is changed by nobody else; at its end rows go to their functions
    streams     that they read
    found       rows that have not been given to their functions
    all         in the order in which they came
    """

    def __init__(
        self,
        setup: Setup,
        network: Network,
        options: RunOptions,
        statistics: Statistics,
        history: History | None,
        turn: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._setup = setup
        self._delay = options.max_delay_ns
        self._network = network
        self._statistics = statistics
        self._history = history
        self._turn = turn
        self.streams = PushedStreams()
        self.found: Found = deque()
        self.all: dict[Registration, None] = {}

    def register(self, query: Query, on_match: OnMatch | None, max_runs: int | None) -> Registration:
        """One more query; see `Engine.register`."""
        (meaning,) = meanings_of(query)
        if on_match is not None and not callable(on_match):
            raise InputError(f"on_match is a function of a row, not {type(on_match).__name__}")
        if max_runs is not None:
            RunOptions(max_runs=max_runs)
        registration = Registration(meaning, on_match, self.found, self, max_runs)
        operator = self._setup.live_operator(meaning, max_runs)
        try:
            reader = self._network.add(operator, partial(self._take, registration))
        except InputError:
            operator.release()
            raise
        registration.begin(reader)
        self.streams.add(meaning)
        self.all[registration] = None
        self._tell_history()
        return registration

    def unregister_query(self, registration: Registration) -> None:
        """See `Registration.unregister`."""
        with self._turn():
            self._network.remove(registration.reader)
            self.streams.remove(registration.end())
            del self.all[registration]

    def pause_query(self, registration: Registration) -> None:
        """See `Registration.pause`."""
        with self._turn():
            self._network.pause(self._reader(registration))

    def resume_query(self, registration: Registration) -> None:
        """See `Registration.resume`."""
        with self._turn():
            self._network.resume(self._reader(registration))

    def replace_query(self, registration: Registration, query: Query, keep: str) -> None:
        """See `Registration.replace`."""
        with self._turn():
            before, was, paused = self._reader(registration), registration.meaning, registration.paused
            if keep not in KEEPS:
                raise InputError(f"a replaced query keeps nothing, state or window, not {keep!r}")
            (meaning,) = meanings_of(query)
            reader = self._replaced(registration, before, meaning, keep)
            registration.begin(reader, meaning)
            self.streams.add(meaning)
            self.streams.remove(was)
            if paused:
                self._network.pause(reader)
            self._tell_history()

    def _replaced(self, registration: Registration, before: Reader, meaning: TemporalQuery, keep: str) -> Reader:
        """The new query in the place of the one before, which is there again if that fails."""
        as_it_was, paused = self._network.state_of(before), registration.paused
        state = self._state(registration, before, meaning, keep, as_it_was)
        take, network = partial(self._take, registration), self._network
        operator = self._setup.operator(meaning, registration.max_runs)
        try:
            network.remove(before, keep_readers=meaning.register == before.query.register)
        except InputError:
            operator.release()
            raise
        try:
            return network.add(operator, take) if state is None else network.add_restored(operator, take, state)
        except InputError:
            operator.release()
            again = self._setup.operator(registration.meaning, registration.max_runs)
            registration.begin(network.add_restored(again, take, as_it_was))
            if paused:
                network.pause(registration.reader)
            raise

    def _state(
        self, registration: Registration, before: Reader, meaning: TemporalQuery, keep: str, as_it_was: ReaderState
    ) -> ReaderState | None:
        """The state with which the new query begins; None: it has seen nothing."""
        if keep == "nothing":
            return None
        if keep == "window":
            return self._rebuilt(meaning, registration)
        if before.operator is None:
            raise InputError(f"query '{registration.name}' was stopped: there is no state to keep")
        check_same_state(registration.meaning, meaning, before.operator.physical, self._plan(meaning))
        return as_it_was

    def _plan(self, meaning: TemporalQuery) -> PhysicalPlan:
        operator = self._setup.operator(meaning)
        operator.release()
        return operator.physical

    def _rebuilt(self, meaning: TemporalQuery, registration: Registration) -> ReaderState:
        """The state that a query would have, had it been there: it reads the history beside those that it reads of."""
        if self._history is None:
            hint = "spaseq.Engine(history=True) keeps the events of the windows"
            raise InputError("the engine keeps no history to rebuild a state from", hint=hint)
        check_rebuilt(meaning)
        network, readers = Network(self._setup.pool.dictionary, self._delay), list[Reader]()
        try:
            for each in self._makers(meaning, registration):
                operator = self._setup.operator(each.meaning, each.max_runs)
                readers.append(network.add(operator, lambda rows: None))
            own = network.add(self._setup.operator(meaning, registration.max_runs), lambda rows: None)
            readers.append(own)
            self._history.replay(network)
            network.raise_stopped()
            return network.state_of(own)
        finally:
            for reader in reversed(readers):
                network.remove(reader, keep_readers=True)

    def _makers(self, meaning: TemporalQuery, registration: Registration) -> list[Registration]:
        """The queries that make the streams of this one, and theirs."""
        makers = {
            each.meaning.register: each for each in self.all if each.meaning.register and each is not registration
        }
        found: dict[Registration, None] = {}
        waiting = [meaning]
        while waiting:
            for _, iri in waiting.pop().streams:
                if (maker := makers.get(iri)) is not None and maker not in found:
                    found[maker] = None
                    waiting.append(maker.meaning)
        return list(found)

    def _reader(self, registration: Registration) -> Reader:
        if not registration.registered:
            raise InputError(f"query '{registration.name}' is not registered any more")
        return registration.reader

    def _tell_history(self) -> None:
        if self._history is not None:
            self._history.register(each.meaning for each in self.all)

    def _take(self, registration: Registration, rows: Rows) -> None:
        self._statistics.matches += registration.take(rows)
