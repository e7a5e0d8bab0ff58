"""A log in segments: records are numbered from 1, appended in groups, and read again from any number on.

A segment is named by the number of its first record. If a group could not be synced, the segment is cut where it was
good and closed, and the next group begins a new one with the same number: where two segments have a record, the later
segment counts, even if it is empty. Groups are links of one chain (`spaseq.service.log.groups`).
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

from arrays.wanted import check_wanted
from spaseq.service.log.ends import NAME as ENDS
from spaseq.service.log.ends import Ends, noted_ends
from spaseq.service.log.files import AppendFile, Files, naming
from spaseq.service.log.groups import UNLINKED, Group, Torn, encoded
from spaseq.service.log.segments import Segment, broken, check_follows, damaged, listed, missing

SEGMENT_BYTES = 64 << 20
"""A segment of this size is followed by another."""
FOLDER = "log"
"""The name of the folder, for errors."""
PROBE, PROBE_BYTES = "probe", 64 << 10
"""A file that is written and deleted again, to see if the disk works."""


class Place(NamedTuple):
    """The number of a record, and the hash of the chain after its group; UNLINKED in what release 0.1.0 wrote."""

    number: int
    link: int


class SegmentedLog:
    """The log in a folder: its last segment has been read, up to its last whole group.

    next    the number of the next record
    link    the hash of the chain before it
    torn    bytes of a torn group behind that, for `cut_torn`
    sure    False while a group that could not be appended may be in the log all the same, after a restart
    folder  the number of the data folder, with which the chain begins
    fault   with which the last group could not be appended; None: it was, or `probe` has seen that the disk works
    writing_since   the monotonic time at which a group began to be written; None: none is being written

    One thread appends; any number of threads read what has been appended. RunError if the log is damaged.
    """

    def __init__(self, files: Files, folder: int, segment_bytes: int | None = None) -> None:
        self._files, self.folder = files, folder
        self._segment_bytes = SEGMENT_BYTES if segment_bytes is None else segment_bytes
        self._lock = Lock()
        self._open: AppendFile | None = None
        self.next, self.link = 1, folder
        self.torn = 0
        self.sure = True
        self.fault: OSError | None = None
        self.writing_since: float | None = None
        self._deleted: list[str] = []
        self._noted = noted_ends(files)
        self._segments = listed(files, folder)
        self._recover()
        self._check_ends()

    @property
    def first(self) -> int:
        """The number of the oldest record that is there, or of the next one."""
        return self._segments[0].first if self._segments else self.next

    @property
    def begin(self) -> int:
        """`first`, or the number of the first record before it whose loss was accepted."""
        return (self._segments[0].lost if self._segments else 0) or self.first

    @property
    def noted_until(self) -> int:
        """The number of the last record that the note of the ends covered when the log was opened."""
        return self.next - 1 if self._noted is None else self._noted.next - 1

    @property
    def has_lost(self) -> bool:
        """True if records in it were lost, and that was accepted."""
        return any(segment.lost for segment in self._segments)

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        with self._lock:
            return sum(segment.good for segment in self._segments)

    def append(self, records: Sequence[bytes]) -> Place:
        """Append records as one group, on disk when this returns; returns the place of the first.

        OSError if that failed: then none of them is in the log, unless it is not `sure`; the next call tries in a new
        segment.
        """
        self.writing_since = time.monotonic()
        try:
            with naming(FOLDER):
                place = self._append(records)
        except OSError as error:
            self.fault = error
            raise
        finally:
            self.writing_since = None
        self.fault = None
        return place

    def _append(self, records: Sequence[bytes]) -> Place:
        first = self.next
        data, link = encoded(first, records, self.link)
        self.settle()
        try:
            self._begin()
            assert self._open is not None
            segment = self._segments[-1]
            head = b"" if segment.good else segment.head(self.folder)
            self.sure = False
            self._open.write(head + data)
            self._open.sync()
            self.sure = True
        except OSError:
            self._give_up()
            raise
        with self._lock:
            segment.begin = segment.begin or len(head)
            segment.good += len(head) + len(data)
            self.next, self.link = first + len(records), link
        self._note(self.first)
        return Place(first, link)

    def read(self, start: int) -> Iterator[tuple[int, bytes]]:
        """The records from a number on, up to the last that is on disk when they are asked for; RunError for damage.

        Those whose loss was accepted are left out. Raises OSError, and NotWanted if nobody wants the next one.
        """
        return ((place.number, record) for place, record in self.read_linked(start))

    def read_linked(self, start: int) -> Iterator[tuple[Place, bytes]]:
        """`read`, each record with its place."""
        position, link = max(start, self.first), None
        while (found := self._segment_of(position)) is not None:
            segment, good, end = found
            if position != segment.first or segment.lost:  # it is read again, or behind a loss that was accepted
                position, link = max(position, segment.first), None
            for group in self._groups(segment, good, end, link):
                link = group.link
                for number, record in enumerate(group.records, group.first):
                    if number >= position:
                        check_wanted()
                        yield Place(number, link), record
                position = max(position, group.end)

    def link_at(self, number: int) -> int | None:
        """The hash of the chain after the group of a record; None: the record is not there. RunError, OSError."""
        place, _ = next(self.read_linked(number), (Place(self.next, UNLINKED), b""))
        return place.link if place.number == number else None

    def check(self, place: Place, whose: str) -> None:
        """RunError unless the log goes as far as a place, and has the same chain there; `whose` place it is."""
        if place.number >= self.next:
            missing(self.next, place.number, f"{whose} covers them")
        if place.number < self.first or place.link == UNLINKED:
            return
        found = self.link if place.number == self.next - 1 else self.link_at(place.number)
        if found not in (None, UNLINKED, place.link):
            damaged(f"record {place.number} is another one than that which {whose} covers")

    def trim(self, before: int, retained: int | None = None, most_bytes: int | None = None) -> int:
        """Delete the segments all of whose records have smaller numbers; returns how many. Raises OSError.

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
        if gone:
            self._note(self._segments[gone].first, synced=True)
            with self._lock:
                names = [segment.name for segment in self._segments[:gone]]
                del self._segments[:gone]
            self._deleted += names
        while self._deleted:  # also those that could not be deleted before
            with naming(FOLDER):
                self._files.remove(self._deleted[0])
                self._files.sync_folder()  # one after the other: where one comes back, there is no gap behind it
            del self._deleted[0]
        return gone

    def probe(self) -> None:
        """Look if the disk works again with which a group could not be appended."""
        if self.fault is None:
            return
        try:
            with naming(FOLDER):
                file = self._files.append_to(PROBE)
                try:
                    file.truncate(0)
                    file.write(bytes(PROBE_BYTES))
                    file.sync()
                finally:
                    file.close()
                    self._files.remove(PROBE)
        except OSError as error:
            self.fault = error
        else:
            self.fault = None

    def cut_torn(self) -> int:
        """Cut off a torn group before anything is appended: nobody was told that it is there. The bytes; OSError."""
        if self.torn:
            self._cut(self._segments[-1], self._segments[-1].good)
        cut, self.torn = self.torn, 0
        return cut

    def note_ends(self) -> None:
        """Have the note of the ends on disk, before something is stored that covers the records. Raises OSError."""
        self._note(self.first, synced=True)

    def close(self) -> None:
        """Close what is open; what has been appended is on disk, whatever the disk says now."""
        if self._open is not None:
            with suppress(OSError):
                self._open.close()
            self._open = None
        self._files.close()

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

    # --- opening ----------------------------------------------------------------------------------

    def _recover(self) -> None:
        """Find the end of the log."""
        if not self._segments:
            return
        last = self._segments[-1]
        if last.is_torn:
            self.torn, last.good = last.good, 0
        self.next = last.first
        if self.next > 1:
            self.link = UNLINKED
        with self._files.open(last.name) as file:
            for group in () if last.is_torn else last.groups(file):
                if isinstance(group, Torn):
                    broken(last, file, group, self.next)
                    self.torn, last.good = last.good - group.offset, group.offset
                    break
                check_follows(last, group, self.next, self.link)
                self.next, self.link = group.end, group.link
        if self.next == last.first:
            self.link = self._link_before(last)

    def _link_before(self, segment: Segment) -> int:
        """The hash of the chain where a segment begins that has no group."""
        if (link := self.link_at(segment.first - 1)) is not None:
            return link
        return self._noted.link if self._noted is not None and self._noted.next == segment.first else self.folder

    def _check_ends(self) -> None:
        """Compare with what was noted beside the log."""
        noted = self._noted
        if noted is None:
            if any(segment.begin for segment in self._segments):
                damaged(f"the note log/{ENDS} is missing")
            self._note(self.first, synced=True)
            return
        if noted.folder != self.folder:
            damaged(f"the note log/{ENDS} is of another data folder")
        if noted.first < self.begin:
            missing(noted.first, self.begin - 1, "their files are")
        self.check(Place(noted.next - 1, noted.link), f"the note log/{ENDS}")

    # --- reading ----------------------------------------------------------------------------------

    def _segment_of(self, number: int) -> tuple[Segment, int, int] | None:
        """The segment that has a record, or the next one, its good bytes, where its part ends; None: not there yet."""
        with self._lock:
            if number >= self.next:
                return None
            index = bisect_right([segment.first for segment in self._segments], number) - 1
            if index + 1 < len(self._segments) and 0 < self._segments[index + 1].lost <= number:
                index += 1
            last = index + 1 == len(self._segments)
            end = self.next if last else self._segments[index + 1].lost or self._segments[index + 1].first
            return self._segments[index], self._segments[index].good, end

    def _groups(self, segment: Segment, good: int, end: int, link: int | None) -> Iterator[Group]:
        """The groups of a segment that count, compared with the hash of the chain before them, if it is known."""
        expected = segment.first
        with naming(f"{FOLDER}/{segment.name}"), self._files.open(segment.name) as file:
            for group in segment.groups(file):
                if expected >= end or group.offset >= good:
                    break
                if isinstance(group, Torn):
                    broken(segment, file, group, expected)
                    missing(expected, end - 1, f"{group.reason} at byte {group.offset} of {segment.name}")
                check_follows(segment, group, expected, link)
                yield group
                expected, link = group.end, group.link
        if expected < end:
            missing(expected, end - 1, f"{segment.name} ends before them")

    # --- appending --------------------------------------------------------------------------------

    def _cut(self, segment: Segment, good: int) -> None:
        file = self._files.append_to(segment.name)
        try:
            file.truncate(good)
            file.sync()
        finally:
            file.close()

    def _begin(self) -> None:
        """Open the last segment, or a new one if it is long enough or could not be synced."""
        last = self._segments[-1] if self._segments else None
        if last is not None and not last.failed and last.good < self._segment_bytes:
            self._open = self._open or self._files.append_to(last.name)
            return
        self.close()
        attempt = last.attempt + 1 if last is not None and last.first == self.next else 0
        segment = Segment(self.next, attempt, None if last is None else (last.first, last.attempt))
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

    def _note(self, first: int, synced: bool = False) -> None:
        """Note the ends beside the log; OSError only if it is to be synced."""
        data = Ends(self.folder, first, self.next, self.link).encoded()
        if synced:
            with naming(f"{FOLDER}/{ENDS}"):
                self._files.note(ENDS, data, synced=True)
            return
        with suppress(OSError):  # then the note says less than the log has
            self._files.note(ENDS, data)
