"""Changes to messages of Protocol Buffers that keep the lengths right, so that what is inside is reached."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from sparql_gpm.reading.protobuf import BYTES, VARINT, BadMessage, fields
from tests.fuzz.mutate import NUMBERS, PIECES, mutated, varint

_EDITS_MAX = 4
_DEEPER = 0.8
"""The share of changes to a field that are made inside it, if it is a message."""
_REPEATED_MAX = 60
_FIELDS_MAX = 400
"""Fields of a message that a change may make."""

Field = tuple[int, int, bytes | int]
"""The number, the wire type, and the bytes or the number."""


def messages_mutated(random: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Messages, each with its length before it, after some changes to fields; now and then of bytes as well."""
    parts = _delimited(data)
    donors = [each for other in others for each in _delimited(other)] or parts
    for _ in range(random.randint(1, _EDITS_MAX)):
        place = random.randrange(len(parts)) if parts else 0
        match random.randrange(8):
            case 0:
                parts[place:place] = [random.choice(donors)] if donors else []
            case 1:
                parts[place : place + 1] = parts[place : place + 1] * random.choice((0, 2))
            case _ if parts:
                parts[place] = _changed(random, parts[place], donors)
            case _:
                parts = [b""]
    whole = random.random() < 0.1
    found = b"".join(parts) if whole else b"".join(varint(len(part)) + part for part in parts)
    return mutated(random, found, others, binary=True) if random.random() < 0.2 else found


def _delimited(data: bytes) -> list[bytes]:
    return [value for _, _, value in _read(b"".join(_tagged(data))) if isinstance(value, bytes)]


def _tagged(data: bytes) -> list[bytes]:
    """The messages as fields of one message."""
    at, parts = 0, []
    while at < len(data):
        length, shift = 0, 0
        while data[at] >= 0x80:
            length, shift, at = length | (data[at] & 0x7F) << shift, shift + 7, at + 1
        length, at = length | data[at] << shift, at + 1
        parts.append(b"\x0a" + varint(length) + data[at : at + length])
        at += length
    return parts


def _read(message: bytes) -> list[Field]:
    """The fields; none if it is no message."""
    found: list[Field] = []
    try:
        for number, wire, begin, stop in fields(message, 0, len(message)):
            found.append((number, wire, stop if wire == VARINT else message[begin:stop]))
    except (BadMessage, IndexError):
        return []
    return found


def _written(found: Sequence[Field]) -> bytes:
    parts = []
    for number, wire, value in found:
        parts.append(varint(number << 3 | wire))
        if isinstance(value, int):
            parts.append(varint(value % (1 << 64)))
        else:
            parts.append((varint(len(value)) if wire == BYTES else b"") + value)
    return b"".join(parts)


def _changed(random: Random, message: bytes, donors: Sequence[bytes]) -> bytes:
    found = _read(message)
    if not found:
        return _text(random, message)
    place = random.randrange(len(found))
    number, wire, value = found[place]
    if isinstance(value, bytes) and random.random() < _DEEPER:
        found[place] = number, wire, _changed(random, value, donors)
        return _written(found)
    match random.randrange(7):
        case 0:
            del found[place]
        case 1:
            found[place:place] = [found[place]] * random.choice((1, 1, 2, _REPEATED_MAX))
        case 2:
            other = random.randrange(len(found))
            found[place], found[other] = found[other], found[place]
        case 3:
            found[place] = random.randrange(17), wire, value
        case 4:
            found[place:place] = _read(random.choice(donors))[:1]
        case 5:
            found[place] = number, VARINT, random.choice((0, 1, 2, 3, 4, 5, 8, 9, 16, *NUMBERS))
        case _:
            found[place] = number, BYTES, random.choice((b"", random.choice(PIECES), random.randbytes(3)))
    return _written(found[:_FIELDS_MAX])


def _text(random: Random, text: bytes) -> bytes:
    """A text after a change."""
    place = random.randint(0, len(text))
    return text[:place] + random.choice((b"", *PIECES)) + text[place + random.randint(0, 3) :]
