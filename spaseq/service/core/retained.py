"""Events of the log, for people who look at them: the newest of a stream, those of a row, and the IRIs that they have.

Events are read from the log when they are asked for; nothing is kept for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from sparql_gpm.bounds import MatchBounds
from sparql_gpm.terms import RDF
from sparql_gpm.times import format_time
from spaseq.algebra.nodes import TemporalQuery
from spaseq.runtime.state.packed_events import PackedEvents, unpacked_texts
from spaseq.service.core.aside import Decided
from spaseq.service.core.history import Marks
from spaseq.service.core.overview import Overview
from spaseq.service.core.records import Accepted, Advanced, decoded
from spaseq.service.core.replay import Replay
from spaseq.service.core.results import Results, time_of
from spaseq.service.errors import Refused
from spaseq.service.log.segmented import SegmentedLog

RECORDS_MAX = 4_096
"""Records of the log that are read for the newest events."""
EVENTS_MAX = 2_000
"""The newest events that are looked at for the IRIs of the streams."""
IRIS_MAX = 1_000
"""IRIs of one kind that are told."""
_TYPE = f"<{RDF}type>"


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it stands in the log; `triples` are N-Triples, a line each."""

    graph: str
    stream: str
    time_ns: int
    triples: tuple[tuple[str, str, str], ...]

    def shown(self) -> dict[str, Any]:
        """As JSON has it."""
        lines = [f"{' '.join(triple)} ." for triple in self.triples]
        return {"graph": self.graph, "stream": self.stream, "time": format_time(self.time_ns), "triples": lines}


class Retained:
    """The events that the log has; any thread asks."""

    def __init__(
        self, log: SegmentedLog, marks: Marks, results: Results, overview: Overview, bounds: MatchBounds
    ) -> None:
        self._log, self._marks, self._results, self._overview = log, marks, results, overview
        self._bounds = bounds

    def replay(self, name: str, start: str, end: str) -> Iterator[str]:
        """The rows of a query in the events of a period, as if they were a file."""
        begin, stop = time_of(start), time_of(end)
        if begin > stop:
            raise Refused(422, "Unusable value", f"from: {start:.60} is later than {end:.60}")
        state, wanted = self._overview.chain(name)
        read = {iri for each in wanted for _, iri in each.streams}
        iris = [each.settings.iri for each in state.streams.values() if each.settings.iri in read]
        replay = Replay(wanted, self._overview.sources(), self._bounds, Decided.of_state(state))
        return replay.lines(self._log, self._marks.start(iris, begin), begin, stop)

    def row_events(self, name: str, number: int) -> dict[str, list[dict[str, Any]]]:
        """The events of a row by its steps, those of them that are retained; Refused for a row that is not there."""
        row, meaning = self._results.row(name, number), self._overview.meaning(name)
        start = self._marks.start([iri for _, iri in meaning.streams], time_of(row["start"]))
        found = row_events(self._log, start, meaning, row["events"], time_of(row["time"]))
        return {step: [each.shown() for each in events] for step, events in found.items()}

    def newest_events(self, name: str, most: int) -> list[dict[str, Any]]:
        """The newest events of a stream that are retained, the newest last."""
        return [each.shown() for each in newest_events(self._log, self._overview.stream(name)["iri"], most)]

    def vocabulary(self) -> dict[str, list[str]]:
        """The IRIs of the newest events, of the streams and of the knowledge bases."""
        own = {"streams": self._overview.streams(), "graphs": self._overview.kbs()}
        return {**iris(self._log), **{kind: [each["iri"] for each in those] for kind, those in own.items()}}


def newest_events(log: SegmentedLog, iri: str | None, most: int) -> list[Event]:
    """The newest events of a stream, late ones among them, the newest last; None: of all streams."""
    records: deque[Accepted] = deque()
    events = 0
    for _, data in log.read(log.next - RECORDS_MAX):
        record = decoded(data)
        if not isinstance(record, Accepted) or not record.count or iri not in (None, record.iri):
            continue
        records.append(record)
        events += record.count
        while events - records[0].count >= most:
            events -= records.popleft().count
    return [event for record in records for event in _events(record)][-most:]


def row_events(
    log: SegmentedLog, start: int, meaning: TemporalQuery, events: Mapping[str, Sequence[str]], end: int
) -> dict[str, list[Event]]:
    """The events of a row by its steps, in the order in which they were taken; those that are retained.

    start   the number of the record from which on the log is read
    events  the graphs of each step
    end     the time of the last event: when all streams have passed it, the rest is not read
    """
    patterns = {pattern.name: pattern for pattern in meaning.patterns}
    read = {step: [meaning.streams[stream][1] for stream in patterns[step].streams] for step in events}
    wanted = {
        iri: {graph for step in events if iri in read[step] for graph in events[step]} for _, iri in meaning.streams
    }
    found: dict[tuple[str, str], Event] = {}
    for iri, event in _on_time(log, start, wanted, end):
        found.setdefault((iri, event.graph), event)
    return {
        step: [found[key] for graph in graphs for iri in read[step] if (key := (iri, graph)) in found]
        for step, graphs in events.items()
    }


def _on_time(log: SegmentedLog, start: int, wanted: Mapping[str, Set[str]], end: int) -> Iterator[tuple[str, Event]]:
    """The events with wanted graphs that are not late, each with the IRI of its stream."""
    passed = dict.fromkeys(wanted, False)
    for _, data in log.read(start):
        record = decoded(data)
        if not isinstance(record, Accepted | Advanced) or record.iri not in wanted:
            continue
        if isinstance(record, Accepted):
            for index, event in enumerate(_events(record)):
                if event.graph in wanted[record.iri] and index not in record.late:
                    yield record.iri, event
        passed[record.iri] = record.watermark > end
        if all(passed.values()):
            return


def iris(log: SegmentedLog) -> dict[str, list[str]]:
    """The properties, classes and other IRIs of the newest events, each sort in order."""
    triples = [triple for event in newest_events(log, None, EVENTS_MAX) for triple in event.triples]
    found = {
        "properties": {predicate for _, predicate, _ in triples},
        "classes": {value for _, predicate, value in triples if predicate == _TYPE},
        "resources": {term for subject, _, value in triples for term in (subject, value)},
    }
    found["resources"] -= found["classes"]
    return {kind: sorted(term[1:-1] for term in terms if term[0] == "<")[:IRIS_MAX] for kind, terms in found.items()}


def _events(record: Accepted) -> list[Event]:
    return [] if record.events is None else list(_unpacked(record.stream, record.events))


def _unpacked(stream: str, packed: PackedEvents) -> Iterator[Event]:
    terms, batch = unpacked_texts(packed)
    columns = (
        [terms[place] for place in column.tolist()] for column in (batch.subjects, batch.predicates, batch.objects)
    )
    triples = list(zip(*columns, strict=True))
    bounds, times = batch.offsets.tolist(), batch.times.tolist()
    for index, name in enumerate(batch.names):
        yield Event(name, stream, times[index], tuple(triples[bounds[index] : bounds[index + 1]]))
