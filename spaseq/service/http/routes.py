"""The table of all requests."""

from __future__ import annotations

from collections.abc import Mapping

from spaseq.service.http import knowledge, matches, queries, retained, streams, system
from spaseq.service.http.media import EVENT_FORMATS, JSON, NDJSON, QUERY_TEXT
from spaseq.service.http.operations import Operation
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import StreamSettings

_MISSING = {404: "there is none of the name", 422: "the name, or a value, is no good"}
_PUT = {201: "created", 200: "changed", 400: "no JSON", 422: "a value is no good"}
_TEXT: Mapping[str, type | None] = {QUERY_TEXT: None, "text/plain": None}
_AFTER = {"after": ("query", "the number of the row before the first one; 0: from the beginning")}
_PERIOD = {"from": ("query", "the time from which on events count"), "to": ("query", "the time before which they do")}
_MEMORY = "memory is the size of the state in bytes when it was measured last; null: not yet"
_GONE = "the row or its events are past retention"
_PUSHED = {
    202: "on disk: how many were accepted, duplicates, late, rejected, and the position",
    400: "nothing was an event",
    404: "there is no such stream",
    408: "the body did not come",
    409: "a derived stream",
    413: "the body is too large",
    415: "no format of events",
    422: "a known Idempotency-Key with another body",
    429: "the matcher is behind: ask again later",
    507: "the disk is full",
}
_STREAMS = (
    Operation("GET", "/v1/streams", "read", streams.all_streams, {200: "an array"}, meanwhile=True),
    Operation("GET", "/v1/streams/{name}", "read", streams.stream, {200: "the stream"} | _MISSING, meanwhile=True),
    Operation(
        "PUT", "/v1/streams/{name}", "admin", streams.put_stream,
        _PUT | {409: "queries forbid the change, or another stream has the IRI"}, {JSON: StreamSettings},
    ),
    Operation(
        "DELETE", "/v1/streams/{name}", "admin", streams.delete_stream,
        {204: "deleted", 409: "a query reads it"} | _MISSING,
    ),
    Operation(
        "POST", "/v1/streams/{name}", "push", streams.push, _PUSHED, dict.fromkeys(EVENT_FORMATS),
        {
            "Idempotency-Key": ("header", "a body with a known key has no effect; the answer is the first one's"),
            "ce-id": ("header", "the identity of the one event of a body without a graph IRI"),
            "Content-Encoding": ("header", "gzip"),
        },
    ),
    Operation(
        "POST", "/v1/streams/{name}/advance", "push", streams.advance, {202: "on disk", 400: "no JSON"} | _MISSING,
        {JSON: streams.Advance},
    ),
)  # fmt: skip
_KNOWLEDGE = (
    Operation("GET", "/v1/kb", "read", knowledge.all_knowledge, {200: "an array"}),
    Operation("GET", "/v1/kb/{name}", "read", knowledge.knowledge, {200: "the knowledge base"} | _MISSING),
    Operation(
        "PUT", "/v1/kb/{name}", "admin", knowledge.put_knowledge, _PUT | {409: "another one has the IRI"},
        {JSON: KnowledgeSettings}, lasts="long",
    ),
    Operation(
        "DELETE", "/v1/kb/{name}", "admin", knowledge.delete_knowledge,
        {204: "deleted", 409: "a query uses it"} | _MISSING,
    ),
)  # fmt: skip
_QUERIES = (
    Operation("GET", "/v1/queries", "read", queries.all_queries, {200: f"an array; {_MEMORY}"}, meanwhile=True),
    Operation(
        "GET", "/v1/queries/{name}", "read", queries.query, {200: f"the query; {_MEMORY}"} | _MISSING, meanwhile=True
    ),
    Operation(
        "PUT", "/v1/queries/{name}", "admin", queries.put_query,
        _PUT | {409: "its derived stream exists elsewhere, or is read and would be gone"},
        {**_TEXT, JSON: QueryChanges},
        {"since": ("query", "now (default), or window: its state is rebuilt from the log")}, lasts="limited",
    ),
    Operation(
        "DELETE", "/v1/queries/{name}", "admin", queries.delete_query,
        {204: "deleted", 409: "its derived stream is read"} | _MISSING, meanwhile=True,
    ),
    Operation("POST", "/v1/queries/{name}/pause", "admin", queries.pause, {204: "paused"} | _MISSING, meanwhile=True),
    Operation("POST", "/v1/queries/{name}/resume", "admin", queries.resume, {204: "resumed"} | _MISSING),
    Operation(
        "POST", "/v1/validate", "read", queries.validate, {200: "problems and warnings"}, _TEXT, lasts="limited"
    ),
    Operation(
        "POST", "/v1/format", "read", queries.format_text,
        {200: "the text in the one format", 422: "it cannot be read; problems say why"}, _TEXT, lasts="limited",
    ),
    Operation(
        "GET", "/v1/queries/{name}/explain", "read", queries.explain, {200: "the description"} | _MISSING,
        lasts="limited",
    ),
    Operation(
        "GET", "/v1/queries/{name}/runs", "read", queries.waiting_runs,
        {200: "an array", 409: "they are not kept one by one, or the query was stopped"} | _MISSING,
        parameters={
            "state": ("query", "must be given: the id of a state, as explain has it"),
            "limit": ("query", f"how many: {queries.RUNS}, or up to {queries.RUNS_MAX}"),
        },
        lasts="long",
    ),
    Operation(
        "GET", "/v1/queries/{name}/matches", "read", matches.matches,
        {200: "rows", 406: "no such form", 410: "the rows are past retention", 503: "too many readers"} | _MISSING,
        parameters=_AFTER | {
            "limit": ("query", "rows at most"),
            "Last-Event-ID": ("header", "of server-sent events: the number of the last row seen; wins over after"),
        },
        media=matches.FORMS, headers={matches.DAMAGED: "rows that were left out, as they are damaged on disk"},
        meanwhile=True,
    ),
    Operation(
        "POST", "/v1/queries/{name}/replay", "read", queries.replay, {200: "rows", 400: "no JSON"} | _MISSING,
        {JSON: queries.Replay}, media=(NDJSON,), lasts="long",
    ),
    Operation(
        "GET", "/v1/queries/{name}/funnel", "read", queries.funnel, {200: "the counts", 410: _GONE} | _MISSING,
        parameters=_PERIOD, lasts="limited",
    ),
    Operation(
        "POST", "/v1/queries/{name}/why", "read", queries.why,
        {200: "the reasons", 400: "no JSON", 409: "a knowledge base has changed since", 410: _GONE} | _MISSING,
        {JSON: queries.WhyAsked}, lasts="limited",
    ),
    Operation(
        "POST", "/v1/queries/{name}/why-not", "read", queries.why_not,
        {200: "the reasons", 400: "no JSON", 410: _GONE} | _MISSING, {JSON: queries.WhyNotAsked}, lasts="limited",
    ),
)  # fmt: skip
_SERVICE = (
    Operation(
        "GET",
        "/v1/deadletters",
        "read",
        system.dead_letters,
        {200: "lines"},
        parameters=_AFTER,
        media=(NDJSON,),
        meanwhile=True,
    ),
    Operation(
        "POST",
        "/v1/snapshot",
        "admin",
        system.snapshot,
        {201: "state written, log trimmed", 503: "the disk fails: it is tried again", 507: "the disk is full"},
    ),
    Operation("GET", "/healthz", "none", system.healthy, {200: "the process answers"}, meanwhile=True),
    Operation(
        "GET",
        "/readyz",
        "none",
        system.ready,
        {200: "ready; what waits for the disk", 503: "recovering, or the disk fails"},
    ),
    Operation("GET", "/metrics", "read", system.measured, {200: "counters"}, media=("text/plain",), meanwhile=True),
)
_RETAINED = (
    Operation(
        "GET", "/v1/streams/{name}/events", "read", retained.newest_events, {200: "an array"} | _MISSING,
        parameters={"last": ("query", f"how many: {retained.LAST}, or up to {retained.LAST_MAX}")}, lasts="long",
    ),
    Operation(
        "GET", "/v1/queries/{name}/matches/{number}/events", "read", retained.row_events,
        {200: "step → array of events", 410: "the row is past retention"} | _MISSING, lasts="long",
    ),
    Operation("GET", "/v1/vocabulary", "read", retained.vocabulary, {200: "sort → array of IRIs"}, lasts="long"),
)  # fmt: skip
OPERATIONS = (*_STREAMS, *_KNOWLEDGE, *_QUERIES, *_RETAINED, *_SERVICE)
"""All requests but those of the page and of the OpenAPI document, which is made of these."""
