"""Random events, written by a writer of this file's own, come back as they were, however they are cut."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions, read_events
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.terms import DIRECTIONS, RDF_DIR_LANG_STRING, XSD, BlankNode, Literal, Term, TripleTerm, to_ntriples
from sparql_gpm.terms import IRI as Iri
from sparql_gpm.times import format_time
from tests.drawn import drawn
from tests.sparql_gpm.rdf_events import TIME, Event, events_of, read

Writer = Callable[[list["Written"]], str]
NOT_SURROGATE = st.characters(codec="utf-8")
texts = st.text(st.one_of(st.sampled_from("\"'\\ \n\r\t{}<>.#@^_:a\x00\x85"), NOT_SURROGATE), max_size=8)
iris = st.sampled_from([Iri(f"urn:{name}") for name in ("a", "b", "é", "x%20y")] + [Iri("http://ex.org/p/q?r=1#s")])
nodes = st.one_of(iris, st.sampled_from([BlankNode("b"), BlankNode("c1")]))
literals = st.one_of(
    st.builds(Literal, texts),
    st.builds(Literal, texts, st.sampled_from([XSD + "double", XSD + "integer", "urn:type"])),
    st.builds(
        lambda text, tag: Literal(text, "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", tag),
        texts,
        st.sampled_from(["en", "de-at"]),
    ),
    st.builds(
        Literal, texts, st.just(RDF_DIR_LANG_STRING), st.sampled_from(["ar", "he-il"]), st.sampled_from(DIRECTIONS)
    ),
)
objects = st.recursive(
    st.one_of(nodes, literals), lambda inner: st.builds(TripleTerm, nodes, iris, inner), max_leaves=3
)  # fmt: skip
triples = st.tuples(nodes, iris, objects)
times = st.integers(-(2**62), 2**62)


@dataclass(frozen=True)
class Written:
    """An event to be written; `place` is where its timestamp stands."""

    time: int
    triples: tuple[tuple[Term, Term, Term], ...]
    place: str


streams = st.lists(
    st.builds(
        Written,
        times,
        st.lists(triples, max_size=4, unique=True).map(tuple),
        st.sampled_from(["before", "after", "both", "inside"]),
    ),
    max_size=6,
)


def graph_name(index: int) -> str:
    return f"<urn:graph:{index}>"


def time_triple(index: int, time: int) -> str:
    return f'{graph_name(index)} {TIME} "{format_time(time)}"^^<{XSD}dateTime>'


def pieces(index: int, event: Written) -> tuple[str, list[str], str]:
    """What stands before an event's triples, the triples, and what stands after them."""
    inside = [" ".join(map(to_ntriples, triple)) for triple in event.triples]
    if event.place == "inside":
        inside.append(time_triple(index, event.time))
    stamp = f"{time_triple(index, event.time)} .\n"
    return (
        stamp if event.place in ("before", "both") else "",
        inside,
        stamp if event.place in ("after", "both") else "",
    )


def as_nquads(events: list[Written]) -> str:
    text = ""
    for index, event in enumerate(events):
        before, inside, after = pieces(index, event)
        text += before + "".join(f"{triple} {graph_name(index)} .\n" for triple in inside) + after
    return text


def as_trig(events: list[Written]) -> str:
    text = "# a { comment\n@prefix unused: <urn:unused#> .\n"
    for index, event in enumerate(events):
        before, inside, after = pieces(index, event)
        text += before + f"{graph_name(index)} {{\n" + " .\n".join(inside) + "\n}\n" + after
    return text


def expected(events: list[Written]) -> list[Event]:
    return [
        Event(f"urn:graph:{index}", event.time, tuple(pieces(index, event)[1])) for index, event in enumerate(events)
    ]


def unscoped(events: list[Event]) -> list[Event]:
    """The same with blank nodes as they were written."""
    return [
        Event(event.name, event.time, tuple(re.sub(r"_:e\d+_", "_:", triple) for triple in event.triples))
        for event in events
    ]


@pytest.mark.parametrize(("rdf_format", "writer"), [("nquads", as_nquads), ("trig", as_trig)])
@settings(max_examples=drawn(150), deadline=None)
@given(events=streams)
def test_events_come_back_as_they_were_written(rdf_format: str, writer: Writer, events: list[Written]) -> None:
    found, reports = read(writer(events), rdf_format)
    assert reports == []
    assert unscoped(found) == expected(events)


class Cut:
    """A stream that gives its bytes in pieces of the sizes told, then whole."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._stream, self._sizes = io.BytesIO(data), iter(sizes)

    def read(self, size: int, /) -> bytes:
        return self._stream.read(next(self._sizes, size))


@pytest.mark.parametrize(("rdf_format", "writer"), [("nquads", as_nquads), ("trig", as_trig)])
@settings(max_examples=drawn(150), deadline=None)
@given(
    events=streams,
    sizes=st.lists(st.integers(1, 80), max_size=30),
    batch_events=st.integers(1, 4),
    live=st.booleans(),
    releasing=st.booleans(),
    damage=st.lists(st.integers(0, 2000), max_size=3),
)
def test_cutting_the_input_and_the_batches_changes_nothing(
    rdf_format: str,
    writer: Writer,
    events: list[Written],
    sizes: list[int],
    batch_events: int,
    live: bool,
    releasing: bool,
    damage: list[int],
) -> None:
    data = bytearray(writer(events).encode())
    for place in damage:
        if place < len(data):
            data[place] = ord("}")
    dictionary = Dictionary()
    reports: list[Malformed] = []

    def batches() -> Iterator[EventBatch]:
        options = ReadOptions(batch_events=batch_events)
        for batch in read_events(Cut(bytes(data), sizes), rdf_format, dictionary, options, reports.append, live=live):
            yield batch
            if releasing:
                dictionary.retain([])

    found = unscoped(events_of(batches(), dictionary))
    whole, whole_reports = read(bytes(data), rdf_format)
    assert found == unscoped(whole)
    assert reports == whole_reports
    assert damage or not reports


@settings(max_examples=drawn(100), deadline=None)
@given(
    events=streams,
    junk=st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["junk", "<urn:a> <urn:b> .", '"'])), max_size=3),
)
def test_junk_between_lines_of_nquads_loses_nothing_else(events: list[Written], junk: list[tuple[int, str]]) -> None:
    lines = as_nquads(events).split("\n")[:-1]
    for place, line in junk:
        lines.insert(min(place, len(lines)), line)
    found, reports = read("\n".join(lines))
    assert unscoped(found) == expected(events)
    assert sorted(report.raw for report in reports) == sorted(line for _, line in junk)
