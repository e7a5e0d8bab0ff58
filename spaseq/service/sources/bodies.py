"""Messages as bodies: several of them in one, where that means the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spaseq.inputs.cutting import ends_apart

MESSAGES_MAX = 1_000
BODY_BYTES_MAX = 1_000_000
"""A body of several messages takes no further one from here on."""
_NAME = rb'(?:<[A-Za-z][A-Za-z0-9+.-]*+:[^<>"\\{}|^`\x00-\x20]*+>|_:[A-Za-z0-9]++)'
_TEXT = rb'"(?:[^"\\\r\n]|\\[tbnrf"\'\\])*+"(?:@[A-Za-z]++(?:-[A-Za-z0-9]++)*+|\^\^' + _NAME + rb")?+"
_WELL_FORMED = re.compile(
    rb"(?:" + _NAME + rb" " + _NAME + rb" (?:" + _NAME + rb"|" + _TEXT + rb")(?: " + _NAME + rb")?+ \.(?:\r?\n|\Z))++"
)
"""Lines of N-Quads as programs write them, none of which is malformed."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message, and the position of its source after it; `tag` is the source's own."""

    value: bytes
    position: bytes
    tag: int = 0


@dataclass(frozen=True, slots=True)
class MessageBody:
    """The bytes of some messages, and the position after the last of them."""

    value: bytes
    body_format: str
    position: bytes
    messages: tuple[Message, ...]


def bodies_of(messages: Iterable[Message], body_format: str) -> Iterator[MessageBody]:
    """The messages as few bodies, in order; one without a character that is not white space goes with the next.

    N-Quads stand together where one message ends with another graph than the next begins with, so that no event grows,
    and where nothing is malformed, which might be put down to another event; lines and JSON without a line end stand
    together as lines. Any other message is a body of its own.
    """
    taken: list[Message] = []
    parts: list[bytes] = []
    size, kind = 0, body_format
    for message in messages:
        value = message.value
        own = "ndjsonld" if body_format == "jsonld" and b"\n" not in value.strip() else body_format
        apart = taken and (
            own != kind
            or size + len(value) > BODY_BYTES_MAX
            or len(taken) >= MESSAGES_MAX
            or not _joins(parts, value, own)
        )
        if apart:
            yield _body(taken, parts, kind)
            taken, parts, size = [], [], 0
        taken.append(message)
        if value.strip():
            parts.append(value if value.endswith(b"\n") else value + b"\n")
            size, kind = size + len(value), own
    if taken:
        yield _body(taken, parts, kind)


def _joins(parts: list[bytes], value: bytes, body_format: str) -> bool:
    if not parts or not value.strip() or body_format in ("ndjsonld", "ndjson"):
        return True
    if body_format != "nquads" or not _WELL_FORMED.fullmatch(value) or not ends_apart(parts[-1], value):
        return False
    return len(parts) > 1 or _WELL_FORMED.fullmatch(parts[0]) is not None


def _body(taken: list[Message], parts: list[bytes], body_format: str) -> MessageBody:
    value = parts[0] if len(parts) == 1 else b"".join(parts)
    return MessageBody(value, body_format, taken[-1].position, tuple(taken))
