"""A damaged folder is refused by the records that are missing; check says what is wrong, and repair what is lost."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaseq.cli.__main__ import main
from spaseq.errors import RunError
from spaseq.service.core.folder import DataFolder
from spaseq.service.core.service import Service
from spaseq.service.http.process import Arguments
from spaseq.service.log.segments import HEAD_BYTES
from spaseq.service.maintenance import database_check, repair
from spaseq.service.maintenance.check import check, held
from spaseq.service.maintenance.findings import Findings
from spaseq.service.settings.configuration import Configuration
from tests.drawn import drawn
from tests.service.damage import declare, opened, push, shown
from tests.states.release import EVENTS

HALF = len(EVENTS) // 2
RELEASED = Path(__file__).parents[2] / "states" / "0.1.0" / "service.tar.gz"


def filled(folder: Path) -> Path:
    """The data folder of a service that has ended."""
    service = opened(folder / "data")
    declare(service, folder)
    push(service, EVENTS[:HALF])
    service.settled()
    service.close()
    return folder / "data"


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """The exit code of `spaseq service …`, and what it prints."""
    with pytest.raises(SystemExit) as done:
        main(["service", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(done.value.code or 0), out + err


def newest(data: Path) -> Path:
    """The newest segment of the log."""
    return max((data / "log").glob("*.log"))


def cut(data: Path) -> None:
    path = newest(data)
    path.write_bytes(path.read_bytes()[:-9])


def flipped(data: Path) -> None:
    path, whole = newest(data), bytearray(newest(data).read_bytes())
    whole[-9] ^= 4
    path.write_bytes(whole)


def emptied(data: Path) -> None:
    newest(data).write_bytes(b"")


def removed(data: Path) -> None:
    newest(data).unlink()


def older(data: Path) -> None:
    path = newest(data)
    path.write_bytes(path.read_bytes()[:1500])


@pytest.mark.parametrize("damage", [cut, flipped, emptied, removed, older])
@pytest.mark.parametrize("noted", [True, False])
def test_a_log_that_is_behind_the_snapshot_is_refused_until_its_loss_is_accepted(
    damage: Callable[[Path], None], noted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On 8b7edbed the service started in silence and gave the numbers of covered records to others.

    noted   False: the note of the ends is damaged, too, so that the snapshot alone says how long the log was
    """
    data = filled(tmp_path)
    if not noted:
        ends = bytearray((data / "log" / "ends").read_bytes())
        ends[-1] ^= 1
    damage(data)
    with pytest.raises(RunError, match=r"records? \d+( to \d+)? of the log (is|are) missing"):
        DataFolder(data)
    if not noted:
        (data / "log" / "ends").write_bytes(ends)
        with pytest.raises(RunError, match="log/ends is wrong"):
            DataFolder(data)
    code, text = told(capsys, "check", data)
    found = re.search(r"records? (\d+)(?: to (\d+))? of the log: missing", text)
    assert code == 1 and found is not None, text
    last = int(found[2] or found[1])
    Arguments(Configuration(), data, "", 0, False, accept_loss=True).folder().close()
    service = opened(data)
    push(service, EVENTS[HALF:])
    after = shown(service)
    lost = [letter for each in after["letters"] if (letter := json.loads(each))["sort"] == "lost"]
    assert len(lost) == 1 and lost[0]["reason"] == f"lost on disk: {found[0].replace(': missing', '')}"
    assert service.counters.now()["lost_records"] == last - int(found[1]) + 1
    assert min(number for number, data in service._log.read(last)) == last + 1, "no number is given twice"
    service.close()
    service = opened(data)
    assert shown(service) == after
    service.close()
    assert told(capsys, "check", data)[0] == 0


def test_a_sound_folder_is_sound_and_one_that_is_in_use_or_none_is_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = filled(tmp_path)
    code, text = told(capsys, "check", data)
    assert code == 0 and re.search(r"sound, \d+ records in the log", text), text
    assert told(capsys, "check", data, "--repair") == (0, f"{data}: sound, nothing is lost\n")
    service = opened(data)
    code, text = told(capsys, "check", data)
    assert code == 2 and "another service uses the data folder" in text
    service.close()
    code, text = told(capsys, "check", tmp_path)
    assert code == 2 and "is no data folder of a service" in text


def test_a_repair_says_what_is_lost_and_the_folder_is_sound_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = filled(tmp_path)
    middle = sorted((data / "log").glob("*.log"))[1]
    whole = bytearray(middle.read_bytes())
    whole[len(whole) // 2] ^= 1
    middle.write_bytes(whole)
    code, text = told(capsys, "check", data, "--repair")
    assert code == 1 and re.search(rf"log/{middle.name}: the checksum of a group.* is wrong at byte \d+", text), text
    assert re.search(r"lost: records? \d+.* of the log", text), text
    assert told(capsys, "check", data)[0] == 0
    opened(data).close()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("sound"))


@given(gone=st.sets(st.integers(0, 9), min_size=1), noted=st.booleans())
@settings(max_examples=drawn(60))
def test_all_records_of_segments_that_are_destroyed_are_missing_with_and_without_the_note_of_the_ends(
    sound: Path, gone: set[int], noted: bool
) -> None:
    shutil.rmtree(copied := sound.with_name("copied"), ignore_errors=True)
    shutil.copytree(sound, copied)
    if not noted:
        (copied / "log" / "ends").unlink()
    segments = sorted((copied / "log").glob("*.log"))
    for path in {segments[number % len(segments)] for number in gone}:
        path.write_bytes(bytes(path.stat().st_size))
    with held(sound), held(copied):
        records, checked = check(sound, Findings()).log.next - 1, check(copied, Findings())
        assert checked.log.lost_records == records - sum(run.end - run.first for run in checked.log.runs)
        repair.repair(checked)
        assert not check(copied, Findings()).findings.wrong
    DataFolder(copied).close()


@given(data=st.data())
@settings(max_examples=drawn(90))
def test_a_folder_is_sound_after_a_repair_whatever_bytes_of_its_log_were_wrong(
    sound: Path, data: st.DataObject
) -> None:
    shutil.rmtree(copied := sound.with_name("copied"), ignore_errors=True)
    shutil.copytree(sound, copied)
    names = sorted(path.name for path in (sound / "log").iterdir())
    for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)):
        whole = bytearray((copied / "log" / name).read_bytes())
        at = data.draw(st.integers(0, min(HEAD_BYTES, len(whole)) - 1) | st.integers(0, len(whole) - 1))
        whole[at] ^= 1 << data.draw(st.integers(0, 7))
        (copied / "log" / name).write_bytes(whole)
    with held(copied):
        repair.repair(check(copied, Findings()))
        assert not check(copied, Findings()).findings.wrong
    DataFolder(copied).close()


def test_a_folder_of_release_0_1_0_is_checked_as_far_as_it_can_be_and_gets_a_chain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(RELEASED) as archive:
        archive.extractall(tmp_path, filter="data")
    data = next(path.parent for path in tmp_path.rglob("service.sqlite"))
    code, text = told(capsys, "check", data)
    assert code == 0 and "release 0.1.0 wrote it" in text and "gets both at its first start" in text
    shutil.copytree(data, copied := tmp_path / "copied")
    service = Service.open(copied, Arguments(Configuration(), copied, "", 0, False).configuration.limits)
    service.settled()
    service.close()
    code, text = told(capsys, "check", copied)
    assert code == 0 and "0.1.0" not in text, text
    (path,) = list((data / "log").glob("*.log"))[:1]
    path.write_bytes(path.read_bytes()[:-5])
    assert told(capsys, "check", data)[0] == 1


def test_a_repair_that_was_ended_is_refused_at_a_start_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = filled(tmp_path)
    cut(data)
    with monkeypatch.context() as killed:
        killed.setattr(repair, "finish_repair", _killed)
        with pytest.raises(KeyboardInterrupt), held(data):
            repair.repair(check(data, Findings()))
    with pytest.raises(RunError, match=r"a repair of .* was ended"):
        DataFolder(data)
    assert told(capsys, "check", data)[0] == 0
    opened(data).close()


def _killed(data: Path) -> None:
    raise KeyboardInterrupt


def test_a_disk_that_fails_while_a_folder_is_read_repairs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = filled(tmp_path)
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    with monkeypatch.context() as failing:
        failing.setattr(database_check, "numbers_there", _failing)
        code, text = told(capsys, "check", data, "--repair")
    assert code == 1 and "disk I/O error" in text and "nothing is changed" in text, text
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before


def _failing(connection: object) -> Iterator[tuple[int, int, int]]:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR  # type: ignore[misc]
    raise error
