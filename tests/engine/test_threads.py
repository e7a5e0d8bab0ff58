"""No thread can be seen in rows, their order, counts or dead letters, however the threads take turns."""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.errors import RunError
from spaseq.inputs import streams as inputs
from spaseq.inputs.batches_ahead import BatchesAhead, ReadFaults
from spaseq.inputs.reading import StreamFormat
from spaseq.inputs.streams import SourceBatch, is_read_ahead, open_stream
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.runtime.embedded import network
from tests.drawn import drawn
from tests.driving import comparable
from tests.engine.test_predicate_filter import NOISE, Found, found_by, valid, written
from tests.reference.api import evaluate
from tests.sparql_gpm.rdf_events import stamp
from tests.sparql_gpm.test_nquads_columns import kernels
from tests.strategies.query import queries
from tests.strategies.stream import streams, too_late

BOUND = """PREFIX : <http://ex.org/>
SELECT ?n ?t WITHIN 5 SECONDS SLIDING FROM STREAM S1 <http://ex.org/s1>
{ SEQ(A ; B) DEFINE GPM A ON S1 { ?x ?p ?v BIND(CONCAT("new ", STR(?v)) AS ?n) } DEFINE GPM B ON S1 { ?y ?q ?w }
  BIND(STRLEN(?n) AS ?t) }"""


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads, which take turns at once, whatever the processors; terms are released after each batch."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with (
            kernels(on=True, block_bytes=300),
            mock.patch.object(RunOptions, "reader_threads", count),
            mock.patch.object(inputs, "KEPT_KERNEL_BYTES_MIN", 0),
            mock.patch.object(network, "_TERMS_KEPT_MIN", 1),
        ):
            yield
    finally:
        sys.setswitchinterval(interval)


def found_with(count: int, parsed: Sequence[Query], paths: Mapping[str, str], options: RunOptions) -> tuple[Found, str]:
    """What a run with so many threads finds, and its dead letters."""
    assert options.dead_letter is not None
    with threads(count):
        found = found_by(parsed, paths, options)
    return found, re.sub(r"_:e\d+_", "_:", Path(options.dead_letter).read_text())  # blank nodes have fresh labels


@given(st.data())
@settings(max_examples=drawn(15))
def test_rows_and_their_order_are_those_of_one_thread(data: st.DataObject) -> None:
    texts = [*data.draw(st.lists(queries(), max_size=2)), BOUND]
    parsed = [query for n, text in enumerate(texts) if (query := valid(text, f"q{n}")) and query.register is None]
    arrivals, late = data.draw(streams(8, 20)), data.draw(st.booleans())
    most = data.draw(st.sampled_from([0, 9]))
    noise = st.lists(st.tuples(st.integers(0, 19), st.sampled_from(NOISE)), max_size=most)
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, events in arrivals.items():
            if any(stream.name == name for query in parsed for stream in query.streams):
                path = Path(folder, f"{name}.nq")
                path.write_text(written(data.draw(too_late(events)) if late else events, data.draw(noise)))
                paths[name] = str(path)
                note(path.read_text())
        letters, strict = str(Path(folder, "letters")), data.draw(st.booleans())
        options = RunOptions(
            batch_events=data.draw(st.integers(1, 9)), compiled=False, dead_letter=letters, strict=strict
        )
        expected = found_with(1, parsed, paths, options)
        for count in (2, 3):
            assert found_with(count, parsed, paths, options) == expected
    (rows, counts, _, _), _ = expected
    if not late and not most and not counts["dead_letters"]:
        for query, own in zip(parsed, rows, strict=True):
            declared = {s.name: arrivals[s.name] for s in query.streams}
            assert Counter(own) == Counter(map(comparable, evaluate(query, declared)))


def events(path: Path, count: int, bad: int = -1) -> str:
    lines = [stamp(f"<urn:{n}>", n) + f'<urn:s> <urn:p> "{n}" <urn:{n}> .\n' for n in range(count)]
    if bad >= 0:
        lines[bad] += f"junk <urn:{bad}> .\n"
    path.write_text("".join(lines))
    return str(path)


def test_batches_are_read_ahead_and_their_faults_are_told_with_them(tmp_path: Path) -> None:
    dictionary, told = Dictionary(), list[tuple[str, Malformed]]()
    faults = ReadFaults(lambda source, fault: told.append((source, fault)))
    path = events(tmp_path / "s.nq", 9, bad=4)
    source = open_stream(path, "S", dictionary, faults.note, ReadOptions(batch_events=3, compiled=True))
    seen: list[tuple[int, int]] = []
    with kernels(on=True), ThreadPoolExecutor(1) as thread:
        ahead = BatchesAhead(source, faults)
        assert ahead.live_ids() == []
        for batch in ahead:
            ahead.read_on(thread)
            ahead.read_on(thread)
            columns = ahead.live_ids()
            seen.append((len(batch), len(told)))
            assert dictionary.retain(columns) >= 0
            assert all((column > 0).all() for column in columns)
    assert seen == [(3, 0), (3, 1), (3, 1)]
    assert told[0][1].line == 11


def test_an_error_of_the_reader_comes_after_the_batch_before_it() -> None:
    def source() -> Iterator[SourceBatch]:
        yield mock.Mock(spec=SourceBatch)
        raise RunError("the end")

    with ThreadPoolExecutor(1) as thread:
        ahead = BatchesAhead(source(), ReadFaults(mock.Mock()))
        next(ahead)
        ahead.read_on(thread)
        assert ahead.live_ids() == []
        with pytest.raises(RunError, match="the end"):
            next(ahead)


def test_a_job_reads_ahead_where_terms_are_in_arrays_and_ends_its_thread(tmp_path: Path) -> None:
    path = events(tmp_path / "s.nq", 60)
    query = parse(BOUND, "q")
    with (
        threads(2),
        mock.patch.object(BatchesAhead, "read_on", autospec=True, side_effect=BatchesAhead.read_on) as read,
    ):
        run = Job([query], {"S1": path}, options=RunOptions(batch_events=10))
        pieces = run.rows()
        for _ in range(3):
            next(pieces)
        run.close()
    assert read.call_count >= 1
    assert run._thread is not None and run._thread._shutdown  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "text", "ahead"), [("s.nq", "x" * 50, True), ("s.nq", "x", False), ("s.ttl", "x" * 50, False)]
)
def test_long_files_of_nquads_are_read_ahead(tmp_path: Path, name: str, text: str, ahead: bool) -> None:
    path = tmp_path / name
    path.write_text(text)
    with mock.patch.object(inputs, "KEPT_KERNEL_BYTES_MIN", 20):
        assert is_read_ahead(str(path), StreamFormat()) == ahead
        assert not is_read_ahead("-", replace(StreamFormat(), name="nquads"))
