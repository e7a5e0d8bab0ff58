from __future__ import annotations

import pytest

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import BrokenOff
from sparql_gpm.rdf_io import ReadOptions, read_events
from sparql_gpm.reading import blocks, event_builder
from sparql_gpm.reading.event_builder import Malformed
from tests.sparql_gpm.rdf_events import PREFIXES, TIME, events_of, read, stamp

G, H = "<urn:g>", "<urn:h>"
QUAD = "<urn:s> <urn:p> <urn:o> <urn:g> .\n"
QUAD_H = QUAD.replace("urn:g", "urn:h")
XSD = "http://www.w3.org/2001/XMLSchema#"

NO_TIMESTAMP = "a triple in the default graph that is no timestamp"
NO_TIME = "is not a time: expected xsd:dateTime, xsd:dateTimeStamp, xsd:date or a number of seconds"

BAD_LINES = [
    ("<urn:s> <urn:p> <urn:o2> <urn:g>", 33, "syntax", "Triples must be followed by a dot"),
    ('<urn:s> <urn:p> "é" "x" <urn:g> .', 21, "syntax", "The subject of a triple must be an IRI or a blank node"),
    ('<urn:s> <urn:p> "open <urn:g> .', 17, "syntax", "Unexpected end of file"),
    ("<urn:s> <urn:p> <relative> <urn:g> .", 17, "syntax", "No scheme found in an absolute IRI"),
    ("<urn:s> <urn:p> <urn:a b> <urn:g> .", 17, "syntax", "Invalid IRI code point ' '"),
    ("<urn:s> <urn:p> <urn:%zz> <urn:g> .", 17, "syntax", "Invalid IRI percent encoding '%zz'"),
    ('"s" <urn:p> <urn:o> <urn:g> .', 1, "syntax", "The subject of a triple must be an IRI or a blank node"),
    ("<urn:s> _:p <urn:o> <urn:g> .", 9, "syntax", "The predicate of a triple must be an IRI"),
    ("<urn:s> <urn:p> 5 <urn:g> .", 17, "syntax", "The object of a triple must be an IRI, a blank node or a literal"),
    ("garbage\x00", 1, "syntax", "The subject of a triple must be an IRI or a blank node"),
    (
        "<urn:s> <urn:p> <urn:o> <urn:g> . <urn:s> <urn:p> <urn:o> <urn:g> .",
        35,
        "syntax",
        'Only a single triple or quad can be written in a line, found IriRef("urn:s")',
    ),
    (
        f'<urn:s> <urn:p> "x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> {G} .',
        22,
        "syntax",
        "The datatype of a literal without a language tag must not be rdf:langString",
    ),
    (
        "<urn:s> <urn:p> << <urn:s> <urn:p> <urn:o> >> <urn:g> .",
        17,
        "syntax",
        "The object of a triple must be an IRI, a blank node or a literal",
    ),
    (
        '<urn:s> <urn:p> "x"@en--up <urn:g> .',
        25,
        "syntax",
        "The allowed base directions are --ltr and --rtl, found --up",
    ),
    ("<urn:s> <urn:p> <urn:o2> .", 1, "default graph", NO_TIMESTAMP),
    (
        "<urn:s> <urn:p> <urn:o2> . # <urn:g> .",
        1,
        "default graph",
        "a triple in the default graph that is no timestamp",
    ),
]


@pytest.mark.parametrize(("line", "column", "kind", "reason"), BAD_LINES)
def test_a_bad_line_costs_only_itself(line: str, column: int, kind: str, reason: str) -> None:
    events, reports = read(f"{stamp(G, 1)}{QUAD}{line}\n{QUAD.replace('urn:o', 'urn:o3')}")
    assert reports == [Malformed(3, column, reason, line, kind)]
    assert [event.triples for event in events] == [("<urn:s> <urn:p> <urn:o>", "<urn:s> <urn:p> <urn:o3>")]


@pytest.mark.parametrize(("line", "column", "kind", "reason"), BAD_LINES)
def test_a_bad_line_at_the_very_end_is_reported(line: str, column: int, kind: str, reason: str) -> None:
    events, reports = read(f"{stamp(G, 1)}{line}")
    assert reports == [Malformed(2, column, reason, line, kind)]
    assert [event.name for event in events] == ["urn:g"]


def test_bytes_that_are_not_utf8_cost_their_line() -> None:
    bad = b'<urn:s> <urn:p> "\xc3\xa9\xff" <urn:g> .'
    events, reports = read(stamp(G, 1).encode() + bad + b"\n" + QUAD.encode())
    (report,) = reports
    assert (report.line, report.column, report.kind) == (2, 19, "encoding")
    assert report.raw == '<urn:s> <urn:p> "é\\xff" <urn:g> .'
    assert [len(event.triples) for event in events] == [1]


BAD_TIMES = [
    ('"soon"', f"a literal of type <{XSD}string> {NO_TIME}"),
    ("<urn:x>", "it is not a literal"),
    (f'"2026-02-30T00:00:00Z"^^<{XSD}dateTime>', "'2026-02-30T00:00:00Z': there is no such day"),
]


@pytest.mark.parametrize(("written", "reason"), BAD_TIMES)
def test_a_timestamp_that_cannot_be_read_costs_the_event(written: str, reason: str) -> None:
    text = f"{QUAD}{G} {TIME} {written} .\n"
    events, reports = read(text + stamp(H, 1))
    reason = f"the timestamp of graph <urn:g> cannot be read: {reason}"
    assert reports == [Malformed(2, 53, reason, text.removesuffix("\n"), "bad timestamp")]
    assert [event.name for event in events] == ["urn:h"]


def test_two_different_timestamps_cost_the_event() -> None:
    text = stamp(G, 1) + QUAD + stamp(G, 2)
    events, reports = read(text + QUAD_H + stamp(H, 3))
    reason = "graph <urn:g> has two different timestamps, 1970-01-01T00:00:01Z and 1970-01-01T00:00:02Z"
    assert reports == [Malformed(3, 53, reason, text.removesuffix("\n"), "two timestamps")]
    assert [event.name for event in events] == ["urn:h"]


def test_a_timestamp_inside_that_differs_from_the_one_outside_costs_the_event() -> None:
    events, reports = read(stamp(G, 1) + stamp(G, 2).replace(" .", " <urn:g> ."))
    assert events == []
    assert [(report.line, report.kind) for report in reports] == [(2, "two timestamps")]


def test_an_event_without_a_timestamp_is_left_out() -> None:
    events, reports = read(QUAD + QUAD_H + stamp(H, 1))
    reason = "graph <urn:g> has no timestamp"
    assert reports == [Malformed(1, 1, reason, QUAD.removesuffix("\n"), "no timestamp")]
    assert [event.name for event in events] == ["urn:h"]


def test_a_graph_reopened_after_others_loses_its_later_part() -> None:
    events, reports = read(stamp(G, 1) + QUAD + stamp(H, 2) + QUAD_H + QUAD)
    reason = "graph <urn:g> is reopened after others: its triples must stand together"
    assert reports == [Malformed(5, 1, reason, QUAD.removesuffix("\n"), "reopened")]
    assert [(event.name, len(event.triples)) for event in events] == [("urn:g", 1), ("urn:h", 1)]


def test_a_timestamp_that_comes_after_another_event_is_too_late() -> None:
    events, reports = read(QUAD + QUAD_H + stamp(G, 1) + stamp(H, 2))
    assert events == []
    assert [(report.line, report.kind) for report in reports] == [
        (1, "no timestamp"), (2, "no timestamp"), (3, "reopened"), (4, "reopened"),
    ]  # fmt: skip


def test_graphs_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_builder, "CLOSED_GRAPHS_MAX", 2)
    text = "".join(stamp(f"<urn:{i}>", i) for i in (1, 2, 3, 4, 1, 4))
    events, reports = read(text)
    assert [event.name for event in events] == ["urn:1", "urn:2", "urn:3", "urn:4", "urn:1"]
    assert [(report.line, report.kind) for report in reports] == [(6, "reopened")]


def test_nothing_of_the_input_is_lost_silently() -> None:
    lines = [QUAD, "junk\n", QUAD_H, stamp(H, 1), stamp(H, 2), "<urn:s> <urn:p> <urn:o> .\n", stamp("<urn:i>", 1), QUAD]
    events, reports = read("".join(lines))
    lost = "\n".join(report.raw for report in reports).split("\n")
    assert [event.name for event in events] == ["urn:i"]
    assert sorted(lost) == sorted(line.removesuffix("\n") for line in lines if line is not lines[6])


BAD_TRIG = [
    # text, (line after the prefixes, column, kind, reason), what is lost, events left
    (
        ":g { :s :p zz:o . }\n:g prov:generatedAtTime 1 .\n:h { :s :p :o }\n:h prov:generatedAtTime 2 .\n",
        [(1, 12, "syntax", "The prefix zz: has not been declared", ":g { :s :p zz:o . }\n:g prov:generatedAtTime 1 .")],
        ["h"],
    ),
    (
        ":g { :s :p } :g prov:generatedAtTime 1 . :h prov:generatedAtTime 1 .",
        [(1, 12, "syntax", "} is not a valid RDF object", ":g { :s :p }\n:g prov:generatedAtTime 1 .")],
        ["h"],
    ),
    (
        ":h prov:generatedAtTime 1 . :h { :s :p :o } é :g { :s :p }",
        [(1, 45, "syntax", "é is not a valid subject or graph name", "é :g { :s :p }")],
        ["h"],
    ),
    (
        ":s :p :o, :o2 .\n:h prov:generatedAtTime 1 .\n",
        [(1, 1, "default graph", "2 triples in the default graph that are no timestamp", ":s :p :o, :o2 .")],
        ["h"],
    ),
    (
        ":h prov:generatedAtTime 1; :p :o .",
        [
            (
                1,
                1,
                "default graph",
                "a triple in the default graph that is no timestamp",
                ":h prov:generatedAtTime 1; :p :o .",
            )
        ],
        ["h"],
    ),
    (
        ":g { <<( :s :p :o )>> :q 1 }\n:g prov:generatedAtTime 1 .\n:h prov:generatedAtTime 1 .",
        [
            (
                1,
                6,
                "syntax",
                "<<( is not a valid RDF subject",
                ":g { <<( :s :p :o )>> :q 1 }\n:g prov:generatedAtTime 1 .",
            )
        ],
        ["h"],
    ),
    (
        ':g { :s :p "x\n" }\n:h prov:generatedAtTime 1 .',
        [(1, 14, "syntax", "Line jumps are not allowed in string literals, use \\n", ':g { :s :p "x\n" }')],
        ["h"],
    ),
    (
        ':h prov:generatedAtTime 1 .\n:g { :s :p """never ends }\n:i prov:generatedAtTime 1 .\n',
        [(2, 12, "syntax", "Unexpected end of file", ':g { :s :p """never ends }\n:i prov:generatedAtTime 1 .\n')],
        ["h"],
    ),
    ("} :h prov:generatedAtTime 1 .", [(1, 1, "syntax", "} is not a valid subject or graph name", "}")], ["h"]),
    (
        "# about g\n  :g {}\n:h prov:generatedAtTime 1 .",
        [(2, 1, "no timestamp", "graph <http://ex.org/g> has no timestamp", ":g {}")],
        ["h"],
    ),
    (
        ":g {}\n:g prov:generatedAtTime 1 .\r\n:g prov:generatedAtTime 2 .\r\n:h prov:generatedAtTime 1 .",
        [
            (
                3,
                1,
                "two timestamps",
                "graph <http://ex.org/g> has two different timestamps, 1970-01-01T00:00:01Z and 1970-01-01T00:00:02Z",
                ":g {}\n:g prov:generatedAtTime 1 .\n:g prov:generatedAtTime 2 .",
            )
        ],
        ["h"],
    ),
    (
        ":g prov:generatedAtTime 1 .\n:g { :s :p :o .\n:x prov:generatedAtTime 2 .\n"
        ":x { :s :p :o }\n:h prov:generatedAtTime 3 .\n:h { :s :p :o }\n",
        [
            (
                4,
                1,
                "syntax",
                "Unexpected end",
                ":g prov:generatedAtTime 1 .\n:g { :s :p :o .\n:x prov:generatedAtTime 2 .\n",
            ),
            (4, 1, "no timestamp", "graph <http://ex.org/x> has no timestamp", ":x { :s :p :o }"),
        ],
        ["h"],
    ),
]


@pytest.mark.parametrize(("text", "lost", "left"), BAD_TRIG)
def test_a_bad_piece_of_trig_costs_its_event(
    text: str, lost: list[tuple[int, int, str, str, str]], left: list[str]
) -> None:
    events, reports = read(PREFIXES + text, "trig")
    before = PREFIXES.count("\n")
    assert [(r.line - before, r.column, r.kind, r.reason, r.raw) for r in reports] == lost
    assert [event.name for event in events] == [f"http://ex.org/{name}" for name in left]


def test_trig_that_is_not_utf8_costs_its_event() -> None:
    events, reports = read((PREFIXES + ':g { :s :p "').encode() + b'\xff" }\n:h prov:generatedAtTime 1 .', "trig")
    assert [(report.line, report.column, report.kind) for report in reports] == [(4, 13, "encoding")]
    assert [event.name for event in events] == ["http://ex.org/h"]


@pytest.mark.parametrize(
    ("text", "line", "column", "kind"),
    [
        (":s :p :o", 4, 9, "syntax"),
        (":s :p :o .", 1, 1, "no timestamp"),
        (":s prov:generatedAtTime 1, 2 .", 1, 1, "two timestamps"),
        (":s prov:generatedAtTime :x .", 1, 1, "bad timestamp"),
        (":s :p <<( :a :b )>> ; prov:generatedAtTime 1 .", 4, 17, "syntax"),
        ("", 1, 1, "no timestamp"),
    ],
)
def test_a_malformed_turtle_document_is_one_lost_event(text: str, line: int, column: int, kind: str) -> None:
    events, reports = read(PREFIXES + text, "turtle")
    assert events == []
    assert [(report.line, report.column, report.kind, report.raw) for report in reports] == [
        (line, column, kind, PREFIXES + text)
    ]


@pytest.mark.parametrize("bad", ["<urn:s> <urn:p> <o> .", "<urn:s> <urn:p> <urn:o> <urn:g> .", "\x00"])
def test_a_bad_line_of_ntriples_costs_only_itself(bad: str) -> None:
    events, reports = read(f"{bad}\n{stamp(G, 1)}<urn:s> <urn:p> <urn:o> .\n", "ntriples")
    assert [(report.line, report.kind, report.raw) for report in reports] == [(1, "syntax", bad)]
    assert [len(event.triples) for event in events] == [2]


class BreakingOff:
    """A stream that fails after its data."""

    def __init__(self, data: bytes) -> None:
        self._pieces = iter([data])

    def read(self, size: int, /) -> bytes:
        for piece in self._pieces:
            return piece
        raise BrokenOff("the tape tore")


@pytest.mark.parametrize("rdf_format", ["nquads", "trig", "turtle", "ntriples"])
def test_input_that_breaks_off_is_reported_and_its_last_event_left_out(rdf_format: str) -> None:
    data = stamp(G, 1) + stamp(H, 2) if rdf_format in ("nquads", "trig") else stamp(G, 1)
    reports: list[Malformed] = []
    dictionary = Dictionary()
    batches = read_events(BreakingOff(data.encode()), rdf_format, dictionary, ReadOptions(), reports.append)
    names = [event.name for event in events_of(batches, dictionary)]
    assert names == (["urn:g"] if rdf_format in ("nquads", "trig") else [])
    assert [report.kind for report in reports] == ["truncated", "truncated"]
    assert reports[0].reason == "the input breaks off: the tape tore"
    assert stamp(H if names else G, 2 if names else 1).strip() in reports[1].raw


def test_a_trig_block_longer_than_the_bound_is_reported_and_the_stream_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    block = "<urn:g> {\n" + "<urn:s> <urn:p> <urn:o> .\n" * 20 + "}\n"
    events, reports = read(
        stamp(H, 1) + block + stamp("<urn:i>", 2) + "<urn:i> { }\n", "trig", ReadOptions(line_bytes_max=200)
    )
    assert [event.name for event in events] == ["urn:h", "urn:i"]
    assert [(report.kind, report.line) for report in reports] == [("too long", 2), ("too long", 2)]
    assert reports[0].raw == block.strip()
    assert all("urn:h" not in report.raw for report in reports)


DEEP = f"<urn:s> <urn:p> {'<<( <urn:s> <urn:p> ' * 100_000}<urn:o>{' )>>' * 100_000}"


@pytest.mark.parametrize(
    ("rdf_format", "text", "column"),
    [
        ("nquads", f"{DEEP} {G} .\n", 2017),
        ("trig", f"{G} {{ {DEEP} }}\n", 2017 + len(f"{G} {{ ")),
        ("turtle", f"{DEEP} .\n", 2017),
        ("ntriples", f"{DEEP} .\n", 2017),
    ],
)
def test_triple_terms_that_are_too_deep_for_a_parser_are_malformed(rdf_format: str, text: str, column: int) -> None:
    events, reports = read(text, rdf_format)
    assert events == []
    reason = "triple terms more than 100 deep"
    assert [(report.line, report.column, report.kind, report.reason) for report in reports][:1] == [
        (1, column, "syntax", reason)
    ]


@pytest.mark.parametrize("rdf_format", ["nquads", "ntriples", "turtle", "trig"])
def test_a_version_may_be_said(rdf_format: str) -> None:
    graph = f" {G}" if rdf_format == "nquads" else ""
    stated = f"VERSION \"1.2\"\n{stamp(G, 1)}VERSION '1.2' # again\n<urn:s> <urn:p> <urn:o>{graph} .\n"
    if rdf_format == "trig":
        stated = f'@version "1.2" .\nVERSION "1.2"\nPREFIX : <urn:>\n{stamp(G, 1)}VERSION "1.2"\n{G} {{ :s :p :o }}\n'
    events, reports = read(stated, rdf_format)
    assert reports == []
    assert [event.time for event in events] == [1_000_000_000]
