"""Bodies that kernels read have the events and the faults that reading by line finds; each event has one fault."""

from __future__ import annotations

import re
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from arrays.jit import COMPILED
from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.reading import blocks, lines, nquads_columns
from sparql_gpm.reading.event_builder import Malformed
from spaseq.inputs.event_times import reading_of
from spaseq.service.core.bodies import Body, BodyReading, read_body
from tests.drawn import drawn
from tests.sparql_gpm.rdf_events import Event, events_of
from tests.sparql_gpm.test_rdf_io_lines import lines as odd_lines
from tests.sparql_gpm.test_rdf_io_round_trip import as_nquads, streams

TIME = reading_of((PROV_TIME,), None, "s", None, {})
STAMP = f'<urn:%s> <{PROV_TIME}> "2026-01-01T00:00:0%dZ"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
_NODE = re.compile(r"_:(?:e\d+_[\w.-]*|\d+)")


def found_in(body: Body) -> tuple[list[Event], list[bool], list[int], int, tuple[Malformed, ...]]:
    """A body as plain values, its blank nodes named in the order of their appearance."""
    events = []
    for event in events_of([body.events] if len(body.events) else [], body.dictionary):
        names: dict[str, str] = {}
        triples = tuple(_NODE.sub(lambda node, known=names: known.setdefault(node[0], f"_:{len(known)}"), triple)
                        for triple in event.triples)  # type: ignore[misc]  # fmt: skip
        events.append(Event(event.name, event.time, triples))
    return events, body.named.tolist(), body.lines.tolist(), body.duplicates, body.malformed


@settings(max_examples=drawn(60 if COMPILED else 10), deadline=None)
@given(
    parts=st.lists(streams, min_size=1, max_size=3),
    junk=st.lists(st.tuples(st.integers(0, 30), odd_lines), max_size=3),
    damage=st.lists(st.tuples(st.integers(0, 1500), st.sampled_from(' \t\r\n<>"\\._@^é}0')), max_size=3),
    block_bytes=st.sampled_from([40, 200, 1 << 20]),
    arrival=st.booleans(),
)
def test_kernels_read_the_bodies_that_reading_by_line_reads(
    parts: list[list[object]],
    junk: list[tuple[int, str]],
    damage: list[tuple[int, str]],
    block_bytes: int,
    arrival: bool,
) -> None:
    written = [line for part in parts for line in as_nquads(part).removesuffix("\n").split("\n")]  # type: ignore[arg-type]
    for place, line in junk:
        written.insert(min(place, len(written)), line)
    characters = list("\n".join(written) + "\n")
    for place, character in damage:
        if place < len(characters):
            characters[place] = character
    data, reading = "".join(characters).encode(), BodyReading(TIME, arrival=arrival)
    with (
        mock.patch.object(lines, "BLOCK_BYTES_MIN", 0),
        mock.patch.object(blocks, "BLOCK_BYTES", block_bytes),
        mock.patch.object(nquads_columns, "BLOCK_BYTES", block_bytes),
    ):
        by_kernels = read_body(data, "nquads", reading, 5, compiled=True)
    assert found_in(by_kernels) == found_in(read_body(data, "nquads", reading, 5))


def quad(name: str, value: str) -> str:
    return f'<urn:x> <urn:p> "{value}" <urn:{name}> .\n'


def test_a_line_that_cannot_be_read_costs_the_event_around_it_though_that_is_left_out_anyway() -> None:
    whole = STAMP % ("a", 1) + quad("a", "1")
    undated = quad("b", "1") + "<urn:x> <urn:p> \n" + quad("b", "2")
    body = read_body((whole + undated + STAMP % ("c", 3) + quad("c", "1")).encode(), "nquads", BodyReading(TIME), 0)
    assert list(body.events.names) == ["urn:a", "urn:c"]
    assert [(fault.line, fault.kind) for fault in body.malformed] == [(3, "no timestamp")]


def test_events_that_begin_on_one_line_have_a_fault_each() -> None:
    text = " ".join(f"<urn:{name}> {{ <urn:x> <urn:p> 1 }}" for name in "abc")
    body = read_body(text.encode(), "trig", BodyReading(TIME), 0)
    assert [fault.kind for fault in body.malformed] == ["no timestamp"] * 3
