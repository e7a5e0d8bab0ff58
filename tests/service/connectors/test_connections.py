"""Sources and sinks at work beside a core: what is put, changed and ended, and what is said of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spaseq.errors import InputError
from spaseq.service.connections.connections import Connections
from spaseq.service.errors import Refused
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sinks.feed import SinkPosition
from tests.service.connectors.ends import quads
from tests.waiting import waited


class MemoryCore:
    """The calls of the core over dictionaries; `refused` is raised by the next bodies."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.position = b""
        self.refused: Refused | None = None
        self.lines: list[str] = []
        self.oldest = 1
        self.positions: dict[str, SinkPosition] = {}
        self._told: list[Callable[[], None]] = []

    def accept_from(self, stream: str, body: bytes, body_format: str, position: bytes) -> object:
        if self.refused is not None:
            raise self.refused
        self.bodies.append(body)
        self.position = position
        return None

    def source_position(self, stream: str) -> bytes:
        return self.position

    def find(self, count: int) -> None:
        self.lines += [json.dumps({"n": n}) for n in range(len(self.lines) + 1, len(self.lines) + count + 1)]
        for notify in [*self._told]:
            notify()

    def rows(self, name: str, after: int | None, limit: int) -> list[tuple[int, str]]:
        first = after or 0
        if first + 1 < self.oldest:
            raise Refused(410, "Gone", "past retention", members={"oldest": self.oldest})
        return list(enumerate(self.lines[first : first + limit], first + 1))

    def newest_row(self, name: str) -> int:
        return len(self.lines)

    def on_rows(self, name: str, notify: Callable[[], None]) -> Callable[[], None]:
        self._told.append(notify)
        return lambda: self._told.remove(notify)

    def sink_position(self, name: str, sink: str) -> SinkPosition:
        return self.positions.get(sink, SinkPosition())

    def store_sink_position(self, name: str, sink: str, position: SinkPosition) -> None:
        self.positions[sink] = position


@pytest.fixture
def running() -> Iterator[tuple[MemoryCore, Connections]]:
    core = MemoryCore()
    connections = Connections(core)
    yield core, connections
    connections.close()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("spaseq-conn")]


def test_a_source_is_put_changed_and_ended(running: tuple[MemoryCore, Connections], tmp_path: Path) -> None:
    core, connections = running
    first, second = SourceSettings(files=str(tmp_path / "a.nq")), SourceSettings(files=str(tmp_path / "b.nq"))
    connections.put_source("s", first)
    waited(lambda: connections.source("s") == {"state": "waiting", "error": "there is no such file"})
    (tmp_path / "a.nq").write_bytes(b"".join(quads(0, 3)))
    waited(lambda: len(core.bodies) == 1)
    assert connections.source("s") == {"state": "running"}
    connections.put_source("s", first)
    (tmp_path / "b.nq").write_bytes(b"".join(quads(10, 12)))
    connections.put_source("s", second)
    waited(lambda: len(core.bodies) == 2)
    assert core.bodies == [b"".join(quads(0, 2)), b"".join(quads(10, 11))]
    connections.put_source("s", None)
    assert connections.source("s") == {}


@pytest.mark.parametrize(("status", "state"), [(429, "waiting"), (507, "waiting"), (400, "failed")])
def test_what_the_core_refuses_is_tried_again(
    running: tuple[MemoryCore, Connections], tmp_path: Path, status: int, state: str
) -> None:
    core, connections = running
    core.refused = Refused(status, "No", "the reason")
    (tmp_path / "a.nq").write_bytes(b"".join(quads(0, 3)))
    connections.put_source("s", SourceSettings(files=str(tmp_path / "a.nq")))
    waited(lambda: connections.source("s") == {"state": state, "error": "the reason"})
    core.refused = None
    waited(lambda: core.bodies == [b"".join(quads(0, 2))])


def test_sinks_are_put_and_ended_and_say_how_far_they_are(
    running: tuple[MemoryCore, Connections], tmp_path: Path
) -> None:
    core, connections = running
    core.find(3)
    core.oldest = 2
    first, second = (SinkSettings(file=str(tmp_path / name)) for name in "ab")
    connections.put_sinks("q", (first, second))
    waited(lambda: len(core.positions) == 2)
    connections.put_sinks("q", (second,))
    core.find(2)
    waited(lambda: core.positions[second.key].n == 5)
    assert (tmp_path / "a").read_text() == '{"n": 2}\n{"n": 3}\n'
    assert (tmp_path / "b").read_text() == '{"n": 2}\n{"n": 3}\n{"n": 4}\n{"n": 5}\n'
    assert connections.sinks("q", (second,))[0] == {
        "file": str(tmp_path / "b"), "state": "running", "n": 5,
    } | {key: value for key, value in connections.sinks("q", (second,))[0].items() if key == "error"}  # fmt: skip
    connections.put_sinks("q", (first, second))
    waited(lambda: core.positions[first.key].n == 5)


def test_what_is_missing_is_said_before_anything_changes(
    running: tuple[MemoryCore, Connections], tmp_path: Path
) -> None:
    _, connections = running
    connections.put_source("s", SourceSettings(files=str(tmp_path / "a.nq")))
    with pytest.raises(InputError, match="NO_SUCH_TOKEN is not set"):
        connections.put_source("s", SourceSettings(sse="http://127.0.0.1:1/", token="NO_SUCH_TOKEN"))
    with pytest.raises(InputError, match="NO_SUCH_TOKEN is not set"):
        connections.check("q", sinks=(SinkSettings(webhook="http://127.0.0.1:1/", token="NO_SUCH_TOKEN"),))
    waited(lambda: connections.source("s").get("error") == "there is no such file")
