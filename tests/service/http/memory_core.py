"""A core that keeps everything in memory: enough to ask every request, and to fail in every way, over real sockets."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from spaseq.errors import Problem
from spaseq.service.core.admission import Promise
from spaseq.service.errors import Refused
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges, QuerySettings
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.store.damage import is_in_a_place
from tests.waiting import PATIENCE_S


class SoundDisk:
    """A disk for which nothing waits."""

    def check(self) -> None:
        """All is well."""

    def waiting(self) -> dict[str, str]:
        return {}

    def shown(self) -> list[dict[str, str]]:
        return []


class MemoryRetained:
    """What a core says of the events that it has."""

    def __init__(self, core: MemoryCore) -> None:
        self._core = core

    def replay(self, name: str, start: str, end: str) -> Iterator[str]:
        self._core.query(name)
        if start > end:
            raise Refused(422, "Unusable value", "from is behind to")
        yield from (json.dumps({"query": name, "number": number}) for number in range(1200))

    def newest_events(self, name: str, most: int) -> list[dict[str, Any]]:
        self._core.stream(name)
        return []

    def row_events(self, name: str, number: int) -> dict[str, list[dict[str, Any]]]:
        self._core.query(name)
        return {}

    def vocabulary(self) -> dict[str, list[str]]:
        return {"properties": []}


class MemoryCounters:
    """The numbers of a core."""

    def now(self) -> Mapping[str, float]:
        return {"log_bytes": 17.0}


class MemoryCore:
    """The interface of the core over dictionaries.

    fault   raised by the next call of `accept`
    entered, gate   `accept` sets the one and waits for the other
    """

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes, str, str | None, str | None]] = []
        self.fault: Exception | None = None
        self.entered, self.gate = threading.Event(), threading.Event()
        self.gate.set()
        self.found: dict[str, list[str]] = {}
        self.oldest = 1
        self.snapshots = 0
        self.disk = SoundDisk()
        self.retained, self.counters = MemoryRetained(self), MemoryCounters()
        self.defect = ""
        self._streams: dict[str, StreamSettings] = {}
        self._kbs: dict[str, KnowledgeSettings] = {}
        self._queries: dict[str, QuerySettings] = {}
        self._told: dict[str, list[Callable[[], None]]] = {}
        self._numbers: dict[str, int] = {}
        self._new = count(1)

    def put_stream(self, name: str, settings: StreamSettings) -> bool:
        if any(each.iri == settings.iri and other != name for other, each in self._streams.items()):
            raise Refused(409, "Conflict", "another stream has the IRI")
        created = name not in self._streams
        self._streams[name] = settings
        return created

    def streams(self) -> list[dict[str, Any]]:
        return [self.stream(name) for name in self._streams]

    def stream(self, name: str) -> dict[str, Any]:
        counters = {"events": 1, "late": 0, "malformed": 0, "duplicates": 0, "watermark": None, "idle": False}
        return {**self._one(self._streams, name).shown(), "name": name, **counters, "position": 1}

    def delete_stream(self, name: str) -> None:
        self._one(self._streams, name)
        if self._queries:
            raise Refused(409, "Conflict", "it is read", members={"queries": list(self._queries)})
        del self._streams[name]

    def accept(
        self, stream: str, body: bytes, format: str, idempotency_key: str | None = None, ce_id: str | None = None
    ) -> dict[str, Any]:
        self._one(self._streams, stream)
        self.entered.set()
        assert self.gate.wait(PATIENCE_S)
        if self.fault is not None:
            raise self.fault
        self.bodies.append((stream, body, format, idempotency_key, ce_id))
        return {"accepted": 1, "duplicates": 0, "late": 0, "rejected": [], "position": len(self.bodies)}

    def begin(
        self, stream: str, body: bytes, format: str, idempotency_key: str | None = None, ce_id: str | None = None
    ) -> Promise:
        return Promise(self.accept(stream, body, format, idempotency_key, ce_id), None)

    def begin_at_once(self, *given: Any, **named: Any) -> None:
        """Another thread is always in the way."""

    def fresh_rows(self, name: str, after: int) -> None:
        """Nothing is known without the disk."""

    def advance(self, stream: str, time: str) -> None:
        self._one(self._streams, stream)
        if "T" not in time:
            raise Refused(422, "Unusable value", f"'{time}' is no time")

    def put_kb(self, name: str, settings: KnowledgeSettings) -> bool:
        created = name not in self._kbs
        self._kbs[name] = settings
        return created

    def kbs(self) -> list[dict[str, Any]]:
        return [self.kb(name) for name in self._kbs]

    def kb(self, name: str) -> dict[str, Any]:
        return {**self._one(self._kbs, name).shown(), "name": name}

    def delete_kb(self, name: str) -> None:
        self._one(self._kbs, name)
        del self._kbs[name]

    def put_query(self, name: str, changes: QueryChanges) -> bool:
        before = self._queries.get(name)
        settings = (before or QuerySettings("")).changed(changes)
        if "SELECT" not in settings.text and "CONSTRUCT" not in settings.text:
            problem = Problem("SQ001", "no clause", 1, 2, 3, "write SELECT")
            raise Refused(422, "Problems in the query", "it does not validate", problems=(problem,))
        self._queries[name] = settings
        self.found.setdefault(name, [])
        if before is None:
            self._numbers[name] = next(self._new)
        return before is None

    def queries(self) -> list[dict[str, Any]]:
        return [self.query(name) for name in self._queries]

    def query(self, name: str) -> dict[str, Any]:
        settings = self._one(self._queries, name)
        counters = {
            "state": "running",
            "rows": len(self.found[name]),
            "runs": 0,
            "memory": 0,
            "set_aside": 0,
            "error": None,
        }
        return {**settings.shown(), "name": name, **counters, "since_seen": settings.since}

    def delete_query(self, name: str) -> None:
        self._one(self._queries, name)
        del self._queries[name], self.found[name]
        self._tell(name)

    def pause(self, name: str) -> None:
        self._one(self._queries, name)

    def resume(self, name: str) -> None:
        self._one(self._queries, name)

    def validate(self, text: str) -> dict[str, Any]:
        return {"problems": [] if "SELECT" in text else [{"code": "SQ001"}], "warnings": []}

    @property
    def explaining(self) -> MemoryCore:
        """What answers `funnel`."""
        return self

    def funnel(self, name: str, since: str | None, until: str | None) -> str:
        """See the core."""
        self.query(name)
        return "{}"

    def explain(self, name: str) -> dict[str, Any]:
        return {"query": name, "text": self._one(self._queries, name).text}

    def waiting(self, name: str, state: int, limit: int) -> list[dict[str, Any]]:
        self._one(self._queries, name)
        return [{"events": {"A": [f"urn:e{n}"]}, "bindings": {}, "until": None} for n in range(limit)]

    def find(self, name: str, count: int, value: str = "x") -> None:
        """Add rows, and tell those who follow."""
        rows = self.found[name]
        for n in range(len(rows) + 1, len(rows) + count + 1):
            row = {"n": n, "query": name, "bindings": {"s": {"type": "literal", "value": f"{value}{n}"}}, "events": {}}
            rows.append(json.dumps(row))
        self._tell(name)

    def rows(self, name: str, after: int | None, limit: int) -> list[tuple[int, str]]:
        self._one(self._queries, name)
        if after is not None and after + 1 < self.oldest:
            raise Refused(410, "Gone", "past retention", members={"oldest": self.oldest})
        start = max(self.oldest - 1, after or 0)
        return list(enumerate(self.found[name][start : start + limit], start + 1))

    def query_number(self, name: str) -> int:
        self._one(self._queries, name)
        return self._numbers[name]

    def newest_row(self, name: str) -> int:
        self._one(self._queries, name)
        return len(self.found[name])

    def on_rows(self, name: str, notify: Callable[[], None]) -> Callable[[], None]:
        self._one(self._queries, name)
        self._told.setdefault(name, []).append(notify)
        return lambda: self._told[name].remove(notify)

    def trig_rows(self, name: str, after: int | None, limit: int) -> tuple[str, int]:
        self._one(self._queries, name)
        return "<urn:g> { <urn:s> <urn:p> <urn:o> }\n", 0

    def damaged_rows(self, name: str, after: int | None, limit: int) -> int:
        return sum(is_in_a_place(line) for _, line in self.rows(name, after, limit))

    def dead_letters(self, after: int, limit: int) -> list[str]:
        return [json.dumps({"n": number, "reason": "late"}) for number in range(after + 1, 1201)][:limit]

    def snapshot(self) -> None:
        self.snapshots += 1

    def check_matching(self) -> None:
        if self.defect:
            raise Refused(503, "Matching has ended", self.defect)

    def _tell(self, name: str) -> None:
        for notify in list(self._told.get(name, ())):
            notify()

    @staticmethod
    def _one(things: Mapping[str, Any], name: str) -> Any:
        if name not in things:
            raise Refused(404, "Not found", f"there is no '{name}'")
        return things[name]
