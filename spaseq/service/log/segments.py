"""The segments of a log: files of groups, each of which begins with a head that says where in the log it belongs.

segment := head group*
head    := MAGIC folder:i64 first:u64 attempt:u32 previous:u64 attempt:u32 lost:u64 check:u32      (big-endian)

Release 0.1.0 wrote segments without a head. A segment is empty until its first group is written with the head.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import BinaryIO, NoReturn

from spaseq.errors import RunError
from spaseq.service.log.files import Files
from spaseq.service.log.groups import OLD_MAGIC, UNLINKED, Group, Torn, groups, next_group

MAGIC = b"SPS2"
_HEAD = struct.Struct(">qQIQIQ")
_CHECK = struct.Struct(">I")
HEAD_BYTES = len(MAGIC) + _HEAD.size + _CHECK.size
_NAME = re.compile(r"(\d{20})-(\d{4})\.log")
WAYS = "`spaseq service check` says all that is wrong; restore a backup, or start once with --accept-loss"
"""Out of damage, for the hint of an error."""


class ForeignSegment(RunError):
    """A file with the name of a segment is a segment of elsewhere."""


@dataclass(slots=True)
class Segment:
    """A segment file.

    first       the number of its first record
    attempt     0; further ones where a segment with this number could not be synced before
    previous    number and attempt of the segment before it when it was begun; None: there was none, or it has no head
    lost        the first of the records before it whose loss was accepted; 0: none
    begin       the offset of its first group
    good        bytes that are on disk
    failed      a group could not be synced: nothing is appended any more
    is_torn     it has neither a head nor a group: what is in it was never on disk
    """

    first: int
    attempt: int
    previous: tuple[int, int] | None = None
    lost: int = 0
    begin: int = 0
    good: int = 0
    failed: bool = False
    is_torn: bool = False

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"{self.first:020}-{self.attempt:04}.log"

    def head(self, folder: int) -> bytes:
        """The head, in the log of a folder."""
        previous, attempt = self.previous or (0, 0)
        fields = _HEAD.pack(folder, self.first, self.attempt, previous, attempt, self.lost)
        return MAGIC + fields + _CHECK.pack(zlib.crc32(fields))

    def groups(self, file: BinaryIO) -> Iterator[Group | Torn]:
        """Its groups, from its file; OSError."""
        return groups(file, self.begin)


def named(files: Files) -> list[Segment]:
    """The segments by the names of the files in a folder, in order, with their sizes. Raises OSError."""
    found = [_NAME.fullmatch(name) for name in files.names()]
    places = sorted((int(each[1]), int(each[2])) for each in found if each is not None)
    segments = [Segment(*place) for place in places]
    for segment in segments:
        segment.good = files.size(segment.name)
    return segments


def listed(files: Files, folder: int) -> list[Segment]:
    """The segments in a folder, in order; RunError if one is missing or is not what its name says. Raises OSError."""
    segments = named(files)
    for segment, following in zip_longest(segments, segments[1:]):
        with files.open(segment.name) as file:
            read_head(segment, file, folder, following is None or following.first == segment.first)
    for before, segment in pairwise(segments):
        if (gone := missing_before(segment, before)) is not None:
            missing(gone.first, segment.first - 1, f"the file {gone.name} is")
    return segments


def missing_before(segment: Segment, before: Segment) -> Segment | None:
    """The segment that was before one when it was begun, if it is not the one that is there."""
    return None if segment.previous in (None, (before.first, before.attempt)) else Segment(*segment.previous)


def read_head(segment: Segment, file: BinaryIO, folder: int, may_be_torn: bool) -> None:
    """Take over the head of a segment. RunError, OSError.

    may_be_torn     it is the last one, or nothing counts of it
    """
    head = file.read(HEAD_BYTES)
    if not head or head[: len(OLD_MAGIC)] == OLD_MAGIC:
        return
    if (fields := _fields(head)) is None:
        if may_be_torn and next_group(file, -1) is None:  # it was begun when the machine lost its power
            segment.is_torn = True
            return
        damaged(f"the head of {segment.name} is wrong")
    of, first, attempt, previous, before, lost = fields
    if (first, attempt) != (segment.first, segment.attempt):
        raise ForeignSegment(
            f"the log is damaged: {segment.name} is a copy of {Segment(first, attempt).name}", hint=WAYS
        )
    if of != folder:
        raise ForeignSegment(f"the log is damaged: {segment.name} is of another data folder", hint=WAYS)
    segment.previous = (previous, before) if previous else None
    segment.lost, segment.begin = lost, HEAD_BYTES


def folder_of(files: Files) -> int:
    """The number of the data folder that heads of segments say; 0: none does. Raises OSError."""
    for segment in named(files):
        with files.open(segment.name) as file:
            if (fields := _fields(file.read(HEAD_BYTES))) is not None:
                return fields[0]
    return 0


def _fields(head: bytes) -> tuple[int, ...] | None:
    """The fields of a head; None if it is none."""
    fields = head[len(MAGIC) : len(MAGIC) + _HEAD.size]
    if len(head) < HEAD_BYTES or head[: len(MAGIC)] != MAGIC:
        return None
    return _HEAD.unpack(fields) if _CHECK.unpack_from(head, HEAD_BYTES - _CHECK.size) == (zlib.crc32(fields),) else None


def broken(segment: Segment, file: BinaryIO, torn: Torn, expected: int) -> None:
    """RunError if what is wrong in a segment is not its end: whole groups follow. `expected`: the next record."""
    found = next_group(file, torn.offset)
    if found is None:
        return
    group = next(groups(file, found))
    where = f"{torn.reason} at byte {torn.offset} of {segment.name}"
    if isinstance(group, Group) and group.first > expected:
        missing(expected, group.first - 1, where)
    damaged(f"{where}, and others follow")


def check_follows(segment: Segment, group: Group, expected: int, link: int | None) -> None:
    """RunError unless a group begins with the expected record, and goes on with the chain where that is known."""
    if group.first > expected:
        missing(expected, group.first - 1, f"{segment.name} goes on with record {group.first}")
    if group.first < expected:
        damaged(f"{segment.name} has record {group.first} twice")
    if group.before is not None and link not in (None, UNLINKED, group.before):
        damaged(f"{segment.name} goes on with record {group.first} of another log")


def damaged(what: str) -> NoReturn:
    """Raise the error of a damaged log."""
    raise RunError(f"the log is damaged: {what}", hint=WAYS)


def missing(first: int, last: int, why: str) -> NoReturn:
    """Raise the error of records that are not there."""
    which = f"record {first} of the log is" if first == last else f"records {first} to {last} of the log are"
    raise RunError(f"{which} missing: {why}", hint=WAYS)
