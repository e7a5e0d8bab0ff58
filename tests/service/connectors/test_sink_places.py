"""The places of file sinks: never the data folder, never twice one place, and nothing is left of what is refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spaseq.errors import InputError
from spaseq.service.core.outside import Outside
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.http.process import Arguments
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.settings.toml import read_configuration
from tests.service.connectors.test_service import EVENT, QUERY
from tests.waiting import waited

Named = Callable[[Path], Path]


def linked(folder: Path) -> Path:
    (folder / "link").symlink_to(folder / "data" / "log")
    return folder / "link" / "out.ndjson"


def linked_file(folder: Path) -> Path:
    (folder / "out.ndjson").symlink_to(folder / "data" / "new.ndjson")
    return folder / "out.ndjson"


def hard(folder: Path) -> Path:
    (folder / "hard").hardlink_to(folder / "data" / "service.sqlite")
    return folder / "hard"


IN_THE_DATA_FOLDER: dict[str, Named] = {
    "itself": lambda folder: folder / "data",
    "a new file": lambda folder: folder / "data" / "out.ndjson",
    "its log": lambda folder: folder / "data" / "log" / "00000000000000000001-0000.log",
    "upwards": lambda folder: folder / "other" / ".." / "data" / "out.ndjson",
    "upwards from what is not there": lambda folder: folder / "none" / ".." / "data" / "out.ndjson",
    "a folder that is not there": lambda folder: folder / "data" / "none" / "out.ndjson",
    "a linked folder": linked,
    "a linked file": linked_file,
    "a hard link": hard,
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    (tmp_path / "other").mkdir()
    made = Service.open(tmp_path / "data", Limits())
    made.put_stream("s", StreamSettings("urn:power"))
    yield made
    made.close()


def put(service: Service, name: str, *files: Path, text: str = QUERY) -> None:
    service.put_query(name, QueryChanges(text, sinks=tuple(SinkSettings(file=str(file)) for file in files)))


def left(folder: Path, service: Service) -> tuple[list[str], list[str], int, int]:
    """All that a refused request must not change."""
    entries = service._database.transaction
    with entries() as write:
        positions = write.execute("select sink from delivered order by sink").fetchall()
    inodes = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix not in (".log", ""))
    return inodes, [sink for (sink,) in positions], len(service.queries()), service._log.next


@pytest.mark.parametrize("named", IN_THE_DATA_FOLDER.values(), ids=IN_THE_DATA_FOLDER)
def test_a_sink_in_the_data_folder_is_refused(tmp_path: Path, service: Service, named: Named) -> None:
    """On 8b7edbed it was made, and wrote into the log."""
    path = named(tmp_path)
    before = left(tmp_path, service)
    with pytest.raises(Refused, match=r"sinks\[1\]\.file: .* is in the data folder of the service") as refused:
        put(service, "q", tmp_path / "fine.ndjson", path)
    assert refused.value.status == 422
    assert left(tmp_path, service) == before


TWICE: dict[str, Named] = {
    "upwards": lambda folder: folder / "other" / ".." / "out.ndjson",
    "a link": lambda folder: link(folder, Path.symlink_to),
    "a hard link": lambda folder: link(folder, Path.hardlink_to),
}


def link(folder: Path, made: Callable[[Path, Path], None]) -> Path:
    made(folder / "other" / "name", folder / "out.ndjson")
    return folder / "other" / "name"


@pytest.mark.parametrize("named", TWICE.values(), ids=TWICE)
@pytest.mark.parametrize("in_one_request", [False, True])
def test_two_sinks_in_one_place_are_refused(
    tmp_path: Path, service: Service, named: Named, in_one_request: bool
) -> None:
    """On 8b7edbed the second one waited for ever, or wrote into the file of the first after a restart."""
    path = tmp_path / "out.ndjson"
    path.touch()
    again = named(tmp_path)
    if not in_one_request:
        put(service, "p", path)
        put(service, "p", path, text=QUERY + "# again")
    before = left(tmp_path, service)
    with pytest.raises(Refused, match=r"is the file of .* already") as refused:
        put(service, "q", *((path, again) if in_one_request else (again,)))
    assert refused.value.status == 422
    assert left(tmp_path, service) == before
    put(service, "q", tmp_path / "other.ndjson")
    if not in_one_request:
        service.delete_query("p")
    put(service, "q", again)


def test_a_sink_that_an_earlier_release_took_is_not_begun_where_it_may_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Release 0.1.0 took any: the next start says of each why it does not run, and the query runs."""
    inside, out = tmp_path / "data" / "rows.ndjson", tmp_path / "out.ndjson"
    (tmp_path / "other").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(Outside, "_check_files", lambda *_: None)
        earlier = Service.open(tmp_path / "data", Limits())
        earlier.put_stream("s", StreamSettings("urn:power"))
        put(earlier, "p", out, inside)
        put(earlier, "q", link(tmp_path, Path.symlink_to), tmp_path / "more.ndjson")
        earlier.close()
    (tmp_path / "data" / "rows.ndjson").unlink(missing_ok=True)
    service = Service.open(tmp_path / "data", Limits())
    service.accept("s", (EVENT % (1, 0, 1, 1, 1)).encode(), "nquads")
    service.advance("s", "2026-01-01T00:01:00Z")
    waited(lambda: out.exists() and out.read_text() and (tmp_path / "more.ndjson").read_text())
    found = {(name, sink["file"]): sink for name in "pq" for sink in service.query(name)["sinks"]}
    service.close()
    states = {Path(file).name: sink["state"] for (_, file), sink in found.items()}
    assert states == {"out.ndjson": "running", "rows.ndjson": "failed", "name": "failed", "more.ndjson": "running"}
    reasons = [sink["error"] for sink in found.values() if sink["state"] == "failed"]
    assert reasons == [
        f"sinks[1].file: {inside} is in the data folder of the service: name another place",
        f"sinks[0].file: {tmp_path / 'other' / 'name'} is the file of a sink of query 'p' already: name another one",
    ]
    assert not (tmp_path / "data" / "rows.ndjson").exists()


def test_of_a_query_that_is_refused_no_sink_is_left(tmp_path: Path, service: Service) -> None:
    before = left(tmp_path, service)
    with pytest.raises(Refused):
        put(service, "q", tmp_path / "out.ndjson", text="no query")
    assert left(tmp_path, service) == before


def test_a_configuration_with_a_sink_in_the_data_folder_names_file_and_key(tmp_path: Path) -> None:
    declared = f'[streams.power]\niri = "urn:power"\n[queries.all]\ntext = "{QUERY}"\n'
    (tmp_path / "spaseq.toml").write_text(declared + 'sinks = [{ file = "data/out.ndjson" }]\n')
    configuration = read_configuration(tmp_path / "spaseq.toml")
    arguments = Arguments(configuration, tmp_path / "data", "127.0.0.1", 0, False)
    folder = arguments.folder()
    with pytest.raises(InputError, match=r"spaseq\.toml: queries\.all: sinks\[0\]\.file: .* in the data folder"):
        arguments.opened(folder)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_data_folder_is_its_owners_alone(tmp_path: Path, umask: int) -> None:
    data = tmp_path / "data"
    before = os.umask(umask)
    try:
        for _ in range(2):
            service = Service.open(data, Limits())
            service.put_stream("s", StreamSettings("urn:power"))
            put(service, "q", tmp_path / "new.ndjson", tmp_path / "old.ndjson")
            (tmp_path / "old.ndjson").touch()
            (tmp_path / "old.ndjson").chmod(0o640)
            service.accept("s", (EVENT % (1, 0, 1, 1, 1)).encode(), "nquads")
            service.advance("s", "2026-01-01T00:01:00Z")
            service.settled()
            service.snapshot()
            waited((tmp_path / "new.ndjson").exists)
            found = {str(path.relative_to(data)): rights(path) for path in data.rglob("*")}
            assert found.keys() >= {"log", "kb", "lock", "service.sqlite", "service.sqlite-wal", "service.sqlite-shm"}
            for path in (data, *data.rglob("*")):
                assert rights(path) == (0o700 if path.is_dir() else 0o600), path
            assert (rights(tmp_path / "new.ndjson"), rights(tmp_path / "old.ndjson")) == (0o600, 0o640)
            service.close()
            for path in (data, *data.rglob("*")):  # as release 0.1.0 left them
                path.chmod(0o755 if path.is_dir() else 0o644)
    finally:
        os.umask(before)
