"""The state of an engine as bytes: its queries as texts, what waits, and the states of their network.

snapshot := MAGIC VERSION digest(head) length(head) head states
head     := msgpack [options, lengths of the states, blob of `spaseq.runtime.state.snapshot`]
states   := such a blob for each input and each query: damage of one is that of its queries

It carries terms, not ids, and no code, so it means the same in every process and on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from arrays.times import nearest_time
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.term_text import canonical_token, term_of
from spaseq.engine.options import RunOptions
from spaseq.engine.registration import OnMatch, SavedQuery
from spaseq.errors import InputError
from spaseq.outputs.rows import Row
from spaseq.runtime.state import snapshot as state
from spaseq.runtime.state.released import separated
from spaseq.runtime.state.saved_states import InputState, QueryState

MAGIC, VERSION = b"SPAseq engine ", 2
"""Of the format: one more whenever it changes."""
_RELEASED = (1).to_bytes(2, "big") + state.RELEASED.to_bytes(2, "big")
"""The versions that release 0.1.0 wrote: `MAGIC _RELEASED sha256(rest) rest`, rest := msgpack [options, blob]."""
_NUMBER, _LENGTH = 2, 8
"""Bytes of a version and of a length."""
WAY_BACK = "replace it with keep='window', which rebuilds its state if the engine keeps a history, or register it anew"
_AGAIN = "take another one, or register the queries anew"
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
    order       in which the network had the queries, by number: rows of one event come in it
    waiting     rows that have not been handed to their functions, each with the number of its query
    events, matches, dead_letters   its statistics
    graphs, scope   numbers that no blank node label has yet: of graphs pushed, of events read
    streams     of `PushedStreams`
    inputs      of `Network`
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
    inputs: list[InputState]
    history: list[Any] | None

    def snapshot(self, options: RunOptions, dictionary: Dictionary) -> bytes:
        """The state as bytes; its ids are those of the dictionary."""
        apart = [*(each.blob for each in self.inputs), *(query.state.blob for query in self.queries)]
        tree = self._with_blobs(b"" for _ in apart).tree()
        kept = {"history": self.history is not None, **{name: getattr(options, name) for name in _SAVED}}
        head = msgspec.msgpack.encode([kept, list(map(len, apart)), state.dumps(tree, dictionary)])
        begin = MAGIC + VERSION.to_bytes(_NUMBER, "big") + state.digest(head) + len(head).to_bytes(_LENGTH, "big")
        return b"".join((begin, head, *apart))

    def tree(self) -> list[Any]:
        """As plain values."""
        return [[asdict(query) for query in self.queries], *(getattr(self, name) for name in self.__slots__[1:])]

    def _with_blobs(self, blobs: Iterator[bytes]) -> SavedEngine:
        """The same with these states of inputs and queries."""
        inputs = [InputState(each.iris, next(blobs)) for each in self.inputs]
        states = [msgspec.structs.replace(query.state, blob=next(blobs)) for query in self.queries]
        queries = [replace(query, state=own) for query, own in zip(self.queries, states, strict=True)]
        return replace(self, inputs=inputs, queries=queries)


@dataclass(frozen=True, slots=True)
class Opened:
    """A snapshot that is whole, but for the states of queries: its options, the blob of its head, and those states.

    states  None: release 0.1.0 wrote it
    """

    options: dict[str, Any]
    blob: bytes
    states: list[bytes] | None

    def engine(self, dictionary: Dictionary) -> SavedEngine:
        """The state with the ids of a dictionary."""
        tree = state.loads(self.blob, dictionary)
        if self.states is None:
            return _released(tree, dictionary)
        queries, *rest, inputs, history = tree
        saved = [SavedQuery(**{**query, "state": QueryState(*query["state"])}) for query in queries]
        fields = [saved, *rest, [InputState(*each) for each in inputs], history]
        return SavedEngine(*fields)._with_blobs(iter(self.states))


def _released(tree: list[Any], dictionary: Dictionary) -> SavedEngine:
    """The state that release 0.1.0 wrote."""
    queries, order, *rest, network, history = tree
    apart = separated(network, [(queries[number]["name"], queries[number]["text"]) for number in order], dictionary)
    states, saved = dict(zip(order, apart.queries, strict=True)), []
    for number, query in enumerate(queries):
        shape = state.digest(msgspec.msgpack.encode(query.pop("shape")))
        saved.append(SavedQuery(**query, state=msgspec.structs.replace(states[number], shape=shape)))
    fields = [saved, order, *rest, apart.inputs, history]
    return SavedEngine(*fields)


def opened(snapshot: bytes) -> Opened:
    """The parts of a snapshot; raises InputError for one whose head is damaged, or of another version."""
    if not isinstance(snapshot, bytes | bytearray | memoryview):
        raise InputError(f"a snapshot is bytes, not {type(snapshot).__name__}", hint="engine.snapshot() makes one")
    data = bytes(snapshot)
    if not data.startswith(MAGIC):
        raise InputError("these bytes are no snapshot of an engine", hint="engine.snapshot() makes one")
    parts = _Cutting(data[len(MAGIC) :])
    if data[len(MAGIC) :].startswith(_RELEASED):
        parts.take(len(_RELEASED))
        _check(parts.take(hashlib.sha256().digest_size), hashlib.sha256(parts.rest).digest())
        options, blob = msgspec.msgpack.decode(parts.rest, type=tuple[dict[str, Any], bytes])
        return Opened(options, blob, None)
    version = int.from_bytes(parts.take(_NUMBER), "big")
    if version != VERSION:
        message = f"the snapshot is of version {version}; this SPAseq reads versions 1 and {VERSION}"
        raise InputError(message, hint="restore it with the SPAseq that made it, or register the queries anew")
    written, length = parts.take(state.DIGEST_BYTES), int.from_bytes(parts.take(_LENGTH), "big")
    head = parts.take(length)
    _check(written, state.digest(head))
    options, lengths, blob = msgspec.msgpack.decode(head, type=tuple[dict[str, Any], list[int], bytes])
    states = [parts.take(length) for length in lengths]
    if parts.rest:
        raise InputError("the snapshot is damaged: something follows it", hint=_AGAIN)
    return Opened(options, blob, states)


@dataclass(slots=True)
class _Cutting:
    """Bytes of which parts are taken from the beginning; of what is missing, none."""

    rest: bytes

    def take(self, length: int) -> bytes:
        """The next part."""
        part, self.rest = self.rest[:length], self.rest[length:]
        return part


def _check(written: bytes, found: bytes) -> None:
    if written != found:
        raise InputError("the snapshot is damaged: its checksum is another", hint=_AGAIN)


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
            nearest_time(row.time),
            nearest_time(row.start),
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
