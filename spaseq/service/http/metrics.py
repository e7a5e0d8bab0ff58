"""Counters for Prometheus: those of the core, read when they are asked for, and those of HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from spaseq.service.core.disk import ALWAYS
from spaseq.service.errors import Refused
from spaseq.service.http.bodies import BodyBudget
from spaseq.service.http.broadcasts import Broadcasts
from spaseq.service.http.workers import Workers
from spaseq.service.peers.pauses import State
from spaseq.service.store.faults import refused

if TYPE_CHECKING:
    from spaseq.service.core.service import Service

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_OF_STREAMS = {
    "events": "Events accepted, late ones included.",
    "late": "Events accepted behind the watermark.",
    "malformed": "Events rejected.",
    "duplicates": "Events that were known.",
}
_OF_QUERIES = {"rows": "Rows found.", "set_aside": "Events that could not be matched within their bounds."}
_STATES = ("running", "paused", "failed")
_OUTSIDE = get_args(State)
"""The states of sources and sinks."""


class Metrics:
    """The registry of one service."""

    def __init__(self, workers: Workers, broadcasts: Broadcasts, budget: BodyBudget) -> None:
        self._workers, self._broadcasts, self._budget = workers, broadcasts, budget
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "spaseq_http_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self.seconds = Histogram(
            "spaseq_http_request_seconds", "Time to the end of an answer.", ("route",), buckets=_SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self._registry.register(self)

    def answered(self, method: str, route: str, status: int, seconds: float, live: bool) -> None:
        """Count an answer; those that go on for ever have no duration."""
        self.requests.labels(method, route, str(status)).inc()
        if not live:
            self.seconds.labels(route).observe(seconds)

    def text(self) -> tuple[bytes, str]:
        """The exposition and its media type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST

    def describe(self) -> Iterable[Metric]:
        """Nothing: the families are known when they are collected."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """The counters of the core now."""
        readers = GaugeMetricFamily("spaseq_readers", "Connections that follow rows.")
        readers.add_metric([], self._broadcasts.readers)
        yield readers
        held = GaugeMetricFamily("spaseq_body_bytes", "Bytes of bodies that are held.")
        held.add_metric([], self._budget.held)
        yield held
        core = self._workers.core
        yield _of_the_disk(core.disk.waiting())
        with suppress(Refused), refused():  # a disk that gives no numbers
            yield from self._of_the_core(core)

    def _of_the_core(self, core: Service) -> Iterable[Metric]:
        streams = [each for each in core.streams() if not each.get("derived")]
        yield from _families("stream", _OF_STREAMS, streams)
        yield _of_sources(streams)
        queries = core.queries()
        yield from _families("query", _OF_QUERIES, queries)
        yield from _of_states(queries)
        yield from _of_sinks(queries)
        for name, value in core.counters.now().items():
            plain = GaugeMetricFamily(f"spaseq_{name}", "A number of the core.")
            plain.add_metric([], value)
            yield plain


def _of_the_disk(waiting: Mapping[str, str]) -> Metric:
    family = GaugeMetricFamily("spaseq_disk_waiting", "1 for what waits for the disk.", labels=["what"])
    for what in dict.fromkeys((*ALWAYS, *waiting)):
        family.add_metric([what], float(what in waiting))
    return family


def _families(label: str, counters: dict[str, str], things: list[dict[str, object]]) -> Iterable[Metric]:
    for key, text in counters.items():
        family = CounterMetricFamily(f"spaseq_{label}_{key}", text, labels=[label])
        for thing in things:
            family.add_metric([str(thing["name"])], float(str(thing[key])))
        yield family


def _of_states(queries: list[dict[str, object]]) -> Iterable[Metric]:
    runs = GaugeMetricFamily("spaseq_query_runs", "Partial matches kept.", labels=["query"])
    states = GaugeMetricFamily("spaseq_query_state", "1 for the state of a query.", labels=["query", "state"])
    memory = GaugeMetricFamily("spaseq_query_memory_bytes", "Size of the state, if it is known.", labels=["query"])
    for each in queries:
        runs.add_metric([str(each["name"])], float(str(each["runs"] or 0)))
        if each["memory"] is not None:
            memory.add_metric([str(each["name"])], float(str(each["memory"])))
        for state in _STATES:
            states.add_metric([str(each["name"]), state], float(each["state"] == state))
    return runs, memory, states


def _of_sources(streams: list[dict[str, Any]]) -> Metric:
    states = GaugeMetricFamily("spaseq_source_state", "1 for the state of a source.", labels=["stream", "state"])
    for stream in streams:
        if known := (stream.get("source") or {}).get("state"):
            for state in _OUTSIDE:
                states.add_metric([stream["name"], state], float(known == state))
    return states


def _of_sinks(queries: list[dict[str, Any]]) -> Iterable[Metric]:
    """Sinks are numbered from 1 as the query has them: their addresses may be secret."""
    states = GaugeMetricFamily("spaseq_sink_state", "1 for the state of a sink.", labels=["query", "sink", "state"])
    rows = GaugeMetricFamily("spaseq_sink_row", "The number of the last row delivered.", labels=["query", "sink"])
    for query in queries:
        for number, sink in enumerate(query["sinks"], 1):
            rows.add_metric([query["name"], str(number)], float(sink.get("n", 0)))
            for state in _OUTSIDE:
                states.add_metric([query["name"], str(number), state], float(sink.get("state") == state))
    return states, rows
