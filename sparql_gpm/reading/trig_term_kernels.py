"""Terms of TriG written as tokens of N-Quads: names, numbers and words are written out, IRIs and strings as they are.

Each function goes on behind its term in the input, and returns the end of what it has written, ODD or FULL.
"""

from __future__ import annotations

import string
from typing import NamedTuple

from arrays.jit import lean_part, lean_step
from arrays.words import WORD, Bytes, byte_at
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table_kernels import same_bytes
from sparql_gpm.reading.token_kernels import (
    AT,
    BACKSLASH,
    CARET,
    COLON,
    DOT,
    GREATER,
    LESS,
    MINUS,
    PLUS,
    QUOTE,
    SLASH,
    UNDERSCORE,
    character_classes,
    constant,
    is_digit,
)
from sparql_gpm.terms import XSD

ODD, FULL = -1, -2
"""In place of an end: the unit is not of the usual form, or too long; there is no room for it now."""
POSITION = 0
"""In the place of a reader: its place in the input."""
_E = ord("e")

WHITE, LINE_END, _LETTER, _NAME, _SCHEME, _GOES_ON, _ENDS, _NO_IRI = (1 << bit for bit in range(8))
_ALPHANUMERIC = string.ascii_letters + string.digits
_CLASSES = character_classes(
    (WHITE, " \t\r\n"),
    (LINE_END, "\r\n"),
    (_LETTER, string.ascii_letters),
    (_NAME, _ALPHANUMERIC + "_"),
    (_SCHEME, _ALPHANUMERIC + "+-."),
    (_GOES_ON, _ALPHANUMERIC + "_:-.%\\"),
    (_ENDS, ' \t\r\n,;{}<"'),
    (_NO_IRI, "".join(map(chr, range(33))) + '<"{}|^`\\'),
)
"""Space; line ends; letters; what stands anywhere in a name; what stands in a scheme; what a name goes on with behind a
dot; what ends a name or number; what no IRI has, and escapes. Bytes that are not ASCII are in no class."""


_INTEGER, _DECIMAL, _DOUBLE, _BOOLEAN = (
    constant(f'"^^<{XSD}{name}>') for name in ("integer", "decimal", "double", "boolean")
)
_TRUE, _FALSE = constant("true"), constant("false")


class Source(NamedTuple):
    """The input.

    text            `size` bytes, and a word more
    names           the names of prefixes, one after the other, without colons; name_ends: 0, and the end of each
    spaces          their IRIs, likewise
    predicates      the tokens of the time predicates, likewise
    based           a base is in force
    unclosed        the unit before lacks its closing brace, so that the next one is odd
    """

    text: Bytes
    size: int
    names: Bytes
    name_ends: Ids
    spaces: Bytes
    space_ends: Ids
    predicates: Bytes
    predicate_ends: Ids
    based: bool
    unclosed: bool


@lean_step
def node(source: Source, at: Ids, out: Bytes, written: int, room: int) -> int:
    """Write an IRI, a prefixed name or a blank node; the end of what is written, or ODD."""
    byte = byte_at(source.text, at[POSITION])
    if byte == LESS:
        return _iri(source, at, out, written, room)
    if byte == UNDERSCORE and byte_at(source.text, at[POSITION] + 1) == COLON:
        return _blank(source, at, out, written, room)
    return _name(source, at, out, written, room)


@lean_step
def _iri(source: Source, at: Ids, out: Bytes, written: int, room: int) -> int:
    """An IRI with a scheme."""
    text, start = source.text, int(at[POSITION])
    stop = start + 1
    while is_in(byte_at(text, stop), _SCHEME):
        stop += 1
    if stop == start + 1 or byte_at(text, stop) != COLON:
        return ODD
    while byte_at(text, stop) != GREATER:
        byte = byte_at(text, stop)
        dotted = source.based and byte == SLASH and byte_at(text, stop + 1) == DOT
        if dotted or is_in(byte, _NO_IRI):
            return ODD
        stop += 1
    return _as_it_is(source, at, stop + 1, out, written, room)


@lean_step
def _blank(source: Source, at: Ids, out: Bytes, written: int, room: int) -> int:
    """A blank node whose label has letters, digits, `-` and `_` only."""
    text, start = source.text, int(at[POSITION])
    stop = start + 2
    while is_in(byte_at(text, stop), _NAME) or (byte_at(text, stop) == MINUS and stop > start + 2):
        stop += 1
    if stop == start + 2 or not _ends_name(text, stop):
        return ODD
    return _as_it_is(source, at, stop, out, written, room)


@lean_part
def _as_it_is(source: Source, at: Ids, stop: int, out: Bytes, written: int, room: int) -> int:
    """The input up to a place."""
    start = int(at[POSITION])
    if written + stop - start > room:
        return ODD
    for place in range(stop - start):
        out[written + place] = byte_at(source.text, start + place)
    at[POSITION] = stop
    return written + stop - start


@lean_step
def _name(source: Source, at: Ids, out: Bytes, written: int, room: int) -> int:
    """A prefixed name of ASCII letters, digits, `-`, `_`, `:` and inner dots, as an IRI."""
    text, start = source.text, int(at[POSITION])
    colon = start
    while is_in(byte_at(text, colon), _NAME) or (byte_at(text, colon) == MINUS and colon > start):
        colon += 1
    if byte_at(text, colon) != COLON or (colon > start and not is_in(byte_at(text, start), _LETTER)):
        return ODD
    space = _space_of(source, start, colon)
    if space < 0:
        return ODD
    stop = colon + 1
    while True:
        byte = byte_at(text, stop)
        inner = stop > colon + 1 and (byte == MINUS or (byte == DOT and is_in(byte_at(text, stop + 1), _NAME)))
        if not (is_in(byte, _NAME) or byte == COLON or inner):
            break
        stop += 1
    first, last = source.space_ends[space], source.space_ends[space + 1]
    length = last - first + stop - colon + 1
    if not _ends_name(text, stop) or written + length > room:
        return ODD
    out[written] = LESS
    written += 1
    for place in range(first, last):
        out[written + place - first] = byte_at(source.spaces, place)
    written += last - first
    for place in range(colon + 1, stop):
        out[written + place - colon - 1] = byte_at(text, place)
    written += stop - colon - 1
    out[written] = GREATER
    at[POSITION] = stop
    return written + 1


@lean_step
def _space_of(source: Source, start: int, stop: int) -> int:
    """The number of the prefix with this name, or ODD."""
    ends = source.name_ends
    for index in range(len(ends) - 1):
        length = ends[index + 1] - ends[index]
        if length == stop - start and same_bytes(source.names, ends[index], source.text, start, length):
            return index
    return ODD


@lean_step
def object_(source: Source, at: Ids, out: Bytes, written: int) -> int:
    """Write an object; the end of what is written, ODD or FULL."""
    text, place = source.text, at[POSITION]
    byte = byte_at(text, place)
    if byte == QUOTE:
        return _literal(source, at, out, written)
    signed = byte in (MINUS, PLUS)
    if is_digit(byte_at(text, place + 1) if signed else byte):
        return _number(source, at, out, written)
    true = is_word(text, place, _TRUE, False)
    if true or is_word(text, place, _FALSE, False):
        at[POSITION] = place + len(_TRUE if true else _FALSE) - WORD
        return _typed(text, place, at[POSITION], _BOOLEAN, out, written)
    return node(source, at, out, written, len(out))


@lean_step
def _literal(source: Source, at: Ids, out: Bytes, written: int) -> int:
    """A string in quotation marks on one line, with its language or datatype."""
    text, start = source.text, int(at[POSITION])
    stop = start + 1
    while byte_at(text, stop) != QUOTE:
        if is_in(byte_at(text, stop), LINE_END) or stop >= source.size:
            return ODD
        stop += 2 if byte_at(text, stop) == BACKSLASH and not is_in(byte_at(text, stop + 1), LINE_END) else 1
    stop += 1
    if stop == start + 2 and byte_at(text, stop) == QUOTE:
        return ODD
    if byte_at(text, stop) == AT:
        stop += 1
        while is_in(byte_at(text, stop), _NAME) or byte_at(text, stop) == MINUS:
            stop += 1
    if written + stop - start + WORD > len(out):
        return FULL
    for place in range(stop - start):
        out[written + place] = byte_at(text, start + place)
    written += stop - start
    at[POSITION] = stop
    if byte_at(text, stop) != CARET or byte_at(text, stop + 1) != CARET:
        return written
    out[written] = CARET
    out[written + 1] = CARET
    at[POSITION] = stop + 2
    if byte_at(text, stop + 2) == UNDERSCORE:
        return ODD
    return node(source, at, out, written + 2, len(out))


@lean_step
def _number(source: Source, at: Ids, out: Bytes, written: int) -> int:
    """An integer, or a decimal or double that begins with a digit."""
    text, start = source.text, int(at[POSITION])
    stop, datatype = start + 1, _INTEGER
    while is_digit(byte_at(text, stop)):
        stop += 1
    if byte_at(text, stop) == DOT and is_digit(byte_at(text, stop + 1)):
        stop, datatype = stop + 1, _DECIMAL
        while is_digit(byte_at(text, stop)):
            stop += 1
    if byte_at(text, stop) | 32 == _E:
        stop, datatype = stop + 1, _DOUBLE
        if byte_at(text, stop) == PLUS or byte_at(text, stop) == MINUS:
            stop += 1
        if not is_digit(byte_at(text, stop)):
            return ODD
        while is_digit(byte_at(text, stop)):
            stop += 1
    following = byte_at(text, stop + 1)
    if not _ends_name(text, stop) or (byte_at(text, stop) == DOT and following | 32 == _E):
        return ODD
    at[POSITION] = stop
    return _typed(text, start, stop, datatype, out, written)


@lean_part
def _typed(text: Bytes, start: int, stop: int, datatype: Bytes, out: Bytes, written: int) -> int:
    """A literal of this text; `datatype` with the quotation mark before it."""
    length = len(datatype) - WORD
    if written + stop - start + length + WORD > len(out):
        return FULL
    out[written] = QUOTE
    written += 1
    for place in range(stop - start):
        out[written + place] = byte_at(text, start + place)
    written += stop - start
    for place in range(length):
        out[written + place] = datatype[place]
    return written + length


@lean_part
def is_word(text: Bytes, start: int, word: Bytes, any_case: bool) -> bool:
    """True for a lower-case word that no letter, digit or colon follows."""
    length = len(word) - WORD
    for place in range(length):
        byte = byte_at(text, start + place)
        if byte != word[place] and not (any_case and byte + 32 == word[place]):
            return False
    return _ends_name(text, start + length)


@lean_part
def _ends_name(text: Bytes, at: int) -> bool:
    """True if certainly no name or number goes on here: space, punctuation or an IRI follows."""
    byte = byte_at(text, at)
    if byte == DOT:
        following = byte_at(text, at + 1)
        return following < 128 and not is_in(following, _GOES_ON)
    return is_in(byte, _ENDS)


@lean_part
def is_in(byte: int, bit: int) -> bool:
    """True if a byte is in one of these classes."""
    return bool(_CLASSES[byte] & bit)
