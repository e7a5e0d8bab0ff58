"""The ends of the log, noted beside it after every group: so a log that has become shorter is noticed.

    ends := MAGIC folder:i64 first:u64 next:u64 link:i64 check:u32      (big-endian)

It is written when a group is on disk, and not synced: after a loss of power it says less than the log has, never more.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from spaseq.errors import RunError
from spaseq.service.log.files import Files
from spaseq.service.log.segments import WAYS

NAME = "ends"
MAGIC = b"SPE2"
_FIELDS = struct.Struct(">qQQq")
_CHECK = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of a log.

    folder  the number of the data folder
    first   number of the oldest record that was not trimmed; maybe of an older one
    next    number of the record after the newest
    link    the hash of the chain there
    """

    folder: int
    first: int
    next: int
    link: int

    def encoded(self) -> bytes:
        """As bytes."""
        fields = _FIELDS.pack(self.folder, self.first, self.next, self.link)
        return MAGIC + fields + _CHECK.pack(zlib.crc32(fields))

    @staticmethod
    def of(data: bytes) -> Ends:
        """From bytes; RunError."""
        fields = data[len(MAGIC) : len(MAGIC) + _FIELDS.size]
        if len(data) != len(MAGIC) + _FIELDS.size + _CHECK.size or data[: len(MAGIC)] != MAGIC:
            raise RunError(f"the log is damaged: log/{NAME} is no note of its ends", hint=WAYS)
        if _CHECK.unpack_from(data, len(MAGIC) + _FIELDS.size) != (zlib.crc32(fields),):
            raise RunError(f"the log is damaged: the checksum of log/{NAME} is wrong", hint=WAYS)
        return Ends(*_FIELDS.unpack(fields))


def noted_ends(files: Files) -> Ends | None:
    """The ends that were noted beside a log; None: nothing was, or the file is as it was made. RunError, OSError."""
    if NAME not in files.names():
        return None
    with files.open(NAME) as file:
        data = file.read()
    return Ends.of(data) if data else None
