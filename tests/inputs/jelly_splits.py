"""Jelly whose IRIs are cut into prefix and name anywhere, each time in another way, and whose entries are replaced."""

from __future__ import annotations

import random

from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.terms import XSD

NAME, PREFIX, DATATYPE = 9, 10, 11
SIZES = {NAME: 24, PREFIX: 12, DATATYPE: 4}
PREDICATES = ("urn:p", "http://ex.org/p", "http://other.org/p#q")
TEXTS = ("2026-01-01T00:00:07Z", "7", "2.5", 'e"\n', "é")
DATATYPES = (XSD + "dateTime", XSD + "integer", XSD + "decimal", "urn:t%20é")
NODES = ("urn:s", "http://h", "http://h/x", "http://h/a?b#c", "http://h/é", "urn:e1")


class Splits:
    """Writes statements; rows of the frame that is open are in `rows`."""

    def __init__(self, draw: random.Random, logical: int) -> None:
        self._draw, self._tables = draw, {kind: dict[int, str]() for kind in SIZES}
        sizes = ((2, 2), *((kind, size) for kind, size in SIZES.items()), (14, logical), (15, 1))
        self.rows = [_sized(1, b"".join(bytes([field << 3, value]) for field, value in sizes))]

    def _entry(self, kind: int, text: str) -> int:
        """The identifier of a text, which may be entered now."""
        table = self._tables[kind]
        found = [identifier for identifier, known in table.items() if known == text]
        if found and self._draw.random() < 0.8:
            return self._draw.choice(found)
        identifier = self._draw.randrange(1, SIZES[kind] + 1)
        table[identifier] = text
        self.rows.append(_sized(kind, bytes([8, identifier]) + _sized(2, text.encode())))
        return identifier

    def _iri(self, text: str) -> bytes:
        cut = self._draw.choice([0, text.find(":") + 1, text.rfind("/") + 1, self._draw.randrange(len(text) + 1)])
        parts = self._entry(PREFIX, text[:cut]), self._entry(NAME, text[cut:])
        return bytes([8, parts[0], 16, parts[1]])

    def _literal(self, text: str, datatype: str | None) -> bytes:
        if datatype is None:
            return _sized(1, text.encode()) + self._draw.choice([b"", _sized(2, b"en")])
        return _sized(1, text.encode()) + bytes([24, self._entry(DATATYPE, datatype)])

    def statement(self, subject: str, predicate: str, target: bytes | str, graph: str | None) -> None:
        """Append a quad; an object in bytes is a literal's message."""
        fields = [_sized(1, self._iri(subject)), _sized(5, self._iri(predicate))]
        fields.append(_sized(9, self._iri(target)) if isinstance(target, str) else _sized(11, target))
        fields.append(b"\x7a\x00" if graph is None else _sized(13, self._iri(graph)))
        self.rows.append(_sized(3, b"".join(fields)))

    def event(self, number: int) -> None:
        """Append the quads of an event, most of which follow the convention."""
        draw = self._draw
        graph = f"{draw.choice(['urn:e', 'urn:e', 'http://ex.org/e/'])}{draw.choice([number] * 9 + [0])}"
        time = self._literal(f"2026-01-01T00:00:{number:02d}{draw.choice(['Z', '+00:00', '.5Z'])}", XSD + "dateTime")
        for _ in range(draw.choice([0, 1, 1, 1, 1, 1, 2])):
            self.statement(graph, PROV_TIME, time, graph if draw.random() < 0.3 else None)
        for _ in range(draw.randrange(4)):
            target = draw.choice([*NODES, graph, self._literal(draw.choice(TEXTS), draw.choice([*DATATYPES, None]))])
            subject = draw.choice([*NODES, graph, graph] * 9 + ["urn://@:h"])
            self.statement(subject, draw.choice(PREDICATES), target, None if draw.random() < 0.02 else graph)

    def frame(self) -> bytes:
        """End the frame."""
        body, self.rows = b"".join(_sized(1, row) for row in self.rows), []
        return _varint(len(body)) + body


def document(draw: random.Random) -> bytes:
    """Frames of events, flat or each a unit."""
    splits, frames = Splits(draw, draw.choice([2, 4])), list[bytes]()
    for number in range(draw.randrange(1, 20)):
        splits.event(number)
        if draw.random() < 0.6:
            frames.append(splits.frame())
    return b"".join(frames) + splits.frame()


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


def _sized(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body
