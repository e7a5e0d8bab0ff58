"""Quads as frames of Jelly: physical type QUADS, logical type FLAT_QUADS, with lookup tables of bounded size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import pyoxigraph as ox

from sparql_gpm.reading.jelly_rows import DATATYPE, NAME, OPTIONS, PREFIX, QUAD, QUADS, ROW
from sparql_gpm.reading.protobuf import BYTES, VARINT
from sparql_gpm.terms import XSD_STRING
from spaseq.errors import RunError

NAMES_MAX, PREFIXES_MAX, DATATYPES_MAX = 4000, 150, 32
"""The sizes of the lookup tables."""
_FLAT_QUADS, _VERSION = 2, 1
_DEFAULT_GRAPH = b"\x7a\x00"
"""The field of a quad without a named graph."""


class JellyFrames:
    """Writes the frames of one stream. A term is left out where it is that of the quad before."""

    def __init__(self) -> None:
        self._names, self._prefixes = _Lookup(NAME, NAMES_MAX), _Lookup(PREFIX, PREFIXES_MAX)
        self._datatypes = _Lookup(DATATYPE, DATATYPES_MAX)
        self._prefix = self._name = 0
        self._last: list[object] = [None, None, None, None]
        self._begun = False

    def begin(self) -> bytes:
        """The frame of the options before the first of all others, else nothing."""
        if self._begun:
            return b""
        self._begun = True
        sizes = ((9, NAMES_MAX), (10, PREFIXES_MAX), (11, DATATYPES_MAX))
        options = ((2, QUADS), *sizes, (14, _FLAT_QUADS), (15, _VERSION))
        return _sized(_row(OPTIONS, b"".join(_number(field, value) for field, value in options)))

    def frame(self, quads: Iterable[ox.Quad]) -> bytes:
        """The next frame; raises RunError for terms that Jelly does not have."""
        rows: list[bytes] = []
        for quad in quads:
            body = b"".join(self._term(slot, term, rows) for slot, term in enumerate(quad))
            rows.append(_row(QUAD, body))
        return self.begin() + _sized(b"".join(rows))

    def _term(self, slot: int, term: object, rows: list[bytes]) -> bytes:
        """The field of a term in a quad; entries that it needs become rows."""
        if term == self._last[slot]:
            return b""
        self._last[slot] = term
        first = 4 * slot + 1
        match term:
            case ox.NamedNode():
                return _text(first, self._iri(term.value, rows))
            case ox.BlankNode():
                return _text(first + 1, term.value.encode())
            case ox.Literal():
                return _text(first + 2, self._literal(term, rows))
            case ox.DefaultGraph():
                return _DEFAULT_GRAPH
        raise _not_in_jelly("triple terms")

    def _iri(self, iri: str, rows: list[bytes]) -> bytes:
        cut = max(iri.rfind("/"), iri.rfind("#")) + 1
        prefix, name = self._prefixes.number(iri[:cut], rows), self._names.number(iri[cut:], rows)
        body = _number(1, prefix) if prefix != self._prefix else b""
        body += _number(2, name) if name != self._name + 1 else b""
        self._prefix, self._name = prefix, name
        return body

    def _literal(self, literal: ox.Literal, rows: list[bytes]) -> bytes:
        body = _text(1, literal.value.encode()) if literal.value else b""
        if literal.direction is not None:
            raise _not_in_jelly("base directions")
        if literal.language:
            return body + _text(2, literal.language.encode())
        datatype = literal.datatype.value
        return body if datatype == XSD_STRING else body + _number(3, self._datatypes.number(datatype, rows))


def _not_in_jelly(what: str) -> RunError:
    return RunError(f"{what} (RDF 1.2) cannot be written as Jelly", hint="write N-Quads or TriG")


class _Lookup:
    """A lookup table, in which a new entry replaces the one that was not used for longest."""

    def __init__(self, kind: int, size: int) -> None:
        self._kind, self._size = kind, size
        self._numbers: OrderedDict[str, int] = OrderedDict()
        self._last = 0

    def number(self, text: str, rows: list[bytes]) -> int:
        """The identifier of a text; the row of a new entry is added to the rows."""
        found = self._numbers.get(text)
        if found is not None:
            self._numbers.move_to_end(text)
            return found
        new = len(self._numbers) + 1 if len(self._numbers) < self._size else self._numbers.popitem(last=False)[1]
        self._numbers[text] = new
        said = _number(1, new) if new != self._last + 1 else b""
        rows.append(_row(self._kind, said + _text(2, text.encode())))
        self._last = new
        return new


def _row(kind: int, body: bytes) -> bytes:
    return _text(ROW, _text(kind, body))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | VARINT) + _varint(value)


def _text(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | BYTES) + _sized(body)


def _sized(body: bytes) -> bytes:
    return _varint(len(body)) + body


def _varint(value: int) -> bytes:
    if value < 0x80:
        return _SMALL[value]
    digits = []
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


_SMALL = [bytes([value]) for value in range(0x80)]
