"""Acceptance: what a body adds to its stream is decided in one order for all streams, and on disk before the answer.

What has been decided may be ahead of what is on disk. If a group of records could not be written, everything decided
since is given up together, and the state of what is on disk counts again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec
import numpy as np

from spaseq.errors import InputError, RunError
from spaseq.outputs.dead_letters import malformed_letter
from spaseq.runtime.order.reorder import lateness_bounds
from spaseq.runtime.state.packed_events import packed_events
from spaseq.service.core.bodies import Body, BodyReading, left_out_body
from spaseq.service.core.body_bounds import BodyBounds, OverBound
from spaseq.service.core.clock import Clock
from spaseq.service.core.decisions import (
    answer_of,
    body_reading,
    faults_ahead,
    identity_of,
    idle_watermark,
    named_events,
    nothing_accepted,
    past,
    renamed,
)
from spaseq.service.core.identities import NO_KEY, Block, Identities, graph_key, keys_in
from spaseq.service.core.kernels import Kernels
from spaseq.service.core.records import Accepted, Advanced, Answered, Deleted, Record, StreamPut, encoded
from spaseq.service.core.state import State
from spaseq.service.errors import Refused
from spaseq.service.log.group_commit import GroupCommit, NotDurable
from spaseq.service.log.segmented import Place, SegmentedLog

SOURCE = "push"
"""The source of dead letters of bodies."""
_Asked = tuple[bytes, bytes]
"""The digests of an Idempotency-Key and of the body that came with it."""
_Said = tuple[dict[str, Any], Future[int] | None]
"""An answer, and the record that has to be on disk before it is given."""


@dataclass(frozen=True, slots=True)
class Promise:
    """The answer of 202 about a body, and the record that has to be on disk before it is said; None: it is."""

    said: dict[str, Any]
    future: Future[int] | None

    def kept(self) -> dict[str, Any]:
        """The answer of 202, once the record is on disk; Refused if it could not be written."""
        if self.future is not None:
            durable(self.future)
        return self.said


@dataclass(slots=True)
class _Memory:
    """The memory of the events of one stream, beside its progress.

    answers     by the digest of an Idempotency-Key; `pending` those that are not on disk yet
    heard       steady nanoseconds of the last event, or of the start of the service
    """

    identities: Identities
    reading: BodyReading
    heard: int
    answers: dict[bytes, tuple[int, Answered]] = field(default_factory=dict)
    pending: dict[bytes, tuple[Answered, Future[int]]] = field(default_factory=dict)

    def settle(self, record: Accepted, now: int) -> None:
        """Remember what is on disk now, and forget what is too old or too many."""
        self.identities.settle(Block(record.first, record.at, keys_in(record.identities)))
        if record.count:
            self.heard = now
        if record.answered is not None:
            self.pending.pop(record.answered.key, None)
            self.answers[record.answered.key] = record.at, record.answered
        oldest = record.at - self.identities.age_ns
        while self.answers:
            key, (at, _) = next(iter(self.answers.items()))
            if at >= oldest and len(self.answers) <= self.identities.events_max:
                return
            del self.answers[key]


class Admission:
    """The way into the log.

    decided     the state with everything that was submitted
    durable     the state with everything that is on disk

    `on_durable` takes each record that is on disk, with its place, in order. `waiting` counts the events that are on
    disk and have not been read, of which there may be `queue` before more are refused; a body by itself may have more.
    The blank nodes of a body have labels of their own, with the number of the first record of this start.
    """

    def __init__(
        self,
        log: SegmentedLog,
        state: State,
        clock: Clock,
        on_durable: Callable[[Place, Record], None],
        waiting: Callable[[], int],
        queue: int,
        kernels: Kernels,
        bounds: BodyBounds,
    ) -> None:
        self.decided, self.durable = state.copy(), state.copy()
        self._clock, self._hand_on, self._waiting, self._queue = clock, on_durable, waiting, queue
        self._kernels, self._bounds, self._submitted, self._start = kernels, bounds, 0, log.next
        self._memories: dict[str, _Memory] = {}
        self._commit: GroupCommit[Record] = GroupCommit(log, self._on_durable, self._on_told, self._on_failure)
        self.deciding = self._commit.deciding
        for name in state.streams:
            self._remember(name)

    # --- events -----------------------------------------------------------------------------------

    def accept(
        self,
        stream: str,
        data: bytes,
        body_format: str,
        key: str | None = None,
        identifier: str | None = None,
        offset: bytes = b"",
    ) -> Promise:
        """Take a body; what 202 says holds once it is on disk. Refused if nothing of it counts.

        key         of idempotency
        identifier  of the one event of the body that has no graph IRI
        offset      of the source, behind the body; then one of which nothing counts is a record, too
        """
        memory, now = self._memory(stream), self._clock.wall()
        asked = None if key is None else (sha256(key.encode()).digest(), sha256(data).digest())
        answer = self._earlier(memory, asked)
        if answer is None:
            body = self._read(data, body_format, memory.reading, now, is_kept=bool(offset))
            if not len(body.events) and not body.duplicates and not offset:
                raise nothing_accepted(body)
            answer = self._take(stream, body, identity_of(body, identifier), asked, now, offset)
        return Promise(*answer)

    def accept_at_once(self, *given: Any, **named: Any) -> Promise | None:
        """`accept`, unless another thread decides just now."""
        if not self.deciding.acquire(blocking=False):
            return None
        try:
            return self.accept(*given, **named)
        finally:
            self.deciding.release()

    def advance(self, stream: str, time_ns: int) -> None:
        """No event before this time will come on the stream."""
        with self.deciding:
            self._memory(stream)
            settings, progress = self.decided.streams[stream].settings, self.decided.streams[stream].progress
            watermark = max(progress.watermark, time_ns)
            future = self._submit(Advanced(stream, settings.iri, self._clock.wall(), watermark, progress.silence))
        durable(future)

    def change(self, record: Record) -> Future[int]:
        """Submit a change of what is declared; the caller holds `deciding`, and waits with `durable` without it."""
        return self._submit(record)

    def tick(self, read: dict[str, int]) -> None:
        """Move the watermarks of silent streams; `read` has those that queries read, and since when (steady)."""
        moves = []
        with self.deciding:
            now, wall = self._clock.steady(), self._clock.wall()
            for name, since in read.items():
                stream, memory = self.decided.streams.get(name), self._memories.get(name)
                if stream is None or memory is None or stream.settings.idle_timeout_ns is None:
                    continue
                moved = idle_watermark(stream.settings, stream.progress, now - memory.heard, now - since, wall)
                if moved is not None:
                    moves.append(self._submit(Advanced(name, stream.settings.iri, wall, *moved)))
        for future in moves:
            durable(future)

    def is_idle(self, stream: str) -> bool:
        """True if the stream holds no other back."""
        settings, memory = self.durable.streams[stream].settings, self._memories[stream]
        silence = self._clock.steady() - memory.heard
        return settings.idle_timeout_ns is not None and silence >= settings.idle_timeout_ns

    def restore(self, stream: str, blocks: Sequence[Block], answers: Sequence[tuple[int, Answered]]) -> None:
        """Remember identities and answers from before a restart; nothing has been accepted yet."""
        memory = self._memories[stream]
        for block in blocks:
            memory.identities.settle(block)
        memory.answers = {answered.key: (at, answered) for at, answered in answers}

    def replay(self, number: int, record: Record) -> None:
        """Take over a record of the log that is newer than the state; nothing has been accepted yet."""
        self.decided.apply(number, record)
        self._settle(number, record)

    def recovered(self) -> None:
        """Go on after `replay`: the silence of a stream goes on where it was, without the time of standing still."""
        now = self._clock.steady()
        for name, memory in self._memories.items():
            memory.heard = now - self.durable.streams[name].progress.silence

    def durable_copy(self) -> State:
        """The state with everything that is on disk now."""
        return self.durable.copy()

    def knows(self, stream: str) -> bool:
        """True if there is a stream of this name."""
        return stream in self._memories

    def remembered(self, stream: str, last: int) -> tuple[list[Block], list[tuple[int, Answered]]]:
        """The memory of the events up to a position."""
        with self.deciding:
            memory = self._memories[stream]
            return list(memory.identities.blocks(last)), list(memory.answers.values())

    def close(self) -> None:
        """Write what was submitted, and end."""
        self._commit.close()

    # --- decisions --------------------------------------------------------------------------------

    def _take(
        self, stream: str, body: Body, identity: bytes | None, asked: _Asked | None, now: int, offset: bytes
    ) -> _Said:
        """Decide about a body and submit it, unless the same request has come before."""
        with self.deciding:
            memory = self._memory(stream)
            if (answer := self._earlier(memory, asked)) is not None:
                return answer
            self._check_queue(len(body.events))
            record, said = self._decide(stream, memory, body, identity, now)
            answered = None if asked is None else Answered(*asked, json.dumps(said).encode())
            future = self._submit(msgspec.structs.replace(record, answered=answered, offset=offset))
            self._submitted += record.count
            if answered is not None:
                memory.pending[answered.key] = answered, future
            return said, future

    def _decide(
        self, stream: str, memory: _Memory, body: Body, identity: bytes | None, now: int
    ) -> tuple[Accepted, dict[str, Any]]:
        """The record of a body, and its answer."""
        settings, progress = self.decided.streams[stream].settings, self.decided.streams[stream].progress
        keys = [graph_key(name) if named else identity or NO_KEY for name, named in named_events(body)]
        known = np.array(memory.identities.known(keys, now), dtype=np.bool_)
        ahead = np.zeros(len(keys), dtype=np.bool_)
        if settings.max_ahead_ns is not None:
            ahead = ~known & (body.events.times > now + settings.max_ahead_ns)
        taken = np.flatnonzero(~known & ~ahead)
        events = renamed(body, taken, stream, progress.unnamed)
        bounds, largest = lateness_bounds(events.times, progress.largest, settings.max_delay_ns)
        late = events.times < np.maximum(bounds, progress.watermark)
        faults = sorted(
            (*body.malformed, *faults_ahead(body, ahead, settings)), key=lambda each: (each.line, each.column)
        )
        letters = [malformed_letter(each.kind, stream, settings.iri, SOURCE, each.line, each) for each in faults]
        unnamed = int(np.count_nonzero(~body.named[taken]))
        packed = packed_events(events, body.dictionary, f"r{self._start}x") if len(taken) else None
        record = Accepted(
            stream, settings.iri, now, progress.position + 1, len(taken), tuple(np.flatnonzero(late).tolist()), packed,
            b"".join([keys[index] for index in taken.tolist()]), int(known.sum()) + body.duplicates, tuple(letters),
            progress.unnamed + unnamed, largest, max(progress.watermark, past(largest, settings)),
        )  # fmt: skip
        memory.identities.pend([keys[index] for index in taken.tolist()])
        return record, answer_of(record, faults)

    def _submit(self, record: Record) -> Future[int]:
        try:
            future = self._commit.submit(encoded(record), record)
        except NotDurable as error:
            raise Refused(503, "Not now", f"{error}: ask again", headers={"Retry-After": "1"}) from error
        self.decided.apply(0, record)
        return future

    def _on_durable(self, place: Place, record: Record) -> None:
        with self.deciding:
            self._settle(place.number, record)

    def _on_told(self, place: Place, record: Record) -> None:
        self._hand_on(place, record)
        if isinstance(record, Accepted):
            with self.deciding:
                self._submitted -= record.count

    def _settle(self, number: int, record: Record) -> None:
        self.durable.apply(number, record)
        match record:
            case Accepted():
                self._memories[record.stream].settle(record, self._clock.steady())
            case StreamPut(name):
                self._remember(name)
            case Deleted("stream", name):
                self._memories.pop(name, None)
            case _:
                pass

    def _on_failure(self) -> None:
        self.decided, self._submitted = self.durable.copy(), 0
        for memory in self._memories.values():
            memory.identities.give_up()
            memory.pending.clear()

    # --- memory -----------------------------------------------------------------------------------

    def _memory(self, stream: str) -> _Memory:
        memory = self._memories.get(stream)
        if memory is None or stream not in self.decided.streams:
            raise Refused(404, "No such stream", f"there is no stream '{stream}'")
        return memory

    def _remember(self, stream: str) -> None:
        """Begin to remember the events of a stream, or go on by changed settings."""
        declared = self.durable.streams[stream]
        settings, reading = declared.settings, body_reading(declared.settings, declared.files)
        memory = self._memories.get(stream)
        if memory is None:
            identities = Identities(settings.dedup_age_ns, settings.dedup_events)
            heard = self._clock.steady() - declared.progress.silence
            self._memories[stream] = _Memory(identities, reading, heard)
        else:
            memory.identities.bound(settings.dedup_age_ns, settings.dedup_events)
            memory.reading = reading

    def _earlier(self, memory: _Memory, asked: _Asked | None) -> _Said | None:
        """The answer to a request that came before; Refused if its body was another."""
        if asked is None:
            return None
        key, body = asked
        with self.deciding:
            known, future = memory.pending.get(key, (None, None))
            if known is None:
                known = memory.answers.get(key, (0, None))[1]
        if known is None:
            return None
        if known.body != body:
            detail = "the body is not the one that this Idempotency-Key came with before"
            raise Refused(422, "Idempotency-Key used again", detail)
        return json.loads(known.answer), future

    def _read(self, data: bytes, body_format: str, reading: BodyReading, now: int, is_kept: bool) -> Body:
        """The events of a body; `is_kept`: one over a bound is a dead letter, otherwise it is Refused (413)."""
        try:
            with self._bounds.held():
                return self._kernels.read(data, body_format, reading, now)
        except OverBound as over:
            if is_kept:
                return left_out_body(data, str(over))
            raise Refused(413, "Content Too Large", str(over)) from over
        except (InputError, RunError) as error:
            raise Refused(400, "Nothing was an event", ": ".join(filter(None, (error.message, error.hint)))) from error

    def _check_queue(self, events: int) -> None:
        waiting = self._waiting() + self._submitted
        if events and waiting and waiting + events > self._queue:
            detail = f"{waiting:,} accepted events have not been read yet: push again later"
            raise Refused(429, "The queue is full", detail, headers={"Retry-After": "1"})


def durable(future: Future[int]) -> int:
    """Wait until a record is on disk; its number. Refused if it could not be written."""
    try:
        return future.result()
    except NotDurable as error:
        if not error.sure:
            detail = (
                f"it is not known whether the request is stored, as the log can be neither written nor cut ({error}): "
                "ask again, events with the same graph IRIs, ce-id or Idempotency-Key"
            )
            raise Refused(503, "The log failed", detail, headers={"Retry-After": "1"}) from error
        if error.full:
            raise Refused(507, "The disk is full", "nothing of the request was stored") from error
        detail = f"nothing of the request was stored: the log could not be written ({error})"
        raise Refused(503, "The log failed", detail, headers={"Retry-After": "1"}) from error
