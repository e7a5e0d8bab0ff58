"""Strict parsing by pyoxigraph, also of strings that are longer than a term may be for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import TypeVar

import pyoxigraph as ox

from sparql_gpm.reading.decoded import JSON_ENDS, count_decoded, counted_quads, longest_part
from sparql_gpm.reading.json_depth import Readable, check_depth, longest_iri, marks_in_objects
from sparql_gpm.reading.nesting import STRINGS, check_nesting, check_triple_terms, located

T = TypeVar("T")

_TERM_BYTES_MAX = 16 << 20
"""At a term of this size pyoxigraph gives up."""
_STRING_BYTES_MAX = 8 << 20
"""In a text that may have such a term, a longer string is put aside while the rest is parsed."""

_BUFFERED_BYTES = 112
"""Of each token of JSON-LD in the buffer of an object around it."""
_FEW_REIFIERS = 4
_LOOKED_BYTES = 16 << 20
_HELD_BYTES_MAX = 4 << 30
"""Bytes that the parser of JSON-LD may hold for one object: its tokens once for each object around them, and its
statements, each of which may repeat the longest string."""
_SPACE = b" \t\r\n"
BY_LINE = (ox.RdfFormat.N_QUADS, ox.RdfFormat.N_TRIPLES)
_VERSION = re.compile(rb"""^[ \t]*VERSION[ \t]*("[^"\\\r\n]*"|'[^'\\\r\n]*')[ \t]*(?:\#[^\r\n]*)?\r?$""", re.MULTILINE)
_STAR = re.compile(rb'"@(?:(?:annotation|triple)"\s*:|id"\s*:\s*\{)')
"""A key of JSON-LD-star. In a string it has a backslash before its quotes, and as a string no colon behind them."""
_NO_STAR = "triple terms and annotations (RDF 1.2, JSON-LD-star) cannot be read from JSON-LD"
_PIECE_BYTES = 1 << 20
_KEY_BYTES = 4096
"""Of such a key, with the white space in it."""
_ESCAPE = re.compile(r"""\\(?:([tbnrf"'\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|)""")
_CONTROL = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def parse(text: bytes, rdf_format: ox.RdfFormat) -> Iterator[ox.Quad]:
    """The quads of a text, one by one; SyntaxError where it is malformed, or has an IRI or label of 16 MiB."""
    try:
        if len(text) < _TERM_BYTES_MAX:
            yield from counted_quads(parser_of(text, rdf_format), text, _ends(text))
            return
        check_depths(text, rdf_format)
        short, values = _short(text)
        for quad in counted_quads(parser_of(short, rdf_format), short, _ends(short)):
            stated = _with_long(quad.object, values)
            if stated is not quad.object:
                quad = ox.Quad(quad.subject, quad.predicate, stated, quad.graph_name)
            yield quad
    except MemoryError as error:
        raise SyntaxError("a term of more than 16 MiB that is no literal") from error


def parser_of(text: bytes, rdf_format: ox.RdfFormat) -> ox.QuadParser:
    """The parser of a text without long terms; SyntaxError for one so deep that it would take all memory, or crash."""
    if rdf_format in BY_LINE:
        text = without_versions(text)
    check_depths(text, rdf_format)
    return ox.parse(text, rdf_format)


def without_versions(text: bytes) -> bytes:
    """The lines of N-Quads or N-Triples, with each VERSION line made empty, as pyoxigraph cannot read one."""
    return _VERSION.sub(b"", text) if b"VERSION" in text else text


def check_depths(text: bytes, rdf_format: ox.RdfFormat) -> None:
    """Raises SyntaxError for a text so deep that its parser would take all memory, or crash."""
    check_triple_terms(text)
    if rdf_format not in BY_LINE:
        check_nesting(text)


def parsed_json_ld(text: bytes, is_checked: bool = False) -> Iterator[ox.Quad]:
    """The quads of JSON-LD; SyntaxError where it is malformed. Its depth may have been checked."""
    if not is_checked:
        check_depth(text)
    check_star(BytesIO(text))
    longest = longest_part(text, JSON_ENDS)
    marks = marks_in_objects(text, longest)
    if longest * marks > _LOOKED_BYTES:
        longest = longest_iri(text)
    held = (_BUFFERED_BYTES + longest // 2) * marks
    if held > _HELD_BYTES_MAX:
        raise SyntaxError(
            f"an object of JSON-LD that takes its parser more than {_HELD_BYTES_MAX >> 30} GiB: make objects of it "
            "that are smaller, or less deep, or have shorter strings"
        )
    count_decoded(held)
    try:
        yield from counted_quads(ox.parse(text, ox.RdfFormat.JSON_LD), text, b'"')
    finally:
        count_decoded(-held)


def check_star(stream: Readable) -> None:
    """Raises SyntaxError at the first triple term or annotation of JSON-LD, which is read piece by piece."""
    line, column, text = 0, 0, b""
    while piece := stream.read(_PIECE_BYTES):
        text += piece
        if found := _STAR.search(text):
            error = located(_NO_STAR, text[: found.start()])
            assert error.lineno is not None and error.offset is not None
            error.offset += column if error.lineno == 1 else 0
            error.lineno += line
            raise error
        key = text.rfind(b'"@')
        cut = key if 0 <= len(text) - key <= _KEY_BYTES else len(text) - 1
        read, text = text[:cut], text[cut:]
        line += read.count(b"\n")
        column = len(read) - read.rfind(b"\n") - 1 if b"\n" in read else column + len(read)


def _ends(text: bytes) -> bytes:
    """The characters that no term contains which the text may state again: only reifiers repeat a literal."""
    return b"" if sum(map(text.count, (b"~", b"{|", b"<<"))) > _FEW_REIFIERS else _SPACE


def _short(text: bytes) -> tuple[bytes, dict[str, str]]:
    """The text with every long string replaced by a short one, and the values of the long ones by the short."""
    values: dict[str, str] = {}
    mark = "long string"
    while mark.encode() in text:
        mark += "'"
    pieces, start = [], 0
    for found in STRINGS.finditer(text):
        if found.lastindex and found.end() - found.start() > _STRING_BYTES_MAX:
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
