"""A log in segments: records are numbered from 1, appended in groups, and read again from any number on.

A segment is named by the number of its first record. If a group could not be synced, the segment is cut where it was
good and closed, and the next group begins a new one with the same number: where two segments have a record, the later
segment counts, even if it is empty.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock

from spaseq.errors import RunError
from spaseq.service.log.files import AppendFile, Files
from spaseq.service.log.groups import Group, Torn, encoded, follows_group, groups

SEGMENT_BYTES = 64 << 20
"""A segment of this size is followed by another."""
_NAME = re.compile(r"(\d{20})-(\d{4})\.log")


@dataclass(slots=True)
class _Segment:
    """A segment file.

    first       the number of its first record
    attempt     0; further ones where a segment with this number could not be synced before
    good        bytes that are on disk
    failed      a group could not be synced: nothing is appended any more
    """

    first: int
    attempt: int
    good: int = 0
    failed: bool = False

    @property
    def name(self) -> str:
        return f"{self.first:020}-{self.attempt:04}.log"


class SegmentedLog:
    """The log in a folder, recovered: its last segment has been read, and cut after its last whole group.

    next    the number of the next record
    cut     bytes of a torn group that recovery has cut off
    sure    False while a group that could not be appended may be in the log all the same, after a restart

    One thread appends; any number of threads read what has been appended.
    """

    def __init__(self, files: Files, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._files = files
        self._segment_bytes = segment_bytes
        self._lock = Lock()
        self._segments = _named(files)
        self._open: AppendFile | None = None
        self.next = 1
        self.cut = 0
        self.sure = True
        self._recover()

    @property
    def first(self) -> int:
        """The number of the oldest record that is there, or of the next one."""
        return self._segments[0].first if self._segments else self.next

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        with self._lock:
            return sum(segment.good for segment in self._segments)

    def append(self, records: Sequence[bytes]) -> int:
        """Append records as one group, on disk when this returns; returns the number of the first.

        OSError if that failed: then none of them is in the log, unless it is not `sure`; the next call tries in a new
        segment.
        """
        first, data = self.next, encoded(self.next, records)
        self.settle()
        try:
            self._begin()
            assert self._open is not None
            self.sure = False
            self._open.write(data)
            self._open.sync()
            self.sure = True
        except OSError:
            self._give_up()
            raise
        with self._lock:
            self._segments[-1].good += len(data)
            self.next = first + len(records)
        return first

    def read(self, start: int) -> Iterator[tuple[int, bytes]]:
        """The records from a number on, up to the last that is on disk when they are asked for; RunError for damage."""
        position = max(start, self.first)
        while (found := self._segment_of(position)) is not None:
            segment, good, end = found
            before = position
            for group in self._groups(segment, good):
                if group.first > position:
                    break
                for record in group.records[max(0, position - group.first) :]:
                    if position < end:
                        yield position, record
                        position += 1
            if position < end:
                raise _damaged(f"{segment.name} ends before record {position if position > before else end - 1}")

    def _segment_of(self, number: int) -> tuple[_Segment, int, int] | None:
        """The segment that has a record, its good bytes, and the number at which its part ends; None: not yet there."""
        with self._lock:
            if number >= self.next:
                return None
            index = bisect_right([segment.first for segment in self._segments], number) - 1
            following = self._segments[index + 1].first if index + 1 < len(self._segments) else self.next
            return self._segments[index], self._segments[index].good, following

    def trim(self, before: int, retained: int | None = None, most_bytes: int | None = None) -> int:
        """Delete the segments all of whose records have smaller numbers; returns how many.

        retained    the first record that is kept beyond that; None: as `before`
        most_bytes  that are kept beyond that, however new their records are; None: any number
        """
        with self._lock:
            gone, size = 0, sum(segment.good for segment in self._segments)
            for segment, following in pairwise(self._segments):
                too_old = following.first <= (before if retained is None else retained)
                too_much = most_bytes is not None and size > most_bytes
                if following.first > before or not (too_old or too_much):
                    break
                gone, size = gone + 1, size - segment.good
            names = [segment.name for segment in self._segments[:gone]]
            del self._segments[:gone]
        for name in names:
            self._files.remove(name)
        return len(names)

    def close(self) -> None:
        """Close the open segment."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def settle(self) -> None:
        """Make sure that no group is in the log which could not be appended; OSError if that fails, too."""
        if self.sure:
            return
        failed = self._segments[-1]
        try:
            self._cut(failed, failed.good)
        except OSError:
            self._begin()
        self.sure = True

    def _recover(self) -> None:
        """Find the end of the log."""
        if self._segments:
            self.next = self._end_of(self._segments[-1])

    def _end_of(self, segment: _Segment) -> int:
        """The number after the last record of a segment, which is cut after its last whole group."""
        end, good = segment.first, 0
        with self._files.open(segment.name) as file:
            for group in groups(file):
                match group:
                    case Group():
                        end, good = group.end, group.offset + group.size
                    case Torn(offset, reason):
                        if follows_group(file, offset):
                            raise _damaged(f"{reason} at byte {offset} of {segment.name}, and others follow")
                        self.cut += segment.good - offset
                        self._cut(segment, offset)
        segment.good = good
        return end

    def _cut(self, segment: _Segment, good: int) -> None:
        file = self._files.append_to(segment.name)
        try:
            file.truncate(good)
            file.sync()
        finally:
            file.close()

    def _groups(self, segment: _Segment, good: int) -> Iterator[Group]:
        with self._files.open(segment.name) as file:
            for group in groups(file):
                if isinstance(group, Torn) or group.offset >= good:
                    return
                yield group

    def _begin(self) -> None:
        """Open the last segment, or a new one if it is long enough or could not be synced."""
        last = self._segments[-1] if self._segments else None
        if last is not None and not last.failed and last.good < self._segment_bytes:
            self._open = self._open or self._files.append_to(last.name)
            return
        self.close()
        attempt = last.attempt + 1 if last is not None and last.first == self.next else 0
        segment = _Segment(self.next, attempt)
        file = self._files.append_to(segment.name)
        try:
            file.truncate(0)
            self._files.sync_folder()
        except OSError:
            with suppress(OSError):
                file.close()
            raise
        with self._lock:
            self._segments.append(segment)
        self._open = file

    def _give_up(self) -> None:
        """Let the next group begin a new segment: what a failed sync has left on disk is not known."""
        if self._segments:
            self._segments[-1].failed = True
        if self._open is not None:
            with suppress(OSError):
                self._open.close()
            self._open = None
        with suppress(OSError):
            self.settle()


def _named(files: Files) -> list[_Segment]:
    """The segments in a folder, in order."""
    found = [_NAME.fullmatch(name) for name in files.names()]
    segments = [_Segment(int(each[1]), int(each[2])) for each in found if each is not None]
    for segment in segments:
        segment.good = files.size(segment.name)
    return sorted(segments, key=lambda segment: (segment.first, segment.attempt))


def _damaged(what: str) -> RunError:
    return RunError(f"the log is damaged: {what}", hint="restore the data folder from a back-up")
