"""Files that requests and the configuration name: regular ones of bounded size, of which nothing else is read."""

from __future__ import annotations

import gzip
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spaseq.errors import InputError
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.conversion import SettingsError, declared
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.regular_files import UnusableFile, check_unpacked, pieces_of, text_of
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.settings.toml import read_configuration

LINE = b"<urn:s> <urn:p> <urn:o> .\n"
SPECIAL = ["fifo", "device", "endless device", "folder", "socket", "link to a fifo"]


def special(kind: str, folder: Path) -> Path:
    """A path of something that is no regular file."""
    path = folder / "special.nt"
    match kind:
        case "device":
            return Path("/dev/null")
        case "endless device":
            return Path("/dev/zero")
        case "folder":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(path))
        case "fifo":
            os.mkfifo(path)
        case _:
            os.mkfifo(folder / "fifo")
            path.symlink_to(folder / "fifo")
    return path


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service.open(tmp_path / "data", Limits(kb="1KB"))
    yield made
    made.close()


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_regular_file_is_refused_without_waiting_for_it(kind: str, tmp_path: Path) -> None:
    path = special(kind, tmp_path)
    with pytest.raises(UnusableFile, match="a regular file is expected"):
        next(pieces_of(str(path), 10, "a bound"))
    for settings, key in (({"iri": "urn:k", "path": str(path)}, "path"), ({"iri": "urn:s", "template": str(path)}, "")):
        with pytest.raises(SettingsError, match="a regular file is expected"):
            declared(settings, KnowledgeSettings if key else StreamSettings)
    configuration = tmp_path / "service.toml"
    configuration.write_text(f'[kb.k]\niri = "urn:k"\npath = "{path}"\n')
    with pytest.raises(InputError, match=r"service\.toml: kb\.k\.path: .* a regular file is expected"):
        read_configuration(configuration)


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_service_refuses_a_special_file_as_knowledge_base_and_keeps_the_old_one(
    kind: str, tmp_path: Path, service: Service
) -> None:
    usual = tmp_path / "kb.nt"
    usual.write_bytes(LINE)
    service.put_kb("k", KnowledgeSettings("urn:k", path=str(usual)))
    with pytest.raises(Refused, match="a regular file is expected") as refused:
        service.put_kb("k", KnowledgeSettings("urn:k", path=str(special(kind, tmp_path))))
    assert refused.value.status == 422
    assert service.kb("k")["path"] == str(usual)


@pytest.mark.parametrize("pack", [lambda text: text, gzip.compress], ids=["plain", "gzip"])
def test_a_knowledge_base_over_its_bound_is_refused_and_leaves_nothing(
    pack: Callable[[bytes], bytes], tmp_path: Path, service: Service
) -> None:
    path = tmp_path / ("kb.nt.gz" if pack is gzip.compress else "kb.nt")
    path.write_bytes(pack(LINE * 38))
    assert service.put_kb("fits", KnowledgeSettings("urn:fits", path=str(path)))
    path.write_bytes(pack(LINE * 39))
    with pytest.raises(Refused, match=r"more than 1,000 bytes \(limits\.kb") as refused:
        service.put_kb("k", KnowledgeSettings("urn:k", path=str(path)))
    assert refused.value.status == 422
    assert len(list((tmp_path / "data" / "kb").iterdir())) == 1


def test_a_file_that_grows_while_it_is_read_ends_at_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 900)
    read = 0
    with pytest.raises(UnusableFile, match="more than 1,000 bytes"), path.open("ab", buffering=0) as growing:
        for piece in pieces_of(str(path), 1_000, "a bound"):
            read += len(piece)
            growing.write(b"x" * 90)
    assert read <= 1_000


@pytest.mark.parametrize("pieces", [1, 2, 30])
def test_all_members_of_gzip_count_for_the_bound(pieces: int, tmp_path: Path) -> None:
    path = tmp_path / "many.gz"
    path.write_bytes(gzip.compress(b"a" * 100_000) * pieces)
    check_unpacked(str(path), 100_000 * pieces, "a bound")
    with pytest.raises(UnusableFile, match="after decompression"):
        check_unpacked(str(path), 100_000 * pieces - 1, "a bound")


def test_a_template_has_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "template.trig"
    path.write_text("<urn:a> {}")
    assert text_of(str(path)) == "<urn:a> {}"
    monkeypatch.setattr("spaseq.service.settings.regular_files.TEXT_BYTES_MAX", 9)
    with pytest.raises(UnusableFile, match="more than 9 bytes"):
        text_of(str(path))
