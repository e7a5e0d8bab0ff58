"""Strict parsing by pyoxigraph, also of strings that are longer than a term may be for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyoxigraph as ox

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
    ''',
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"""\\(?:([tbnrf"'\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|)""")
_CONTROL = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def parse(text: bytes, rdf_format: ox.RdfFormat) -> Iterator[ox.Quad]:
    """The quads of a text, one by one; SyntaxError where it is malformed, or has an IRI or label of 16 MiB."""
    if len(text) <= _TERM_BYTES_MAX:
        yield from ox.parse(text, rdf_format)
        return
    short, values = _short(text)
    try:
        for quad in ox.parse(short, rdf_format):
            stated = quad.object
            if isinstance(stated, ox.Literal) and stated.value in values:
                stated = _with_value(stated, values[stated.value])
                quad = ox.Quad(quad.subject, quad.predicate, stated, quad.graph_name)
            yield quad
    except MemoryError as error:
        raise SyntaxError("a term of more than 16 MiB that is no literal") from error


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
