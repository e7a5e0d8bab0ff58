"""Strict parsing by pyoxigraph, also of strings that are longer than a term may be for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

import pyoxigraph as ox

from sparql_gpm.reading.json_depth import Readable
from sparql_gpm.terms import TRIPLE_TERM_DEPTH_MAX

T = TypeVar("T")

_PIECE_BYTES = 1 << 20
_TERM_BYTES_MAX = 8 << 20
"""A longer string is put aside while the rest is parsed: pyoxigraph gives up at a term of 16 MiB."""

_STRINGS = re.compile(
    rb'''
      """ ( (?: [^"\\]++ | \\. | "{1,2}(?!") )*+ ) """
    | \'\'\' ( (?: [^'\\]++ | \\. | '{1,2}(?!') )*+ ) \'\'\'
    | " ( [^"\\\r\n]*+ (?: \\. [^"\\\r\n]*+ )*+ ) "
    | ' ( [^'\\\r\n]*+ (?: \\. [^'\\\r\n]*+ )*+ ) '
    | < [^<>"{}|^`\\\x00-\x20]*+ (?: \\[uU] [^<>"{}|^`\\\x00-\x20]*+ )*+ >
    | \#[^\r\n]*+
    | <<\( | \)>> | \\.
    ''',
    re.VERBOSE | re.DOTALL,
)
"""Strings, IRIs, comments, escapes, and the brackets of triple terms."""
_TRIPLE_TERM = b"<<("
_BY_LINE = (ox.RdfFormat.N_QUADS, ox.RdfFormat.N_TRIPLES)
_VERSION = re.compile(rb"""^[ \t]*VERSION[ \t]*("[^"\\\r\n]*"|'[^'\\\r\n]*')[ \t]*(?:\#[^\r\n]*)?\r?$""", re.MULTILINE)
"""A line that says the version of RDF, which pyoxigraph does not read in these formats."""
_ESCAPE = re.compile(r"""\\(?:([tbnrf"'\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|)""")
_CONTROL = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def parse(text: bytes, rdf_format: ox.RdfFormat) -> Iterator[ox.Quad]:
    """The quads of a text, one by one; SyntaxError where it is malformed, or has an IRI or label of 16 MiB."""
    if len(text) <= _TERM_BYTES_MAX:
        yield from parser_of(text, rdf_format)
        return
    short, values = _short(text)
    try:
        for quad in parser_of(short, rdf_format):
            stated = _with_long(quad.object, values)
            if stated is not quad.object:
                quad = ox.Quad(quad.subject, quad.predicate, stated, quad.graph_name)
            yield quad
    except MemoryError as error:
        raise SyntaxError("a term of more than 16 MiB that is no literal") from error


def parser_of(text: bytes, rdf_format: ox.RdfFormat) -> ox.QuadParser:
    """The parser of a text without long terms; SyntaxError for triple terms so deep that it would end the process."""
    if rdf_format in _BY_LINE and b"VERSION" in text:
        text = _VERSION.sub(b"", text)
    check_triple_terms(text)
    return ox.parse(text, rdf_format)


def check_triple_terms(text: bytes) -> None:
    """Raises SyntaxError for triple terms so deep that their parser would end the process."""
    if text.count(_TRIPLE_TERM) <= TRIPLE_TERM_DEPTH_MAX:
        return
    depth = 0
    for found in _STRINGS.finditer(text):
        depth += {_TRIPLE_TERM: 1, b")>>": -1}.get(found[0], 0)
        if depth > TRIPLE_TERM_DEPTH_MAX:
            raise _too_deep(text[: found.start()])


def has_many_triple_terms(stream: Readable) -> bool:
    """True if a document, read piece by piece, may have triple terms that are too deep."""
    found, last = 0, b""
    while piece := stream.read(_PIECE_BYTES):
        found += (last + piece).count(_TRIPLE_TERM)
        if found > TRIPLE_TERM_DEPTH_MAX:
            return True
        last = piece[-len(_TRIPLE_TERM) + 1 :]
    return False


def _too_deep(before: bytes) -> SyntaxError:
    error = SyntaxError(f"triple terms more than {TRIPLE_TERM_DEPTH_MAX} deep")
    error.lineno, error.offset = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    return error


def _short(text: bytes) -> tuple[bytes, dict[str, str]]:
    """The text with every long string replaced by a short one, and the values of the long ones by the short."""
    values: dict[str, str] = {}
    mark = "long string"
    while mark.encode() in text:
        mark += "'"
    pieces, start = [], 0
    for found in _STRINGS.finditer(text):
        if found.lastindex and found.end() - found.start() > _TERM_BYTES_MAX:
            name = f"{mark} {len(values)}"
            values[name] = _unescaped(found[found.lastindex])
            pieces += [text[start : found.start()], b'"%b"' % name.encode()]
            start = found.end()
    return b"".join([*pieces, text[start:]]), values


def _with_long(term: T, values: dict[str, str]) -> T | ox.Literal | ox.Triple:
    """The term with the values of its long strings."""
    if isinstance(term, ox.Literal) and term.value in values:
        return _with_value(term, values[term.value])
    if isinstance(term, ox.Triple):
        stated = _with_long(term.object, values)
        return term if stated is term.object else ox.Triple(term.subject, term.predicate, stated)
    return term


def _with_value(literal: ox.Literal, value: str) -> ox.Literal:
    if literal.language is not None:
        return ox.Literal(value, language=literal.language, direction=literal.direction)
    return ox.Literal(value, datatype=literal.datatype)


def _unescaped(raw: bytes) -> str:
    """The value of what stands between the quotes of a string."""

    def character(found: re.Match[str]) -> str:
        control, short, long = found.groups()
        if control is not None:
            return _CONTROL.get(control, control)
        code = int(short or long or "110000", 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise SyntaxError(f"the escape {found[0]} stands for no character")
        return chr(code)

    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise SyntaxError(f"Invalid UTF-8: {error.reason}") from None
    return _ESCAPE.sub(character, text) if "\\" in text else text
