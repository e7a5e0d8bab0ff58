"""A log read once, with what is wrong in it, and the runs of it that are sound.

A run is a part of a file whose groups follow each other in place, number and chain. A log that nothing has befallen is
one run a segment.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from spaseq.errors import RunError
from spaseq.service.log.ends import NAME as ENDS
from spaseq.service.log.ends import Ends, noted_ends
from spaseq.service.log.files import Files
from spaseq.service.log.groups import UNLINKED, Group, Torn, groups, next_group
from spaseq.service.log.segmented import Place
from spaseq.service.log.segments import HEAD_BYTES, ForeignSegment, Segment, missing_before, named, read_head
from spaseq.service.maintenance.findings import Findings, numbers

FOLDER = "log"


@dataclass(frozen=True, slots=True)
class Run:
    """A sound part of a segment.

    offset, size    of it in the file, in bytes
    first, end      the number of its first record, and that after its last one
    before, after   the hash of the chain there; UNLINKED in what release 0.1.0 wrote
    """

    segment: Segment
    offset: int
    size: int
    first: int
    end: int
    before: int
    after: int

    def follows(self, other: Run) -> bool:
        """True if the chain goes from the other one to this one."""
        return UNLINKED in (other.after, self.before) or other.after == self.before


@dataclass(slots=True)
class CheckedLog:
    """The outcome of the check of a log.

    segments    all whose names are those of segments, in order
    runs        those that count, by number
    given_up    numbers of records, the first and that after the last, whose loss was accepted before
    ends        what was noted beside it; None: nothing, or it is damaged
    lost_records    so many are missing that were not given up
    """

    segments: list[Segment]
    runs: list[Run] = field(default_factory=list)
    given_up: list[tuple[int, int]] = field(default_factory=list)
    ends: Ends | None = None
    lost_records: int = 0

    @property
    def next(self) -> int:
        """The number after that of the last record that is there."""
        return self.runs[-1].end if self.runs else max((each.first for each in self.segments), default=1)

    @property
    def first(self) -> int:
        """The number of the first record that the files are to have."""
        return min([*(segment.first for segment in self.segments), *(run.first for run in self.runs)], default=1)


def check_log(files: Files, folder: int, places: Sequence[Place], snapshot: int, findings: Findings) -> CheckedLog:
    """Read a log.

    folder  the number of the data folder
    places  from which rows, dead letters and the snapshot come, by number; they are compared
    snapshot    the number of the record up to which the snapshot goes; 0: there is none

    Raises OSError.
    """
    found = CheckedLog(named(files))
    try:
        found.ends = noted_ends(files)
    except RunError as error:
        findings.add(f"{FOLDER}/{ENDS}", error.message)
    total, done, runs = sum(segment.good for segment in found.segments), 0, list[Run]()
    for index, segment in enumerate(found.segments):
        findings.on_progress("the log", done, total)
        done += segment.good
        runs += _Reading(found, index, places, findings).runs(files, folder)
    found.runs = _one_after_the_other(sorted(runs, key=lambda run: run.first), findings)
    _find_gaps(found, folder, places, snapshot, findings)
    return found


@dataclass(slots=True)
class _Reading:
    """The reading of one segment."""

    log: CheckedLog
    index: int
    places: Sequence[Place]
    findings: Findings

    @property
    def segment(self) -> Segment:
        """The segment."""
        return self.log.segments[self.index]

    @property
    def file(self) -> str:
        """Its name in the data folder."""
        return f"{FOLDER}/{self.segment.name}"

    @property
    def following(self) -> Segment | None:
        """The next one."""
        return self.log.segments[self.index + 1] if self.index + 1 < len(self.log.segments) else None

    def runs(self, files: Files, folder: int) -> Iterator[Run]:
        """The sound runs of the segment, as far as it counts."""
        with files.open(self.segment.name) as file:
            if not self._is_of_this_log(file, folder):
                return
            run = None
            for group in self._groups(file):
                if self.following is not None and group.first >= self.following.first:
                    break
                before = UNLINKED if group.before is None else group.before
                new = Run(self.segment, group.offset, group.size, group.first, group.end, before, group.link)
                self._compare(group)
                beside = run is not None and run.offset + run.size == new.offset
                if run is not None and beside and run.end == new.first and new.follows(run):
                    run = replace(run, size=run.size + new.size, end=new.end, after=new.after)
                    continue
                if run is not None:
                    yield run
                run = new
            if run is not None:
                yield run

    def _is_of_this_log(self, file: BinaryIO, folder: int) -> bool:
        """Read the head; False if the file belongs elsewhere."""
        may_be_torn = self.following is None or self.following.first == self.segment.first
        try:
            read_head(self.segment, file, folder, may_be_torn)
        except ForeignSegment as error:
            self.findings.add(self.file, error.message)
            return False
        except RunError as error:
            self.findings.add(self.file, error.message)
            self.segment.begin = HEAD_BYTES
        if self.segment.lost:
            self.log.given_up.append((self.segment.lost, self.segment.first))
        return True

    def _groups(self, file: BinaryIO) -> Iterator[Group]:
        """The whole groups, whatever stands between them."""
        offset: int | None = self.segment.begin
        while offset is not None:
            torn = None
            for group in groups(file, offset):
                if isinstance(group, Torn):
                    torn = group
                    break
                yield group
            if torn is None:
                return
            offset = next_group(file, torn.offset)
            if offset is not None or (self.following is not None and self.following.first > self.segment.first):
                self.findings.add(self.file, f"{torn.reason} at byte {torn.offset}")

    def _compare(self, group: Group) -> None:
        """Compare the chain after a group with the places at its records."""
        if group.link == UNLINKED:
            return
        at = bisect_left(self.places, Place(group.first, -(1 << 63)))
        while at < len(self.places) and self.places[at].number < group.end:
            place = self.places[at]
            if place.link not in (UNLINKED, group.link):
                what = f"record {place.number} is another one than that of which rows or the snapshot were made"
                self.findings.add(self.file, what)
            at += 1


def _one_after_the_other(runs: Sequence[Run], findings: Findings) -> list[Run]:
    """The runs without those that are there twice, compared with each other."""
    kept: list[Run] = []
    for run in runs:
        if kept and run.first < kept[-1].end:
            which = numbers(run.first, run.end - 1, "record")
            findings.add(f"{FOLDER}/{run.segment.name}", f"{which}: there twice, or of another log")
            continue
        if kept and kept[-1].end == run.first and not run.segment.lost:
            if not run.follows(kept[-1]):
                findings.add(f"{FOLDER}/{run.segment.name}", f"it goes on with record {run.first} of another log")
            elif kept[-1].segment is run.segment and kept[-1].offset > run.offset:
                findings.add(f"{FOLDER}/{run.segment.name}", f"record {run.first} stands in another place")
        kept.append(run)
    return kept


def _find_gaps(found: CheckedLog, folder: int, places: Sequence[Place], snapshot: int, findings: Findings) -> None:
    """Find the records that are missing, and the files that say that there were some."""
    position = found.first if found.ends is None else found.ends.first
    for run in found.runs:
        _find_gap(found, position, run.first, findings)
        position = max(position, run.end)
    covered = max((place.number + 1 for place in places[-1:]), default=1)
    _find_gap(found, position, max(covered, found.next, 1 if found.ends is None else found.ends.next), findings)
    for before, segment in zip(found.segments, found.segments[1:], strict=False):
        if (gone := missing_before(segment, before)) is not None:
            findings.add(f"{FOLDER}/{gone.name}", "it is missing")
    if found.ends is None and any(each.begin for each in found.segments) and not _says_ends(findings):
        findings.add(f"{FOLDER}/{ENDS}", "it is missing")
    if found.ends is not None and snapshot >= found.ends.next:
        findings.add(f"{FOLDER}/{ENDS}", "it is older than the snapshot")
    if found.ends is not None and found.ends.folder != folder:
        findings.add(f"{FOLDER}/{ENDS}", "it is of another data folder")


def _find_gap(found: CheckedLog, position: int, end: int, findings: Findings) -> None:
    """Records from a position to an end are missing, as far as they were not given up before."""
    for lost, until in sorted(found.given_up):
        if lost <= position < until:
            position = until
    if position < end:
        which = numbers(position, end - 1, "record")
        found.lost_records += end - position
        findings.add(FOLDER, f"{which} of the log: missing", f"{which} of the log")


def _says_ends(findings: Findings) -> bool:
    return any(each.file == f"{FOLDER}/{ENDS}" for each in findings.wrong)
