"""The state of an engine as bytes: its queries as texts, what waits, and the state of their network.

snapshot := MAGIC VERSIONS sha256(rest) rest,  rest := msgpack [options, blob of `spaseq.runtime.state.snapshot`]

It carries terms, not ids, and no code, so it means the same in every process and on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.term_text import canonical_token, term_of
from spaseq.engine.options import RunOptions
from spaseq.engine.registration import OnMatch, SavedQuery
from spaseq.errors import InputError
from spaseq.outputs.rows import Row
from spaseq.runtime.state import snapshot as state

MAGIC, VERSION = b"SPAseq engine ", 1
"""Of the format: one more whenever it changes. The version of the states of queries stands beside it."""
_VERSIONS = VERSION.to_bytes(2, "big") + state.VERSION.to_bytes(2, "big")
_HEAD = len(MAGIC) + len(_VERSIONS)
_BODY = _HEAD + hashlib.sha256().digest_size
_FIXED = ("evaluator", "compiled", "optimise")
"""Options that decide what states consist of."""
_SAVED = (
    *_FIXED, "max_delay_ns", "strict", "time_predicates", "time_choice", "time_unit", "time_origin", "batch_events",
    "max_runs", "max_line", "max_solutions", "max_event_seconds",
)  # fmt: skip
"""Options that mean the same on every machine."""


@dataclass(frozen=True, slots=True)
class SavedEngine:
    """An engine between two pushes.

    queries     in the order in which they were registered
    order       of the queries in the network, by number
    waiting     rows that have not been handed to their functions, each with the number of its query
    events, matches, dead_letters   its statistics
    graphs, scope   numbers that no blank node label has yet: of graphs pushed, of events read
    streams     of `PushedStreams`
    network     of `Network`
    history     of `History`, or None
    """

    queries: list[SavedQuery]
    order: list[int]
    waiting: list[Any]
    events: int
    matches: int
    dead_letters: dict[str, int]
    graphs: int
    scope: int
    streams: list[Any]
    network: list[Any]
    history: list[Any] | None

    def snapshot(self, options: RunOptions, dictionary: Dictionary) -> bytes:
        """The state as bytes; its ids are those of the dictionary."""
        tree = [getattr(self, name) for name in self.__slots__]
        tree[0] = [asdict(query) for query in self.queries]
        kept = {"history": self.history is not None, **{name: getattr(options, name) for name in _SAVED}}
        rest = msgspec.msgpack.encode([kept, state.dumps(tree, dictionary)])
        return MAGIC + _VERSIONS + hashlib.sha256(rest).digest() + rest

    @staticmethod
    def of(blob: bytes, dictionary: Dictionary) -> SavedEngine:
        """The state in the second part of a snapshot."""
        queries, *rest = state.loads(blob, dictionary)
        return SavedEngine([SavedQuery(**query) for query in queries], *rest)


def opened(snapshot: bytes) -> tuple[dict[str, Any], bytes]:
    """The options in a snapshot, and the blob; raises InputError for one that is damaged or of another version."""
    if not isinstance(snapshot, bytes | bytearray | memoryview):
        raise InputError(f"a snapshot is bytes, not {type(snapshot).__name__}", hint="engine.snapshot() makes one")
    data = bytes(snapshot)
    if not data.startswith(MAGIC):
        raise InputError("these bytes are no snapshot of an engine", hint="engine.snapshot() makes one")
    if data[len(MAGIC) : _HEAD] != _VERSIONS and len(data) >= _HEAD:
        found, own = (f"{each[0] << 8 | each[1]}.{each[2] << 8 | each[3]}" for each in (data[len(MAGIC) :], _VERSIONS))
        message = f"the snapshot is of version {found}; this SPAseq reads version {own}"
        raise InputError(message, hint="restore it with the SPAseq that made it, or register the queries anew")
    if hashlib.sha256(data[_BODY:]).digest() != data[_HEAD:_BODY]:
        hint = "take another one, or register the queries anew"
        raise InputError("the snapshot is damaged: its checksum is another", hint=hint)
    options, blob = msgspec.msgpack.decode(data[_BODY:], type=tuple[dict[str, Any], bytes])
    return options, blob


def options_of(saved: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a snapshot, and those given; raises InputError for one that the states depend on."""
    for name in _FIXED:
        if name in given and given[name] != saved[name]:
            message = f"the option {name} is {saved[name]!r} in the snapshot, not {given[name]!r}"
            raise InputError(message, hint="leave it out: the saved states depend on it")
    kept = {name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()}
    return {**kept, **given}


def functions_of(saved: SavedEngine, on_match: OnMatch | Mapping[str, OnMatch] | None) -> list[OnMatch | None]:
    """The function of each query; raises InputError for one of a name that no query has."""
    names = [query.name for query in saved.queries]
    if not isinstance(on_match, Mapping):
        return [on_match] * len(names)
    if unknown := next((name for name in on_match if name not in names), None):
        message = f"on_match is that of a query '{unknown}', which the snapshot has not"
        raise InputError(message, hint=f"its queries are {', '.join(sorted(set(names))) or 'none'}")
    return [on_match.get(name) for name in names]


def plain_rows(rows: Iterable[tuple[int, Row]]) -> list[Any]:
    """Rows, each with the number of its query, as plain values."""
    return [
        [
            number,
            row.time,
            row.start,
            [[name, canonical_token(term)] for name, term in row.bindings],
            [[step, list(names)] for step, names in row.events],
            row.graph,
            [[canonical_token(term) for term in triple] for triple in row.triples],
            row.trigger,
        ]
        for number, row in rows
    ]


def rows_of(plain: Iterable[Any], names: Sequence[str]) -> list[tuple[int, Row]]:
    """The rows of `plain_rows`; `names` are those of the queries."""
    return [
        (
            number,
            Row(
                names[number],
                time,
                start,
                tuple((name, term_of(token)) for name, token in bindings),
                tuple((step, tuple(graphs)) for step, graphs in events),
                graph,
                tuple((term_of(s), term_of(p), term_of(o)) for s, p, o in triples),
                trigger,
            ),
        )
        for number, time, start, bindings, events, graph, triples, trigger in plain
    ]
