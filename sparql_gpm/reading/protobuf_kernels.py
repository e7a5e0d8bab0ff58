"""Numbers of protobuf in kernels."""

from __future__ import annotations

from arrays.jit import lean_part
from arrays.words import Bytes, byte_at

BAD = -1
"""In place of a position: the bytes before it cannot be read."""
_BYTES_32 = 5


@lean_part
def varint(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """The number at a place, and the place behind it; BAD if it breaks off or is longer than one of 32 bits."""
    if at < end and byte_at(text, at) < 0x80:
        return byte_at(text, at), at + 1
    value = shift = 0
    for place in range(at, min(end, at + _BYTES_32)):
        byte = byte_at(text, place)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    return 0, BAD
