"""Fields of Protocol Buffers messages (encoding of proto3), without a schema."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types."""
_VARINT_BYTES_MAX = 10
_WIDTHS = {FIXED64: 8, FIXED32: 4}

Field = tuple[int, int, int, int]
"""The number of a field, its wire type, and its place from … to; of a varint: 0 and its value."""


class BadMessage(ValueError):
    """Bytes that are no message."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number at a place, and the place behind it."""
    value = shift = 0
    while at < end:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
        if shift >= 7 * _VARINT_BYTES_MAX:
            raise BadMessage(f"a number of more than {_VARINT_BYTES_MAX} bytes")
    raise BadMessage("a number breaks off")


def fields(data: bytes, at: int, end: int) -> Iterator[Field]:
    """The fields of the message between two places, in order."""
    while at < end:
        tag = data[at]
        at += 1
        if tag >= 0x80:
            tag, at = varint(data, at - 1, end)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = varint(data, at, end)
            yield number, wire, 0, value
            continue
        if wire == BYTES:
            length, at = varint(data, at, end)
        elif wire in _WIDTHS:
            length = _WIDTHS[wire]
        else:
            raise BadMessage(f"wire type {wire} is none")
        if number == 0 or at + length > end:
            raise BadMessage("a field is longer than its message")
        yield number, wire, at, at + length
        at += length
