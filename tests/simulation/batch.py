"""The rows of a query as a single engine finds them that is given all of its events at once, in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sparql_gpm.terms import XSD
from sparql_gpm.times import format_time
from spaseq.engine.live import Engine
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row, to_json
from spaseq.runtime.order.reorder import BEFORE_ALL
from spaseq.runtime.state.packed_events import unpacked_texts
from spaseq.service.core.records import Accepted, Advanced, QueryPut, Record
from tests.strategies.knowledge import DB
from tests.strategies.stream import GENERATED, SECOND

NO_DELAY_NS = 3_650 * 86_400 * SECOND
"""The delay of the engine: what is late has been decided."""


@dataclass(frozen=True, slots=True)
class Since:
    """A query from the record on that put its text: the number of the record, of its rows, and the watermarks then."""

    text: str
    number: int
    rows: int
    watermarks: dict[str, int]


@dataclass(slots=True)
class Log:
    """The records of a log, as far as rows follow from them.

    solutions_max   in an event
    queries     by name, those that have seen nothing but the events behind a record
    """

    solutions_max: int
    queries: dict[str, Since] = field(default_factory=dict)
    _records: list[tuple[int, Accepted | Advanced]] = field(default_factory=list)
    _watermarks: dict[str, int] = field(default_factory=dict)

    def add(self, number: int, record: Record, rows: int | None) -> None:
        """The next record; `rows`: of the query that it puts, so far, None if that has not read all before."""
        match record:
            case Accepted() | Advanced():
                self._records.append((number, record))
                self._watermarks[record.iri] = max(self._watermarks.get(record.iri, BEFORE_ALL), record.watermark)
            case QueryPut(name, _, settings, since) if since != "kept":
                self.queries.pop(name, None)
                if since == "now" and rows is not None:
                    self.queries[name] = Since(settings.text, number, rows, dict(self._watermarks))

    def rows(self, name: str) -> list[str] | None:
        """The rows of a query since its text was put; None if they follow from more than the events of streams."""
        since = self.queries[name]
        query = parse(since.text, name)
        iris = [stream.iri for stream in query.streams]
        if f"<{DB}>" in since.text or not all(iri in self._watermarks for iri in iris):
            return None
        found: list[Row] = []
        engine = Engine(max_delay_ns=NO_DELAY_NS, max_solutions=self.solutions_max)
        engine.register(query, found.append)
        for iri in iris:
            _advance(engine, iri, since.watermarks.get(iri, BEFORE_ALL))
        for iri in iris:
            engine.push_batch(iri, self._events(iri, since.number), "nquads")
        for iri in iris:
            _advance(engine, iri, self._watermarks[iri])
        engine.close(flush=False)
        return [to_json(row) for row in found]

    def _events(self, iri: str, number: int) -> str:
        """The events of a stream behind a record, those that are not late, in order of time."""
        events: list[tuple[int, str]] = []
        for at, record in self._records:
            if at > number and record.iri == iri and isinstance(record, Accepted) and record.events is not None:
                late = frozenset(record.late)
                events += [event for index, event in enumerate(_texts(record)) if index not in late]
        return "".join(text for _, text in sorted(events, key=lambda event: event[0]))


def _texts(record: Accepted) -> Sequence[tuple[int, str]]:
    """Each event with its time, as N-Quads."""
    assert record.events is not None
    terms, events = unpacked_texts(record.events)
    found = []
    for index, (time, name) in enumerate(zip(events.times.tolist(), events.names, strict=True)):
        begin, end = events.offsets[index : index + 2].tolist()
        triples = zip(*(column[begin:end].tolist() for column in events.terms), strict=True)
        lines = [f'<{name}> <{GENERATED.value}> "{format_time(time)}"^^<{XSD}dateTime> .\n']
        lines += [f"{terms[s]} {terms[p]} {terms[o]} <{name}> .\n" for s, p, o in triples]
        found.append((time, "".join(lines)))
    return found


def _advance(engine: Engine, iri: str, watermark: int) -> None:
    if watermark != BEFORE_ALL:
        engine.advance(iri, format_time(watermark))
