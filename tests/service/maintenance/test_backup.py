"""A backup is a data folder at one moment, also while a service runs; what is restored goes on from there."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from stat import S_IMODE
from threading import Thread

import pytest

from spaseq.errors import InputError, RunError
from spaseq.service.core.service import Service
from spaseq.service.maintenance.backup import MANIFEST, backup, restore
from tests.service.damage import Shown, declare, opened, push, shown
from tests.service.maintenance.test_check import told
from tests.states.release import EVENTS

HALF = len(EVENTS) // 2


def quiet(what: str, done: int, of: int) -> None:
    """Nobody watches."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = opened(tmp_path / "data")
    declare(found, tmp_path)
    push(found, EVENTS[:HALF])
    yield found
    found.close()


def test_a_restored_backup_goes_on_as_the_original_does(service: Service, tmp_path: Path) -> None:
    service.settled()
    backup(tmp_path / "data", tmp_path / "b.tar", quiet)
    push(service, EVENTS[HALF:])
    restore(tmp_path / "b.tar", tmp_path / "elsewhere", quiet)
    again = opened(tmp_path / "elsewhere")
    push(again, EVENTS[HALF:])
    assert shown(again) == shown(service)
    again.close()


def test_the_commands_say_what_they_did_and_refuse_what_is_no_backup(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.settled()
    data, file, elsewhere = tmp_path / "data", tmp_path / "b.tar", tmp_path / "elsewhere"
    assert told(capsys, "backup", data, "-o", file) == (0, f"{file}: {file.stat().st_size:,} bytes\n")
    assert told(capsys, "restore", file, elsewhere) == (0, f"{elsewhere}: restored from {file}\n")
    again = opened(elsewhere)
    assert shown(again) == shown(service)
    again.close()
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    code, text = told(capsys, "restore", file, tmp_path / "third")
    assert code == 1 and text.startswith("error: ") and not (tmp_path / "third").exists()


def test_a_backup_under_load_has_the_first_rows_of_each_query(service: Service, tmp_path: Path) -> None:
    pushing = Thread(target=push, args=(service, EVENTS[HALF:]))
    pushing.start()
    found: list[Shown] = []
    for number in range(6):
        if number == 3:
            service.snapshot()
        backup(tmp_path / "data", tmp_path / "b.tar", quiet)
        restore(tmp_path / "b.tar", folder := tmp_path / f"restored-{number}", quiet)
        again = opened(folder)
        found.append(shown(again))
        again.close()
    pushing.join()
    whole = shown(service)
    for each in found:
        for name, rows in each["rows"].items():
            assert rows == whole["rows"][name][: len(rows)]
        assert each["letters"] == whole["letters"][: len(each["letters"])]
    counts = [[stream["events"] for stream in each["streams"]] for each in [*found, whole]]
    assert counts == sorted(counts)


def test_only_the_owner_reads_what_is_written_and_an_old_backup_stays_until_the_new_one_is_whole(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "b.tar"
    backup(tmp_path / "data", file, quiet)
    before = file.read_bytes()
    assert S_IMODE(file.stat().st_mode) == 0o600
    with monkeypatch.context() as failing:
        failing.setattr(tarfile.TarFile, "addfile", _full)
        with pytest.raises(OSError, match="no room"):
            backup(tmp_path / "data", file, quiet)
    assert file.read_bytes() == before
    assert {each.name for each in tmp_path.iterdir()} == {"data", "b.tar", "known.nt"}
    restore(file, tmp_path / "new", quiet)
    rights = {(each.is_dir(), S_IMODE(each.stat().st_mode)) for each in (tmp_path / "new").rglob("*")}
    assert rights == {(True, 0o700), (False, 0o600)}


def _full(*arguments: object) -> None:
    raise OSError("no room")


def test_a_damaged_backup_is_refused_wherever_it_is_damaged_and_nothing_is_written(
    service: Service, tmp_path: Path
) -> None:
    backup(tmp_path / "data", file := tmp_path / "b.tar", quiet)
    whole, dice = file.read_bytes(), Random(7)
    with tarfile.open(file) as archive:
        used = archive.getmember(MANIFEST).offset_data + archive.getmember(MANIFEST).size
    refused = 0
    for number in range(120):
        data = bytearray(whole)
        if number % 3:
            data[dice.randrange(used)] ^= 1 << dice.randrange(8)
        else:
            del data[dice.randrange(used) :]
        file.write_bytes(data)
        try:
            restore(file, target := tmp_path / f"restored-{number}", quiet)
        except RunError as error:
            refused += 1
            assert str(file) in error.message and not target.exists()
            continue
        again = opened(target)
        assert shown(again) == shown(service), "the bits of a header that nobody reads may be other ones"
        again.close()
    assert refused > 100
    assert not [each for each in tmp_path.iterdir() if each.name.endswith(".part")]


def test_a_folder_that_has_something_in_it_is_not_overwritten(service: Service, tmp_path: Path) -> None:
    backup(tmp_path / "data", tmp_path / "b.tar", quiet)
    (tmp_path / "empty").mkdir()
    restore(tmp_path / "b.tar", tmp_path / "empty", quiet)
    for place in (tmp_path / "empty", tmp_path / "b.tar"):
        with pytest.raises(InputError, match="is not empty"):
            restore(tmp_path / "b.tar", place, quiet)
    with pytest.raises(InputError, match="is no data folder"):
        backup(tmp_path, tmp_path / "c.tar", quiet)
