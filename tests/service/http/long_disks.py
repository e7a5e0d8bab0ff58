"""Disks that fail, fill up or are slow under a process of its own, by calls of the system; `make thorough` runs this.

A library stands before the system's calls for files (LD_PRELOAD). Of those in the data folder it does what a file asks
for: a call fails with an error, or takes so many seconds longer. Each time it does is a byte in another file.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from tests.service.http.test_process import CONFIGURATION, QUERY, events, serving
from tests.waiting import waited

NQUADS = {"Content-Type": "application/n-quads"}
FAULTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(int file, const char *call) {
    char asked[64] = "", what[32], link[64], path[PATH_MAX];
    int number, control = syscall(SYS_openat, AT_FDCWD, getenv("FAULTS"), O_RDONLY);
    if (control < 0) return 0;
    syscall(SYS_read, control, asked, sizeof asked - 1);
    syscall(SYS_close, control);
    if (sscanf(asked, "%31s %d", what, &number) != 2 || strcmp(what, call)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    if (strncmp(path, getenv("FAULTY"), strlen(getenv("FAULTY")))) return 0;
    int met = syscall(SYS_openat, AT_FDCWD, getenv("MET"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    syscall(SYS_write, met, ".", 1);
    syscall(SYS_close, met);
    if (number < 0) { sleep(-number); return 0; }
    errno = number;
    return 1;
}
#define CALL(type, name, known, parameters, ...)                              \
    type name parameters {                                                    \
        static type(*own) parameters;                                         \
        if (!own) own = (type(*) parameters)dlsym(RTLD_NEXT, #name);          \
        return fails(file, known) ? -1 : own(__VA_ARGS__);                    \
    }
CALL(ssize_t, write, "write", (int file, const void *data, size_t size), file, data, size)
CALL(ssize_t, pwrite64, "pwrite", (int file, const void *data, size_t size, off64_t at), file, data, size, at)
CALL(ssize_t, pread64, "pread", (int file, void *data, size_t size, off64_t at), file, data, size, at)
CALL(int, fdatasync, "fdatasync", (int file), file)
CALL(int, fsync, "fsync", (int file), file)
"""
COMPILER = shutil.which("cc") or shutil.which("gcc") or ""


def mounted(place: Path, megabytes: int) -> bool:
    """True if a file system of this size is mounted there now."""
    how = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(place)]
    return subprocess.run(how, capture_output=True, check=False).returncode == 0


def unmount(place: Path) -> None:
    subprocess.run(["umount", "-l", str(place)], check=True)


def _can_mount() -> bool:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        found = mounted(Path(folder), 1)
        if found:
            unmount(Path(folder))
    return found


CAN_MOUNT = _can_mount()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of failing calls."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "faults.c").write_text(FAULTS, encoding="utf-8")
    command = [COMPILER, "-shared", "-fPIC", "-o", folder / "faults.so", folder / "faults.c", "-ldl"]
    subprocess.run(command, check=True)
    return folder / "faults.so"


class Disk:
    """The data folder's disk."""

    def __init__(self, control: Path, met: Path) -> None:
        self._control, self._met = control, met

    @property
    def met(self) -> bool:
        """True if a call was to fail or to take longer."""
        return self._met.exists()

    def fail(self, call: str, number: int) -> None:
        """Let a call fail with an error from now on, or take so many seconds longer."""
        part = self._control.with_suffix(".part")
        part.write_text(f"{call} {number}")
        part.rename(self._control)

    def work(self) -> None:
        """Nothing fails any more."""
        self._control.unlink()


def push(client: httpx2.Client, first: int) -> int:
    """The status of pushing two events."""
    return client.post("/v1/streams/s", content=events(first, "ab"), headers=NQUADS).status_code


def rows(client: httpx2.Client) -> list[str]:
    return client.get("/v1/queries/q/matches?after=0", headers={"Accept": "application/x-ndjson"}).text.splitlines()


def configure(folder: Path) -> str:
    (folder / "q.rq").write_text(QUERY)
    (folder / "spaseq.toml").write_text(CONFIGURATION)
    return str(folder / "spaseq.toml")


@pytest.fixture
def configured(tmp_path: Path) -> str:
    return configure(tmp_path)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: Path) -> Disk:
    """The disk of services that are started from now on."""
    control, met = tmp_path / "control", tmp_path / "met"
    places = {"LD_PRELOAD": library, "FAULTS": control, "FAULTY": tmp_path / "data", "MET": met}
    for name, place in places.items():
        monkeypatch.setenv(name, str(place))
    return Disk(control, met)


def undisturbed(folder: Path, pushes: range) -> list[str]:
    """The rows of a service whose disk works."""
    folder.mkdir()
    with serving(folder, "--config", configure(folder)) as (_, client):
        assert [push(client, first) for first in pushes] == [202] * len(pushes)
        waited(lambda: len(rows(client)) == len(pushes))
        return rows(client)


@pytest.mark.parametrize(
    ("call", "number"),
    COMPILER
    and [
        ("write", errno.EIO),
        ("write", errno.ENOSPC),
        ("write", errno.EDQUOT),
        ("write", errno.EROFS),
        ("fdatasync", errno.EIO),
        ("pwrite", errno.EIO),
        ("pwrite", errno.ENOSPC),
        ("pread", errno.EIO),
    ],
)
def test_calls_of_the_system_that_fail_for_a_while_lose_nothing(
    tmp_path: Path, disk: Disk, configured: str, call: str, number: int
) -> None:
    pushes = range(0, 30, 10)
    with serving(tmp_path, "--config", configured) as (_, client):
        assert push(client, 0) == 202
        disk.fail(call, number)
        answer = push(client, 10)
        assert answer in (202, 503, 507)
        with suppress(httpx2.TimeoutException):  # it waits for the rows, which wait for the disk
            client.post("/v1/snapshot", timeout=1)
        ready = client.get("/readyz")
        assert ready.status_code == 503 or "waiting" in ready.text or answer == 202
        waited(lambda: disk.met)
        disk.work()
        for first in pushes:
            waited(lambda first=first: push(client, first) == 202)
        waited(lambda: len(rows(client)) == len(pushes))
        waited(lambda: client.get("/readyz").json() == {"status": "ready"})
        found = rows(client)
    with serving(tmp_path, "--config", configured) as (_, client):  # after a death, too
        assert rows(client) == found
    assert found == undisturbed(tmp_path / "twin", pushes)


@pytest.mark.parametrize("seconds", [5] if COMPILER else [])
def test_a_sync_that_takes_long_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: Disk, configured: str, seconds: int
) -> None:
    monkeypatch.setenv("FAULTY", str(tmp_path / "data" / "log"))
    with serving(tmp_path, "--config", configured) as (_, client):
        assert push(client, 0) == 202
        disk.fail("fdatasync", -seconds)
        begin = time.monotonic()
        assert push(client, 10) == 202
        assert time.monotonic() - begin >= seconds, "202 means on disk"
        disk.work()
        waited(lambda: len(rows(client)) == 2)
        found = rows(client)
    assert found == undisturbed(tmp_path / "twin", range(0, 20, 10))


@pytest.mark.parametrize("megabytes", [8] if CAN_MOUNT else [])
def test_a_file_system_that_is_full_and_has_room_again_loses_nothing(
    tmp_path: Path, request: pytest.FixtureRequest, configured: str, megabytes: int
) -> None:
    small = tmp_path / "data"
    small.mkdir()
    assert mounted(small, megabytes)
    request.addfinalizer(lambda: unmount(small))
    with serving(tmp_path, "--config", configured) as (_, client):
        assert push(client, 0) == 202
        with open(small / "other.bin", "wb", buffering=0) as other, pytest.raises(OSError, match="No space left"):
            while other.write(bytes(4096)):
                pass
        statuses = {push(client, first) for first in range(10, 60, 10) for _ in range(200)}
        assert statuses <= {202, 503, 507} and 507 in statuses
        (small / "other.bin").unlink()
        for first in range(10, 60, 10):
            waited(lambda first=first: push(client, first) == 202)
        waited(lambda: len(rows(client)) == 6)
        found = rows(client)
    with serving(tmp_path, "--config", configured) as (_, client):
        assert rows(client) == found
    assert found == undisturbed(tmp_path / "twin", range(0, 60, 10))
