"""Reasons of rows and of missing rows, and funnels, found in the events that the log has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from threading import Lock
from typing import Any

from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from sparql_gpm.bounds import MatchBounds
from sparql_gpm.terms import Term
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.why import why_row
from spaseq.engine.why_not import why_not
from spaseq.errors import RunError
from spaseq.inputs.given import GivenEvents
from spaseq.inputs.term_json import term_of_json
from spaseq.outputs.attempts import WhyNot
from spaseq.outputs.explanations import Why, WhyGroup
from spaseq.outputs.rows import Row
from spaseq.service.core.aside import Decided
from spaseq.service.core.history import Marks
from spaseq.service.core.meanings import declared_meaning, meaning_of, producers, with_producers
from spaseq.service.core.past_events import PastEvents
from spaseq.service.core.records import QueryPut, decoded
from spaseq.service.core.replay import Replay
from spaseq.service.core.results import Results, sound_line, time_of
from spaseq.service.core.state import State
from spaseq.service.errors import Refused
from spaseq.service.log.segmented import SegmentedLog
from spaseq.service.store.damage import is_in_a_place
from spaseq.service.store.faults import of_damage

TEXTS_MAX = 10
"""Earlier texts of a query that are tried for a row that the present one does not give."""
EQUAL_ROWS_MAX = 10_000
"""Rows before one that are looked at for equal ones."""
ROWS_AT_ONCE = 100
"""Of them are read by one request to the database."""


class Explaining:
    """Answers from the retained events, one at a time, beside the thread that matches.

    state       what is declared, as far as it is on disk; a copy
    knowledge   the knowledge bases as the engine takes them, by IRI
    """

    def __init__(
        self,
        log: SegmentedLog,
        marks: Marks,
        results: Results,
        state: Callable[[], State],
        knowledge: Callable[[], Mapping[str, Any]],
        bounds: MatchBounds,
    ) -> None:
        self._bounds = bounds
        self._log, self._marks, self._results = log, marks, results
        self._state, self._knowledge = state, knowledge
        self._one = Lock()

    def why(self, name: str, number: int) -> Why | WhyGroup:
        """The reasons of a row; Refused (410) if it, or its events, are past retention, (422) if there is none."""
        row, before = self._row(name, number)
        with self._alone():
            state = self._state()
            for text in self._texts(state, name):
                queries = with_producers(producers(state), meaning_of(name, text))
                reach = _reach(queries)
                begin, end = max(TIME_NS_MIN, row.start - reach), min(TIME_NS_MAX, row.time + reach)
                streams, _ = self._streams(state, queries, begin, end)
                options = self._options(state, name)
                found = why_row(queries, streams, row, (number, before), self._knowledge(), **options)
                if found is not None:
                    return found
        if self._log.first > 1:
            raise Refused(410, "Gone", f"the events of row {number} are past retention")
        raise Refused(409, "Conflict", f"a knowledge base of '{name}' has changed since row {number} was found")

    def why_not(
        self,
        name: str,
        bindings: Mapping[str, Any],
        events: Mapping[str, Sequence[str]],
        since: str | None,
        until: str | None,
    ) -> WhyNot:
        """The reasons why there is no row with these bindings and events in a period; Refused (410, 422)."""
        terms = {variable: _binding(variable, value) for variable, value in bindings.items()}
        least = TIME_NS_MIN if since is None else time_of(since)
        most = TIME_NS_MAX if until is None else time_of(until)
        if least > most:
            raise Refused(422, "Unusable value", f"from: {since!s:.60} is later than {until!s:.60}")
        with self._alone():
            state = self._state()
            queries = with_producers(producers(state), self._meaning(state, name))
            reach = _reach(queries)
            begin = max(TIME_NS_MIN, least - reach) if since is not None else TIME_NS_MIN
            end = min(TIME_NS_MAX, most + reach) if until is not None else TIME_NS_MAX
            streams, is_whole = self._streams(state, queries, begin, end)
            if since is not None and not is_whole:
                raise Refused(410, "Gone", f"the log has no events at {since:.60} any more: they are past retention")
            return why_not(
                queries, streams, self._knowledge(), bind=terms, events=events, since=since, until=until, name=name,
                **self._options(state, name),
            )  # fmt: skip

    def funnel(self, name: str, since: str | None, until: str | None) -> str:
        """The funnel of the query as it is, over the retained events of a period, as JSON; Refused (410, 422)."""
        begin = TIME_NS_MIN if since is None else time_of(since)
        end = TIME_NS_MAX if until is None else time_of(until)
        with self._alone():
            state = self._state()
            queries = with_producers(producers(state), self._meaning(state, name))
            iris = _iris(state, queries)
            start = 1 if since is None else self._marks.start(iris, begin)
            if since is not None and start < self._log.first:
                raise Refused(410, "Gone", f"the log has no events at {since:.60} any more: they are past retention")
            replay = Replay(queries, self._knowledge(), self._bounds, Decided.of_state(state), analyze=True)
            return replay.funnel(self._log, start, begin, end)

    # --- what is given ----------------------------------------------------------------------------

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One at a time, so that what they hold is bounded; an endpoint that fails is not the client's fault."""
        with self._one:
            try:
                yield
            except RunError as error:
                if (damage := of_damage(error)) is not None:
                    raise damage from error
                detail = f"{error.message}; {error.hint}" if error.hint else error.message
                raise Refused(503, "Not now", detail) from error

    def _meaning(self, state: State, name: str) -> TemporalQuery:
        if name not in state.queries:
            raise Refused(404, "No such query", f"there is no query '{name}'")
        return declared_meaning(state, name)

    def _texts(self, state: State, name: str) -> Iterator[str]:
        """The text of a query, and the earlier ones that the log has, the newest first."""
        declared = state.queries[name]
        yield declared.settings.text
        if declared.put == declared.number:
            return
        earlier: dict[str, None] = {}
        for number, data in self._log.read(declared.number):
            if number > declared.put:
                break
            record = decoded(data)
            if isinstance(record, QueryPut) and record.name == name:
                earlier.pop(record.settings.text, None)
                earlier[record.settings.text] = None
        earlier.pop(declared.settings.text, None)
        yield from list(earlier)[::-1][:TEXTS_MAX]

    def _options(self, state: State, name: str) -> dict[str, Any]:
        return {
            "max_delay_ns": TIME_NS_MAX,
            "max_runs": state.queries[name].settings.max_runs,
            "max_solutions": self._bounds.solutions,
            "max_event_seconds": self._bounds.seconds,
        }

    def _streams(
        self, state: State, queries: Sequence[TemporalQuery], begin: int, end: int
    ) -> tuple[dict[str, GivenEvents], bool]:
        """The events of the streams that queries read, by IRI, with begin ≤ time ≤ end; False if some may be gone."""
        iris = _iris(state, queries)
        start = self._marks.start(iris, begin)
        given, decided = {}, Decided.of_state(state)
        for declared in state.streams.values():
            iri, settings = declared.settings.iri, declared.settings
            if iri in iris:
                past = PastEvents(self._log, iri, settings.max_delay_ns, start, state.number, begin, end)
                given[iri] = GivenEvents(past.read, declared.progress.watermark, decided.of if decided else None)
        return given, start >= self._log.first

    def _row(self, name: str, number: int) -> tuple[Row, int]:
        """A row, and the number of equal ones before it; Refused."""
        found = self._results.rows(name, number - 1, 1)
        if not found or found[0][0] != number:
            newest = self._results.newest_row(name)
            detail = f"match: there is no row {number}: " + (f"the newest is {newest}" if newest else "there is none")
            raise Refused(422, "Unusable value", detail)
        row = _row_of(sound_line(name, *found[0]))
        at_its_time = takewhile(lambda other: other.time == row.time, self._rows_before(name, number))
        return row, sum(other == row for other in at_its_time)

    def _rows_before(self, name: str, number: int) -> Iterator[Row]:
        """The rows before one, the nearest first, EQUAL_ROWS_MAX at most."""
        oldest = self._results.rows(name, None, 1)[0][0]
        least = max(oldest, number - EQUAL_ROWS_MAX)
        while number > least:
            begin = max(least, number - ROWS_AT_ONCE)
            for _, line in reversed(self._results.rows(name, begin - 1, number - begin)):
                if not is_in_a_place(line):
                    yield _row_of(line)
            number = begin


def _row_of(line: str) -> Row:
    """The row of a line of NDJSON; the triples of a graph are left out."""
    row = json.loads(line)
    bindings = tuple((name, term_of_json(value)) for name, value in row.get("bindings", {}).items())
    events = tuple((step, tuple(names)) for step, names in row.get("events", {}).items())
    return Row(row["query"], time_of(row["time"]), time_of(row["start"]), bindings, events, row.get("graph"))


def _binding(variable: str, value: Any) -> Term:
    try:
        return term_of_json(value)
    except ValueError as error:
        raise Refused(422, "Unusable value", f"bindings: {variable:.60}: {error}") from error


def _iris(state: State, queries: Sequence[TemporalQuery]) -> list[str]:
    """The streams that queries read and that no query makes."""
    read = {iri for query in queries for _, iri in query.streams}
    return [each.settings.iri for each in state.streams.values() if each.settings.iri in read]


def _reach(queries: Sequence[TemporalQuery]) -> int:
    """The time before and after a match in which events can matter to it."""
    if any(query.window.in_events for query in queries):
        return TIME_NS_MAX
    return sum(max(query.window.size, query.window.period) for query in queries)
