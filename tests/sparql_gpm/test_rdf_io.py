from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import EventReader, ReadOptions, read_events
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.terms import BlankNode
from tests.sparql_gpm.rdf_events import PREFIXES, TIME, Event, events_of, read, stamp

G, H = "<urn:g>", "<urn:h>"
QUAD_G, QUAD_H = "<urn:s> <urn:p> <urn:o> <urn:g> .\n", "<urn:s> <urn:p> <urn:o> <urn:h> .\n"
TRIPLE = "<urn:s> <urn:p> <urn:o>"
SECOND = 10**9


def only(text: str | bytes, rdf_format: str = "nquads", options: ReadOptions | None = None) -> Event:
    events, reports = read(text, rdf_format, options)
    assert reports == []
    (event,) = events
    return event


def test_a_timestamp_may_stand_right_before_the_quads() -> None:
    assert only(stamp(G, 5) + QUAD_G) == Event("urn:g", 5 * SECOND, (TRIPLE,))


def test_a_timestamp_may_stand_right_after_the_quads() -> None:
    assert only(QUAD_G + stamp(G, 5)) == Event("urn:g", 5 * SECOND, (TRIPLE,))


def test_a_timestamp_inside_the_graph_stays_one_of_its_triples() -> None:
    line = stamp(G, 5).replace(" .", " <urn:g> .")
    event = only(QUAD_G + line)
    assert event.time == 5 * SECOND
    assert event.triples == (TRIPLE, stamp(G, 5).removesuffix(" .\n"))


def test_a_time_triple_about_something_else_in_another_graph_is_no_timestamp() -> None:
    events, reports = read(stamp(H, 5).replace(" .", " <urn:g> .") + QUAD_H)
    assert [(event.name, event.time) for event in events] == [("urn:g", 5 * SECOND)]
    assert [report.kind for report in reports] == ["no timestamp"]


def test_a_graph_with_a_timestamp_and_no_triple_is_an_event() -> None:
    assert only(stamp(G, 5)) == Event("urn:g", 5 * SECOND, ())


def test_the_same_time_stated_twice_is_one_timestamp() -> None:
    again = f'{G} {TIME} "1970-01-01T00:00:05Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    assert only(stamp(G, 5) + QUAD_G + again).time == 5 * SECOND


def test_events_follow_each_other_whatever_the_place_of_their_timestamps() -> None:
    events, reports = read(stamp(G, 1) + QUAD_G + QUAD_H + stamp(H, 2) + stamp("<urn:i>", 3))
    assert reports == []
    assert [(event.name, len(event.triples)) for event in events] == [("urn:g", 1), ("urn:h", 1), ("urn:i", 0)]


def test_the_same_time_on_two_events_keeps_their_order() -> None:
    events, _ = read(stamp(H, 1) + QUAD_H + stamp(G, 1) + QUAD_G)
    assert [event.name for event in events] == ["urn:h", "urn:g"]


def test_other_time_predicates_can_be_named() -> None:
    options = ReadOptions(time_predicates=("urn:at", "urn:when"))
    assert (
        only('<urn:g> <urn:when> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .\n', options=options).time
        == 7 * SECOND
    )


def test_arrival_time_needs_no_timestamp_and_overrides_one() -> None:
    ticks = iter([100, 200])
    options = ReadOptions(arrival_time=lambda: next(ticks))
    events, reports = read(QUAD_G + stamp(H, 1) + QUAD_H + stamp(H, 2), options=options)
    assert reports == []
    assert [(event.name, event.time, event.triples) for event in events] == [
        ("urn:g", 100, (TRIPLE,)),
        ("urn:h", 200, (TRIPLE,)),
    ]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('"14.0"^^<http://www.w3.org/2001/XMLSchema#double>', None),
        ('"01"^^<http://www.w3.org/2001/XMLSchema#integer>', None),
        ('"007"^^<http://www.w3.org/2001/XMLSchema#long>', None),
        ('"2026-01-01T00:00:00.000Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>', None),
        ('"chat"@EN-us', '"chat"@en-us'),
        ('"x"^^<http://www.w3.org/2001/XMLSchema#string>', '"x"'),
        (r'"\u0041\tb\\ \"q\""', '"A\tb\\\\ \\"q\\""'),
        ('"a <urn:x> . b"', None),
        ('"a . # no comment"', None),
        ('"日本 é"', None),
        ('""', None),
        (r"<urn:\u0041>", "<urn:A>"),
        ("<http://ex.org/é?q=1&r=%20#f>", None),
        ("<mailto:a@b.c>", None),
    ],
)
@pytest.mark.parametrize("rdf_format", ["nquads", "trig", "turtle", "ntriples"])
def test_terms_keep_their_lexical_form(written: str, kept: str | None, rdf_format: str) -> None:
    triple = f"<urn:s> <urn:p> {written}"
    texts = {
        "nquads": f"{triple} <urn:g> .\n{stamp(G, 1)}",
        "trig": f"<urn:g> {{ {triple} . }}\n{stamp(G, 1)}",
        "turtle": f"{triple} .\n{stamp(G, 1)}",
        "ntriples": f"{triple} .\n{stamp(G, 1)}",
    }
    assert only(texts[rdf_format], rdf_format).triples[0] == f"<urn:s> <urn:p> {kept or written}"


@pytest.mark.parametrize(
    "line",
    [
        "<urn:s>\t<urn:p>\t<urn:o>\t<urn:g>\t.\n",
        "<urn:s> <urn:p> <urn:o> <urn:g>.\n",
        "  <urn:s>  <urn:p>  <urn:o>  <urn:g> .  # a comment\n",
        "\n# only a comment <urn:x> .\n\n" + QUAD_G,
        QUAD_G.replace("\n", "\r\n"),
        QUAD_G.replace("\n", "\r"),
        QUAD_G.replace("urn:g", r"urn:\u0067"),
        QUAD_G.replace("urn:o", r"urn:\u006F"),
        QUAD_G.removesuffix("\n"),
        "\ufeff" + QUAD_G,
    ],
)
def test_unusual_spelling_of_a_line_changes_nothing(line: str) -> None:
    options = ReadOptions(arrival_time=lambda: 0)
    assert only(line, options=options).triples == (TRIPLE,)
    assert only(QUAD_G.replace("urn:o", "urn:o2") + line.lstrip("\ufeff"), options=options).triples == (
        "<urn:s> <urn:p> <urn:o2>",
        TRIPLE,
    )


def test_a_triple_stated_twice_is_in_the_graph_once() -> None:
    other = QUAD_G.replace("urn:o", "urn:o2")
    assert only(QUAD_G + other + QUAD_G + stamp(G, 1)).triples == (TRIPLE, "<urn:s> <urn:p> <urn:o2>")


def test_the_same_triple_in_two_events_stays_in_both() -> None:
    dictionary = Dictionary()
    text = stamp(G, 1) + QUAD_G + stamp(H, 2) + QUAD_H
    (batch,) = read_events(io.BytesIO(text.encode()), "nquads", dictionary, ReadOptions(), lambda _: None)
    assert batch.distinct() is batch
    assert batch.offsets.tolist() == [0, 1, 2]


@pytest.mark.parametrize("rdf_format", ["nquads", "trig"])
def test_a_blank_node_label_is_local_to_its_event(rdf_format: str) -> None:
    if rdf_format == "nquads":
        lines = [f"_:b <urn:p> _:c {graph} .\n_:b <urn:q> _:b {graph} .\n" for graph in (G, H)]
    else:
        lines = [f"{graph} {{ _:b <urn:p> _:c ; <urn:q> _:b . }}\n" for graph in (G, H)]
    events, reports = read(lines[0] + stamp(G, 1) + lines[1] + stamp(H, 2), rdf_format)
    assert reports == []
    nodes = []
    for event in events:
        (b, _, c), (b_again, _, b_object) = (triple.split(" ") for triple in event.triples)
        assert b == b_again == b_object != c
        nodes += [b, c]
    assert len(set(nodes)) == 4


def test_blank_nodes_of_two_readers_in_one_process_differ() -> None:
    text = "_:b <urn:p> _:b <urn:g> .\n" + stamp(G, 1)
    assert only(text).triples != only(text).triples


def test_events_without_a_graph_iri_are_numbered_from_zero() -> None:
    text = "".join(f"_:g{i} <urn:p> _:g{i} _:g{i} .\n{stamp(f'_:g{i}', i)}" for i in range(3))
    events, reports = read(stamp(G, 0) + text, options=ReadOptions(stream="S1"))
    assert reports == []
    assert [event.name for event in events] == ["urn:g", *(f"urn:spaseq:event:S1:{i}" for i in range(3))]


def test_the_same_blank_graph_label_in_two_documents_is_two_events() -> None:
    dictionary = Dictionary()
    reports: list[Malformed] = []
    reader = EventReader(dictionary, ReadOptions(), reports.append)
    names = []
    for second in range(2):
        for batch in reader.read(io.BytesIO(stamp("_:g", second).encode()), "nquads"):
            names += list(batch.events.names)
    assert (names, reports) == (["urn:spaseq:event:S:0", "urn:spaseq:event:S:1"], [])


@pytest.mark.parametrize("rdf_format", ["turtle", "ntriples"])
def test_a_document_of_triples_is_one_event_timed_by_its_one_time_triple(rdf_format: str) -> None:
    text = f"{TRIPLE} .\n{stamp('<urn:whatever>', 9)}"
    event = only(text, rdf_format)
    assert event.name == "urn:spaseq:event:S:0"
    assert event.time == 9 * SECOND
    assert event.triples == (TRIPLE, stamp("<urn:whatever>", 9).removesuffix(" .\n"))


def test_an_empty_stream_has_no_event() -> None:
    assert read("") == ([], [])
    assert read("# nothing\n\n") == ([], [])
    assert read(PREFIXES, "trig") == ([], [])


def test_batches_hold_at_most_the_events_asked_for() -> None:
    text = "".join(stamp(f"<urn:e{i}>", i) + f"<urn:s> <urn:p> <urn:o{i}> <urn:e{i}> .\n" for i in range(10))
    dictionary = Dictionary()
    options = ReadOptions(batch_events=3)
    batches = read_events(io.BytesIO(text.encode()), "nquads", dictionary, options, lambda _: None)
    assert [len(batch) for batch in batches] == [3, 3, 3, 1]


class Dripping:
    """A live stream that gives a few bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self._pieces: Iterator[bytes] = iter([data[i : i + step] for i in range(0, len(data), step)])

    def read(self, size: int, /) -> bytes:
        return next(self._pieces, b"")


@pytest.mark.parametrize("rdf_format", ["nquads", "trig"])
@pytest.mark.parametrize("step", [1, 7, 64])
@pytest.mark.parametrize("batch_events", [1, 2, 100])
def test_terms_released_between_batches_are_interned_again(rdf_format: str, step: int, batch_events: int) -> None:
    def block(i: int) -> str:
        lines = [f'_:b <urn:p1> "{i % 3}"', "<urn:s> <urn:q1> _:b"]
        if rdf_format == "nquads":
            return "".join(f"{line} <urn:e{i}> .\n" for line in lines) + stamp(f"<urn:e{i}>", i)
        return f"<urn:e{i}> {{ {' . '.join(lines)} . }}\n" + stamp(f"<urn:e{i}>", i)

    text = "".join(block(i) for i in range(12)).encode()
    dictionary = Dictionary()

    def releasing() -> Iterator[object]:
        stream = Dripping(text, step)
        options = ReadOptions(batch_events=batch_events)
        for batch in read_events(stream, rdf_format, dictionary, options, reports.append, live=True):
            yield batch
            dictionary.retain([])

    reports: list[Malformed] = []
    found = events_of(releasing(), dictionary)  # type: ignore[arg-type]
    assert reports == []
    assert [event.name for event in found] == [f"urn:e{i}" for i in range(12)]
    for i, event in enumerate(found):
        first, second = event.triples
        assert first.split(" ")[1:] == ["<urn:p1>", f'"{i % 3}"']
        assert second == f"<urn:s> <urn:q1> {first.split(' ')[0]}"


def test_a_live_stream_gives_out_what_is_complete() -> None:
    pieces = iter([(stamp(G, 1) + QUAD_G + stamp(H, 2)).encode(), b"", b""])
    asked = 0

    class Live:
        def read(self, size: int, /) -> bytes:
            nonlocal asked
            asked += 1
            return next(pieces)

    batches = read_events(Live(), "nquads", Dictionary(), ReadOptions(), lambda _: None, live=True)
    assert list(next(batches).names) == ["urn:g"]
    assert asked == 1
    assert list(next(batches).names) == ["urn:h"]


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="expected one of nquads, trig, turtle, ntriples"):
        list(read_events(io.BytesIO(), "rdfxml", Dictionary(), ReadOptions(), lambda _: None))


def test_a_blank_node_label_can_be_written_again() -> None:
    dictionary = Dictionary()
    text = "_:b-1.x <urn:p> <urn:o> <urn:g> .\n" + stamp(G, 1)
    (batch,) = read_events(io.BytesIO(text.encode()), "nquads", dictionary, ReadOptions(), lambda _: None)
    node = dictionary.term(int(batch.subjects[0]))
    assert isinstance(node, BlankNode)
    written = f"_:{node.label} <urn:p> <urn:o> <urn:g> .\n" + stamp(G, 1)
    events, reports = read(written)
    assert len(events) == 1 and reports == []
