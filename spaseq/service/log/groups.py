"""The format of groups: records that were written and synced at once, each group a link of the log's chain.

group   := MAGIC length:u32 sum:u32 first:u64 count:u32 before:i64 check:u32 body      (big-endian)
body    := (length:u32 record)*

`sum` is the CRC-32 of the body, `check` that of all between MAGIC and itself, `first` the number of the first record,
and `before` the hash of the chain before the group. Its hash after the group is that of the head (`Group.link`), so a
group that is missing, is there twice or stands elsewhere breaks the chain. Release 0.1.0 wrote

group   := OLD_MAGIC length:u32 crc32:u32 first:u64 count:u32 body

without a link; the checksum covers all after it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from typing import BinaryIO

MAGIC, OLD_MAGIC = b"SPL2", b"SPL1"
_HEAD = struct.Struct(">IIQIq")
_CHECK = struct.Struct(">I")
_OLD_HEAD = struct.Struct(">4sII")
_OLD_PLACE = struct.Struct(">QI")
_LENGTH = struct.Struct(">I")
HEAD_BYTES = len(MAGIC) + _HEAD.size + _CHECK.size
_OLD_HEAD_BYTES = _OLD_HEAD.size + _OLD_PLACE.size
GROUP_BYTES_MAX = 256 << 20
"""The longest body that is believed: a longer one is damage."""
UNLINKED = 0
"""The hash of the chain where there is none: in what release 0.1.0 wrote."""


@dataclass(frozen=True, slots=True)
class Group:
    """Records that were committed together.

    first   the number of the first record
    offset  of the group in its segment, in bytes
    size    of the group in bytes
    before  the hash of the chain before it; None: release 0.1.0 wrote it
    link    the hash of the chain after it; UNLINKED then
    """

    first: int
    offset: int
    size: int
    records: tuple[bytes, ...]
    before: int | None
    link: int

    @property
    def end(self) -> int:
        """The number after that of the last record."""
        return self.first + len(self.records)


@dataclass(frozen=True, slots=True)
class Torn:
    """The end of what can be read of a segment, at an offset, and why."""

    offset: int
    reason: str


def encoded(first: int, records: Sequence[bytes], before: int) -> tuple[bytes, int]:
    """A group behind a hash of the chain, and the hash after it."""
    body = b"".join([part for record in records for part in (_LENGTH.pack(len(record)), record)])
    head = _HEAD.pack(len(body), zlib.crc32(body), first, len(records), before)
    return MAGIC + head + _CHECK.pack(zlib.crc32(head)) + body, _link(head)


def groups(file: BinaryIO, offset: int = 0) -> Iterator[Group | Torn]:
    """The groups of a segment from an offset on, in order; the last item is Torn if something else follows.

    Raises OSError.
    """
    file.seek(offset)
    while magic := file.read(len(MAGIC)):
        group = _group(file, magic, offset)
        yield group
        if isinstance(group, Torn):
            return
        offset += group.size


def next_group(file: BinaryIO, offset: int) -> int | None:
    """The offset of the first whole group after one of a segment; None: there is none."""
    file.seek(offset + 1)
    rest = file.read()
    found = [place for magic in (MAGIC, OLD_MAGIC) for place in _places(rest, magic)]
    wholes = (at for at in sorted(found) if isinstance(next(groups(BytesIO(rest[at:])), None), Group))
    return next((offset + 1 + at for at in wholes), None)


def _group(file: BinaryIO, magic: bytes, offset: int) -> Group | Torn:
    if magic == OLD_MAGIC:
        return _old_group(file, offset)
    rest = file.read(_HEAD.size + _CHECK.size)
    if not MAGIC.startswith(magic):
        return Torn(offset, "no group begins here")
    if len(rest) < _HEAD.size + _CHECK.size:
        return Torn(offset, "the head of a group is cut")
    head = rest[: _HEAD.size]
    length, total, first, count, before = _HEAD.unpack(head)
    if (zlib.crc32(head),) != _CHECK.unpack_from(rest, _HEAD.size) or length > GROUP_BYTES_MAX:
        return Torn(offset, "the checksum of a group's head is wrong")
    records = _checked(file, length, count, lambda body: zlib.crc32(body) == total)
    if isinstance(records, str):
        return Torn(offset, records)
    return Group(first, offset, HEAD_BYTES + length, records, before, _link(head))


def _old_group(file: BinaryIO, offset: int) -> Group | Torn:
    head = OLD_MAGIC + file.read(_OLD_HEAD_BYTES - len(OLD_MAGIC))
    if len(head) < _OLD_HEAD_BYTES:
        return Torn(offset, "the head of a group is cut")
    _, length, total = _OLD_HEAD.unpack_from(head)
    place = head[_OLD_HEAD.size :]
    first, count = _OLD_PLACE.unpack(place)
    if length > GROUP_BYTES_MAX:
        return Torn(offset, "no group begins here")
    records = _checked(file, length, count, lambda body: zlib.crc32(body, zlib.crc32(place)) == total)
    if isinstance(records, str):
        return Torn(offset, records)
    return Group(first, offset, _OLD_HEAD_BYTES + length, records, None, UNLINKED)


def _checked(file: BinaryIO, length: int, count: int, is_right: Callable[[bytes], bool]) -> tuple[bytes, ...] | str:
    """The records of a body that is read now, or what is wrong with it."""
    body = file.read(length)
    if len(body) < length:
        return "a group is cut"
    if not is_right(body):
        return "the checksum of a group is wrong"
    records = tuple(_records(body))
    return records if len(records) == count else "a group has other records than it says"


def _records(body: bytes) -> Iterator[bytes]:
    at = 0
    while at + _LENGTH.size <= len(body):
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        yield body[at : at + length]
        at += length


def _link(head: bytes) -> int:
    """The hash of the chain after a group with this head, which says the hash before it and the sum of its body."""
    return int.from_bytes(blake2b(head, digest_size=8).digest(), "big", signed=True) or 1


def _places(data: bytes, wanted: bytes) -> Iterator[int]:
    at = data.find(wanted)
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)
