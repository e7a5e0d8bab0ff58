"""The log: what was acknowledged is there after any crash, once and in order, and nothing else but what was tried."""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.errors import RunError
from spaseq.service.log.ends import NAME as ENDS
from spaseq.service.log.group_commit import GroupCommit, NotDurable
from spaseq.service.log.groups import encoded
from spaseq.service.log.segmented import Place, SegmentedLog
from spaseq.service.log.segments import HEAD_BYTES, Segment
from tests.service.faulty_files import FaultyFiles

FAULTS = ("open", "write", "sync", "truncate", "close", "sync folder")


def test_records_are_read_again_from_any_number() -> None:
    log = SegmentedLog(FaultyFiles(), 7, segment_bytes=64)
    for start in range(0, 20, 2):
        assert log.append([b"%d" % start, b"%d" % (start + 1)]).number == start + 1
    assert [record for _, record in log.read(1)] == [b"%d" % number for number in range(20)]
    assert list(log.read(18)) == [(18, b"17"), (19, b"18"), (20, b"19")]


def test_a_trimmed_log_keeps_its_numbers() -> None:
    files = FaultyFiles()
    log = SegmentedLog(files, 7, segment_bytes=40)
    for number in range(10):
        log.append([b"record %d" % number])
    assert log.trim(6) > 0
    assert log.first <= 6
    assert [number for number, _ in log.read(1)] == list(range(log.first, 11))
    again = SegmentedLog(files, 7, segment_bytes=40)
    assert (again.first, again.next) == (log.first, 11)


@given(st.integers(0, 2**32))
def test_what_was_acknowledged_survives_failing_operations_and_crashes(seed: int) -> None:
    draw = Random(seed)
    files, acknowledged, tried, refused = FaultyFiles(), list[bytes](), set[bytes](), set[bytes]()
    for life in range(3):
        files.fail = lambda operation: 0
        log = SegmentedLog(files, 7, segment_bytes=draw.choice([1, 60, 1000]))
        assert [record for _, record in log.read(1) if record in acknowledged] == acknowledged
        log.cut_torn()
        files.fail = lambda operation: errno.EIO if draw.random() < 0.2 else 0
        files.tear = lambda size: draw.randint(0, size)
        found = [record for _, record in log.read(1)]
        assert set(found) <= tried - refused and len(found) == len(set(found))
        unsure: list[bytes] = []
        for step in range(draw.randint(0, 12)):
            group = [b"%d %d %d" % (life, step, each) for each in range(draw.randint(1, 3))]
            tried.update(group)
            try:
                log.append(group)
            except OSError:
                unsure += group
                if log.sure:
                    refused.update(unsure)
                continue
            refused.update(unsure)
            acknowledged += group
            assert [record for _, record in log.read(1)][-len(group) :] == group
        files = files.crashed(lambda size: draw.randint(0, size))
    log = SegmentedLog(files, 7)
    assert [record for _, record in log.read(1) if record in acknowledged] == acknowledged
    assert not refused.intersection(record for _, record in log.read(1))


@given(st.integers(0, 2**32))
def test_what_was_acknowledged_survives_the_loss_of_power_at_any_operation(seed: int) -> None:
    draw = Random(seed)
    files, acknowledged, tried, refused, first = FaultyFiles(), dict[int, bytes](), set[bytes](), set[bytes](), 1
    for life in range(5):
        files.fail = out_of_power(draw.randint(0, 60)) if life < 4 else lambda operation: 0
        try:
            log = SegmentedLog(files, 7, segment_bytes=draw.choice([1, 60, 1000]))
            found = dict(log.read(1))
            assert log.first <= first
            assert [found.get(n) for n in acknowledged if n >= first] == [
                record for n, record in acknowledged.items() if n >= first
            ]
            assert set(found.values()) <= tried - refused and len({*found.values()}) == len(found)
            log.cut_torn()
            for step in range(draw.randint(0, 12)):
                group = [b"%d %d %d" % (life, step, each) * draw.choice([1, 300]) for each in range(draw.randint(1, 3))]
                tried.update(group)
                try:
                    number = log.append(group).number
                except OSError:
                    refused.update(group if log.sure else ())
                    break
                acknowledged.update(enumerate(group, number))
                if draw.random() < 0.3:
                    first = max(first, draw.randint(1, log.next))
                    log.trim(first)
        except OSError:
            assert life < 4
        files = files.lost_power(draw)


def test_a_new_segment_that_is_torn_is_cut_before_another_group_is_written() -> None:
    files = FaultyFiles()
    log = SegmentedLog(files, 7, segment_bytes=1)
    log.append([b"first"])
    files.append_to(Segment(2, 0).name).write(bytes(30))
    log = SegmentedLog(files, 7, segment_bytes=1000)
    assert (log.next, log.torn, log.cut_torn()) == (2, 30, 30)
    log.append([b"second"])
    assert [record for _, record in SegmentedLog(files, 7).read(1)] == [b"first", b"second"]


def test_a_note_that_was_made_and_never_written_is_none() -> None:
    files = FaultyFiles()
    files.append_to(ENDS)
    assert SegmentedLog(files, 7).append([b"first"]).number == 1
    files.contents[ENDS].written = b""
    with pytest.raises(RunError, match="the note log/ends is missing"):
        SegmentedLog(files, 7)


def out_of_power(at: int) -> Callable[[str], int]:
    """Let all operations fail, from one on."""
    left = at

    def fail(operation: str) -> int:
        nonlocal left
        left -= 1
        return errno.EIO if left < 0 else 0

    return fail


def failing(files: FaultyFiles, *operations: str) -> None:
    """Let the next of each of these operations fail, in this order; all others succeed."""
    left = list(operations)

    def fail(operation: str) -> int:
        if left and operation == left[0]:
            del left[0]
            return errno.EIO
        return 0

    files.fail = fail


@pytest.mark.parametrize("also", [(), ("truncate",), ("open",), ("truncate", "sync folder"), ("open", "open")])
def test_what_was_refused_is_not_in_the_log_after_a_restart_unless_that_was_said(also: tuple[str, ...]) -> None:
    files = FaultyFiles()
    log = SegmentedLog(files, 7)
    log.append([b"first"])
    failing(files, "sync", *also)
    with pytest.raises(OSError):
        log.append([b"refused"])
    assert log.sure is (len(also) < 2)
    killed = [record for _, record in SegmentedLog(files, 7).read(1)]
    assert killed == [b"first"] or (not log.sure and killed == [b"first", b"refused"])
    log = SegmentedLog(files, 7) if log.sure else log
    log.append([b"second"])
    assert log.sure and [record for _, record in SegmentedLog(files, 7).read(1)] == [b"first", b"second"]


def test_damage_before_the_end_is_an_error_and_nothing_is_cut() -> None:
    files = FaultyFiles()
    log = SegmentedLog(files, 7)
    for number in range(5):
        log.append([b"record %d" % number])
    content = next(content for name, content in files.contents.items() if name != ENDS)
    damaged = bytearray(content.written)
    damaged[len(encoded(1, [b"record 0"], 0)[0]) + HEAD_BYTES + 40] ^= 1
    content.written = bytes(damaged)
    with pytest.raises(RunError, match=r"record 2 of the log is missing: .* at byte \d+ of .*log"):
        SegmentedLog(files, 7)
    assert content.written == bytes(damaged)


@given(st.integers(0, 10_000), st.integers(0, 255))
def test_any_changed_byte_of_the_last_group_is_noticed_or_costs_that_group_only(place: int, value: int) -> None:
    files = FaultyFiles()
    log = SegmentedLog(files, 7)
    log.append([b"first"])
    noted = files.contents[ENDS].written
    content = next(content for name, content in files.contents.items() if name != ENDS)
    good = len(content.written)
    log.append([b"second", b"third"])
    changed = bytearray(content.written)
    place = good + place % (len(changed) - good)
    whole = changed[place] == value
    changed[place] = value
    content.written = bytes(changed)
    if not whole:
        with pytest.raises(RunError, match="records 2 to 3 of the log are missing: the note log/ends covers them"):
            SegmentedLog(files, 7)
        files.contents[ENDS].written = noted  # as if nobody had been told of the group
    log = SegmentedLog(files, 7)
    assert [record for _, record in log.read(1)] == ([b"first", b"second", b"third"] if whole else [b"first"])
    assert log.cut_torn() == (0 if whole else len(changed) - good)
    assert len(content.written) == (len(changed) if whole else good)


def test_records_of_many_threads_share_groups_and_hear_of_their_numbers() -> None:
    seen, told = list[tuple[int, str]](), list[tuple[int, str]]()
    commit: GroupCommit[str] = GroupCommit(
        SegmentedLog(FaultyFiles(), 7),
        lambda place, record: seen.append((place.number, record)),
        lambda place, record: told.append((place.number, record)),
        lambda: None,
    )
    with commit.deciding:
        futures = [commit.submit(b"%d" % each, f"record {each}") for each in range(100)]
    assert [future.result() for future in futures] == list(range(1, 101))
    commit.close()
    assert seen == told == [(each + 1, f"record {each}") for each in range(100)]
    with pytest.raises(NotDurable):
        commit.submit(b"late", "late")


def ignored(place: Place, record: int) -> None:
    """Nothing is done with a record."""


def test_all_records_after_one_that_failed_are_given_up_with_it() -> None:
    files = FaultyFiles()
    undone: list[int] = []
    commit: GroupCommit[int] = GroupCommit(SegmentedLog(files, 7), ignored, ignored, lambda: undone.append(1))
    assert commit.submit(b"good", 0).result() == 1
    files.fail = lambda operation: errno.ENOSPC if operation == "write" else 0
    with commit.deciding:
        futures = [commit.submit(b"bad", each) for each in range(3)]
    for future in futures:
        with pytest.raises(NotDurable) as caught:
            future.result()
        assert caught.value.full
    files.fail = lambda operation: 0
    assert commit.submit(b"good again", 0).result() == 2
    commit.close()
    assert undone
