"""The formats of streams, and the files that a PATH means."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparql_gpm import rdf_io
from spaseq.inputs.arrow import lines_of
from spaseq.inputs.formats import FORMATS, format_of
from spaseq.inputs.paths import files_of, input_bytes, input_files


def test_every_format_has_a_reader_and_every_reader_a_format() -> None:
    assert list(FORMATS) == list(rdf_io.FORMATS)


@pytest.mark.parametrize(
    ("path", "name"),
    [("a.nq", "nquads"), ("b/a.TRIG.GZ", "trig"), ("a.ttl.gz", "turtle"), ("a.nt", "ntriples"), ("a.gz", None)],
)
def test_the_suffix_of_a_file_says_its_format(path: str, name: str | None) -> None:
    assert format_of(path) == name


def test_a_path_means_the_same_files_wherever_it_is_used(tmp_path: Path) -> None:
    for name in ("b.nq", "a.ttl.gz", "notes.txt"):
        (tmp_path / name).write_text("12345")
    (tmp_path / "folder.nq").mkdir()
    every = [str(tmp_path / name) for name in ("a.ttl.gz", "b.nq", "notes.txt")]
    assert files_of(str(tmp_path)) == files_of(f"{tmp_path}/*") == every
    assert [file.path for file in input_files(str(tmp_path))] == every[:2]
    assert input_bytes([str(tmp_path), every[0], "-", str(tmp_path / "missing.nq")]) == 20


def test_quads_in_columns_keep_the_time_of_each_event_and_events_without_quads() -> None:
    quads = [
        ("urn:a", "<urn:s>", "urn:p", '"1"', 5),
        ("urn:a", "_:b", "urn:p", "urn:o", 5),
        ("urn:b", None, None, None, '"x"^^<urn:t>'),
    ]
    assert list(lines_of(quads, "urn:time")) == [
        '<urn:a> <urn:time> "1970-01-01T00:00:05Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n',
        '<urn:s> <urn:p> "1" <urn:a> .\n',
        "_:b <urn:p> <urn:o> <urn:a> .\n",
        '<urn:b> <urn:time> "x"^^<urn:t> .\n',
    ]
