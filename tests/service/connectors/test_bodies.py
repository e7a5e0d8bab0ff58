"""Messages that go together mean what they mean apart."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.rdf_io import PROV_TIME
from spaseq.inputs.event_times import reading_of
from spaseq.service.core.bodies import BodyReading, read_body
from spaseq.service.sources import bodies
from spaseq.service.sources.bodies import Message, bodies_of

READING = BodyReading(reading_of((PROV_TIME,), None, "s", None, {}))
ARRIVAL = BodyReading(READING.time, arrival=True)
TIME = '"2026-01-01T00:00:0%dZ"^^<http://www.w3.org/2001/XMLSchema#dateTime>'


def accepted(texts: Iterable[tuple[bytes, str]]) -> list[tuple[str, int]]:
    """Names and sizes of the events that a stream accepts of these bodies: those that it does not know."""
    found: dict[str, int] = {}
    for text, body_format in texts:
        body = read_body(text, body_format, READING, 0)
        for name, triples in zip(body.events.names, np.diff(body.events.offsets).tolist(), strict=True):
            found.setdefault(name, triples)
    return list(found.items())


@st.composite
def nquads_message(draw: st.DrawFn) -> bytes:
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 2))):
        name = f"<urn:e{draw(st.integers(0, 5))}>"
        lines.append(f"{name} <{PROV_TIME}> {TIME % draw(st.integers(0, 9))} .")
        lines += [f'<urn:s> <urn:p> "{n}" {name} .' for n in range(draw(st.integers(1, 3)))]
    if draw(st.integers(0, 4)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(["", "# a comment", "\u00fc is no quad"])))
    return "\n".join(lines).encode() + draw(st.sampled_from([b"", b"\n"]))


def test_what_programs_write_stands_together() -> None:
    line = b"<urn:s> <http://x/p#q> %s <urn:e%d> .\n"
    objects = (
        b"_:b0",
        b'"a \\"b\\" \\n \xc3\xbc"',
        b'"a"@en-GB',
        b'"1"^^<http://www.w3.org/2001/XMLSchema#integer>',
        b"<urn:o>",
    )
    messages = [Message(line % (each, n), b"-") for n, each in enumerate(objects)]
    (found,) = bodies_of(messages, "nquads")
    assert len(read_body(found.value, "nquads", ARRIVAL, 0).events) == len(objects)


@given(st.lists(nquads_message(), max_size=12))
def test_nquads_together_are_the_events_of_each_alone(messages: list[bytes]) -> None:
    together = list(bodies_of([Message(text, b"%d" % n) for n, text in enumerate(messages)], "nquads"))
    assert [each.value for body in together for each in body.messages] == messages
    assert [body.position for body in together] == [body.messages[-1].position for body in together]
    assert accepted((body.value, "nquads") for body in together) == accepted((text, "nquads") for text in messages)


def test_json_stands_together_as_lines_where_it_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [b'{"a": 1}', b"", b'{"a": 2}\n', b'{\n"a": 3}', b'{"a": 4}', b'{"a": 5}']
    messages = [Message(value, b"%d" % n) for n, value in enumerate(values)]
    found = [(each.value, each.body_format, each.position) for each in bodies_of(messages, "jsonld")]
    assert found == [
        (b'{"a": 1}\n{"a": 2}\n', "ndjsonld", b"2"),
        (b'{\n"a": 3}\n', "jsonld", b"3"),
        (b'{"a": 4}\n{"a": 5}\n', "ndjsonld", b"5"),
    ]
    monkeypatch.setattr(bodies, "MESSAGES_MAX", 2)
    assert [len(each.messages) for each in bodies_of(messages[4:] * 3, "jsonld")] == [2, 2, 2]
    monkeypatch.setattr(bodies, "BODY_BYTES_MAX", 10)
    assert [len(each.messages) for each in bodies_of(messages[4:], "jsonld")] == [1, 1]


def test_other_formats_are_bodies_of_their_own() -> None:
    messages = [Message(b"<urn:s> <urn:p> %d ." % n, b"-") for n in range(3)]
    assert [each.value for each in bodies_of(messages, "turtle")] == [each.value + b"\n" for each in messages]


def test_messages_without_a_character_only_move_the_position() -> None:
    (found,) = bodies_of([Message(b"", b"1"), Message(b" \n", b"2")], "turtle")
    assert (found.value, found.position) == (b"", b"2")
