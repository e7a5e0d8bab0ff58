from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from spaseq.runtime.dead_letter import DeadLetters
from spaseq.runtime.feed import feed
from spaseq.runtime.merge import Merger
from spaseq.runtime.sources import SourceBatch, open_stream, report_late
from tests.runtime.plain_events import batch_of, events
from tests.sparql_gpm.rdf_events import stamp


def cut(times: list[int], sizes: int, stream: int) -> Iterator[EventBatch]:
    for begin in range(0, len(times), sizes):
        yield batch_of(times[begin : begin + sizes], begin, stream)


def nothing_late(stream: int, batch: EventBatch, late: Ids) -> None:
    raise AssertionError((stream, late))


@given(st.lists(st.lists(st.integers(0, 50), max_size=30).map(sorted), min_size=1, max_size=4), st.integers(1, 5))
def test_all_events_come_in_merged_order(streams: list[list[int]], size: int) -> None:
    merger = Merger(len(streams))
    readers = {stream: cut(times, size, stream) for stream, times in enumerate(streams)}
    found = [event for batch in feed(readers, merger, nothing_late) for event in events(batch)]
    expected = sorted((time, stream, i) for stream, times in enumerate(streams) for i, time in enumerate(times))
    assert found == [(time, f"{stream}:{i}") for time, stream, i in expected]
    assert len(merger) == 0


def test_little_waits_when_long_streams_are_merged() -> None:
    merger = Merger(2)
    readers = {0: cut(list(range(0, 3000, 3)), 10, 0), 1: cut(list(range(1000)), 10, 1)}
    waiting = [len(merger) for _ in feed(readers, merger, nothing_late)]
    assert max(waiting[:60]) <= 40


def test_late_events_are_told_with_their_batch() -> None:
    told: list[tuple[int, list[str]]] = []

    def on_late(stream: int, batch: EventBatch, late: Ids) -> None:
        told.append((stream, [batch.names[i] for i in late.tolist()]))

    batches = list(feed({0: iter([batch_of([5, 1, 6, 2])])}, Merger(1), on_late))
    assert [event for batch in batches for event in events(batch)] == [(5, "0:0"), (6, "0:2")]
    assert told == [(0, ["0:1", "0:3"])]


def test_a_stream_without_a_reader_is_left_to_the_caller() -> None:
    merger = Merger(2)
    batches = list(feed({0: iter([batch_of([1, 2])])}, merger, nothing_late))
    assert batches == []
    merger.close(1)
    assert events(merger.ready()) == [(1, "0:0"), (2, "0:1")]


def test_late_events_of_files_become_dead_letters(tmp_path: Path) -> None:
    (tmp_path / "a.nq").write_text(stamp("<urn:1>", 9) + stamp("<urn:2>", 3) + '<urn:s> <urn:p> "x" <urn:2> .\n')
    dictionary = Dictionary()
    with DeadLetters(tmp_path / "dead.ndjson") as letters:

        def on_late(stream: int, batch: SourceBatch, late: Ids) -> None:
            report_late("S", batch, late, dictionary, letters)

        reader = open_stream(str(tmp_path / "a.nq"), "S", dictionary, letters)
        assert [list(batch.names) for batch in feed({0: reader}, Merger(1), on_late)] == [["urn:1"]]
        assert letters.counts == {"late": 1}
    again = open_stream("-", "S", dictionary, DeadLetters(), standard_input=io.BytesIO(_raw(tmp_path).encode()))
    (batch,) = again
    assert (list(batch.events.names), batch.events.times.tolist(), len(batch.events.subjects)) == (
        ["urn:2"],
        [3 * 10**9],
        1,
    )


def _raw(folder: Path) -> str:
    (line,) = (folder / "dead.ndjson").read_text().splitlines()
    letter = json.loads(line)
    assert list(letter) == ["stream", "source", "line", "column", "reason", "raw"]
    assert (letter["stream"], letter["source"], letter["line"]) == ("S", str(folder / "a.nq"), 2)
    assert letter["reason"] == "late"
    raw = letter["raw"]
    assert isinstance(raw, str)
    return raw
