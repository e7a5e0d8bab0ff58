"""The format of a segment: groups of records, each written and synced at once.

segment := group*
group   := MAGIC length:u32 crc32:u32 first:u64 count:u32 body      (big-endian; the checksum covers all after it)
body    := (length:u32 record)*

`first` is the number of the group's first record. Only the last group of the last segment can be torn: a group is begun
when all before it are on disk.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO

MAGIC = b"SPL1"
_HEAD = struct.Struct(">4sII")
_PLACE = struct.Struct(">QI")
_LENGTH = struct.Struct(">I")
HEAD_BYTES = _HEAD.size + _PLACE.size
GROUP_BYTES_MAX = 256 << 20
"""The longest body that is believed: a longer one is damage."""


@dataclass(frozen=True, slots=True)
class Group:
    """Records that were committed together.

    first   the number of the first record
    offset  of the group in its segment, in bytes
    size    of the group in bytes
    """

    first: int
    offset: int
    size: int
    records: tuple[bytes, ...]

    @property
    def end(self) -> int:
        """The number after that of the last record."""
        return self.first + len(self.records)


@dataclass(frozen=True, slots=True)
class Torn:
    """The end of what can be read of a segment, at an offset, and why."""

    offset: int
    reason: str


def encoded(first: int, records: Sequence[bytes]) -> bytes:
    """A group."""
    body = b"".join([part for record in records for part in (_LENGTH.pack(len(record)), record)])
    place = _PLACE.pack(first, len(records))
    return _HEAD.pack(MAGIC, len(body), zlib.crc32(body, zlib.crc32(place))) + place + body


def groups(file: BinaryIO) -> Iterator[Group | Torn]:
    """The groups of a segment in order; the last item is Torn if something that is no group follows."""
    offset = 0
    while head := file.read(HEAD_BYTES):
        group = _group(file, head, offset)
        yield group
        if isinstance(group, Torn):
            return
        offset += group.size


def _group(file: BinaryIO, head: bytes, offset: int) -> Group | Torn:
    if len(head) < HEAD_BYTES:
        return Torn(offset, "the head of a group is cut")
    magic, length, checksum = _HEAD.unpack_from(head)
    first, count = _PLACE.unpack_from(head, _HEAD.size)
    if magic != MAGIC or length > GROUP_BYTES_MAX:
        return Torn(offset, "no group begins here")
    body = file.read(length)
    if len(body) < length:
        return Torn(offset, "a group is cut")
    if zlib.crc32(body, zlib.crc32(head[_HEAD.size :])) != checksum:
        return Torn(offset, "the checksum of a group is wrong")
    records = tuple(_records(body))
    if len(records) != count:
        return Torn(offset, "a group has other records than it says")
    return Group(first, offset, HEAD_BYTES + length, records)


def _records(body: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(body):
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        yield body[at : at + length]
        at += length


def follows_group(file: BinaryIO, offset: int) -> bool:
    """True if a whole group begins after this byte of a segment."""
    file.seek(offset + 1)
    rest = file.read()
    at = rest.find(MAGIC)
    while at >= 0:
        if isinstance(next(groups(BytesIO(rest[at:])), None), Group):
            return True
        at = rest.find(MAGIC, at + 1)
    return False
