from __future__ import annotations

import hashlib
import io
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions, read_events
from sparql_gpm.reading import blocks
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.reading.raw_text import RAW_BYTES_MAX, RawText
from sparql_gpm.terms import Literal
from tests.sparql_gpm.rdf_events import TIME, events_of, read, stamp

MIB = 1 << 20
G, H = "<urn:g>", "<urn:h>"
TEXT = f"{'x' * 1020}é\\n" * (17 << 10)
VALUE = TEXT.replace("\\n", "\n")


def long_literals(written: str) -> Iterator[tuple[str, str]]:
    """Documents with one event whose object is the literal; with Turtle's long quotes where they can stand."""
    triple = f"<urn:s> <urn:p> {written}"
    yield "nquads", f"{stamp(G, 1)}{triple} {G} .\n{stamp(H, 2)}"
    yield "trig", f"{stamp(G, 1)}{G} {{ {triple} . }}\n{stamp(H, 2)}"
    yield "turtle", f"{stamp('<urn:x>', 1)}{triple} .\n"
    yield "ntriples", f"{stamp('<urn:x>', 1)}{triple} .\n"


@pytest.mark.parametrize(
    ("rdf_format", "suffix"),
    [
        ("nquads", "^^<urn:t>"), pytest.param("trig", "@en", marks=pytest.mark.thorough), ("turtle", "^^<urn:t>"),
        pytest.param("ntriples", "", marks=pytest.mark.thorough),
    ],
)  # fmt: skip
def test_a_literal_above_16_mib_is_read(rdf_format: str, suffix: str) -> None:
    document = dict(long_literals(f'"{TEXT}"{suffix}'))[rdf_format]
    reports: list[Malformed] = []
    dictionary = Dictionary()
    (batch,) = read_events(io.BytesIO(document.encode()), rdf_format, dictionary, ReadOptions(), reports.append)
    assert reports == []
    terms = [dictionary.term(int(identifier)) for identifier in batch.objects]
    language = suffix[1:] if suffix.startswith("@") else ""
    literal = next(term for term in terms if isinstance(term, Literal) and len(term.lexical) > MIB)
    assert (literal.lexical == VALUE, literal.language) == (True, language)


def test_a_long_string_of_several_lines_is_read_in_trig() -> None:
    body = f"one\ntwo '\"' \\\"{'x' * 1000}\n" * (17 << 10)
    events, reports = read(f'{stamp(G, 1)}{G} {{ <urn:s> <urn:p> """{body}""" . }}\n{stamp(H, 2)}', "trig")
    assert reports == []
    assert [event.name for event in events] == ["urn:g", "urn:h"]


@pytest.mark.parametrize("bad", ["\\q", "\\uD800", "\\U00110000"])
def test_a_bad_escape_in_a_long_string_is_malformed(bad: str) -> None:
    line = f'<urn:s> <urn:p> "{TEXT}{bad}" {G} .'
    events, reports = read(stamp(H, 1) + line + "\n" + stamp("<urn:i>", 2))
    assert [event.name for event in events] == ["urn:h", "urn:i"]
    assert [(report.kind, report.line) for report in reports] == [("syntax", 2)]


@pytest.mark.parametrize(
    ("rdf_format", "begin", "end"), [("nquads", stamp(G, 2), f" {G} .\n"), ("trig", f"{stamp(G, 2)}{G} {{ ", " . }\n")]
)
def test_an_iri_above_16_mib_is_malformed(rdf_format: str, begin: str, end: str) -> None:
    iri = f"<urn:é{'x' * (17 * MIB)}>"
    events, reports = read(f"{stamp(H, 1)}{begin}<urn:s> <urn:p> {iri}{end}{stamp('<urn:i>', 2)}", rdf_format)
    assert [event.name for event in events if event.name != "urn:g"] == ["urn:h", "urn:i"]
    assert [report.reason for report in reports] == ["a term of more than 16 MiB that is no literal"]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("block_bytes", [64, 1 << 20])
def test_a_line_that_is_too_long_is_left_out_and_nothing_else(
    compiled: bool, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    long = f'<urn:s> <urn:p> "{"x" * 500}" {G} .'
    lines = [stamp(G, 1), f"<urn:s> <urn:p> <urn:o> {G} .\n", long + "\n", stamp(H, 2), long.replace(G, H)]
    events, reports = read("".join(lines), "nquads", ReadOptions(line_bytes_max=200, compiled=compiled))
    assert [(event.name, len(event.triples)) for event in events] == [("urn:g", 1), ("urn:h", 0)]
    reason = f"a line of {len(long)} bytes: longer than --max-line allows"
    assert reports == [Malformed(line, 1, reason, text, "too long") for line, text in ((3, long), (5, lines[-1]))]


@pytest.mark.parametrize("rdf_format", ["turtle", "ntriples"])
def test_a_document_of_one_event_that_is_too_long_is_left_out(rdf_format: str) -> None:
    document = stamp("<urn:x>", 1) + "<urn:s> <urn:p> <urn:o> .\n" * 10
    events, (report,) = read(document, rdf_format, ReadOptions(line_bytes_max=200))
    assert events == []
    assert (report.kind, report.raw) == ("too long", document)


def test_input_that_is_left_out_is_reported_in_bounded_size() -> None:
    nuls = bytes(5 * MIB)
    events, (report,) = read(stamp(G, 1).encode() + nuls + b"\n" + stamp(H, 2).encode())
    assert [event.name for event in events] == ["urn:g", "urn:h"]
    assert (report.raw, report.raw_length) == ("\0" * RAW_BYTES_MAX, len(nuls))
    assert report.raw_sha256 == hashlib.sha256(nuls).hexdigest()


def test_a_raw_text_is_cut_between_characters() -> None:
    raw = RawText(b"x" * (RAW_BYTES_MAX - 1))
    raw.add("é".encode())
    assert (raw.shown, raw.length) == ("x" * (RAW_BYTES_MAX - 1), RAW_BYTES_MAX + 1)
    assert RawText(b"\xff").shown == "\\xff"


@pytest.mark.thorough
def test_a_graph_block_of_many_blocks_is_cut_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory and processor time of a child process: 4 MiB between long quotes, read in 1 KiB blocks."""
    program = f"""
import io, resource
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from sparql_gpm.reading import blocks
blocks.BLOCK_BYTES = 1024
from tests.sparql_gpm.rdf_events import read
text = '{G} {{ {G} {TIME} 1 ; <urn:p> \"\"\"' + '\\\\n" x\\n' * (4 << 18) + '\"\"\" }}\\n'
events, reports = read(text, "trig")
assert [len(e.triples) for e in events] == [2] and not reports, reports[:1]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_events_around_a_long_line_keep_their_places() -> None:
    text = stamp(G, 1) + "x" * 300 + "\n" + stamp(H, 2)
    reports: list[Malformed] = []
    dictionary = Dictionary()
    options = ReadOptions(line_bytes_max=200)
    events = events_of(
        read_events(io.BytesIO(text.encode()), "nquads", dictionary, options, reports.append), dictionary
    )
    assert [event.name for event in events] == ["urn:g", "urn:h"]
    assert [report.line for report in reports] == [2]
