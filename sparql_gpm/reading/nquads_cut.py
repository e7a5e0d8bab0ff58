"""The ends of the terms of a usual line of N-Quads, eight bytes at a time."""

from __future__ import annotations

from arrays.jit import part
from arrays.words import WORD, Bytes, byte_at, first_byte, word_at
from sparql_gpm.columns import Ids
from sparql_gpm.reading.token_kernels import (
    AT,
    BACKSLASH,
    CARET,
    DOT,
    EXCLAMATION,
    GREATER,
    LESS,
    NEWLINE,
    QUOTE,
    SPACE,
    UNDERSCORE,
)

NONE = -1

_ONES = 0x0101010101010101
_HIGH = -0x7F7F7F7F7F7F7F80
"""The highest bit of each byte of a word."""
_TWOS, _GREATERS = 2 * _ONES, GREATER * _ONES
_QUOTES, _BACKSLASHES, _NEWLINES = QUOTE * _ONES, BACKSLASH * _ONES, NEWLINE * _ONES
_ABOVE_QUOTES = (QUOTE + 1) * _ONES


@part
def next_line(text: Bytes, position: int) -> int:
    """The beginning of the next line."""
    at = position
    while True:
        found = _zero_bytes(word_at(text, at) ^ _NEWLINES)
        if found:
            return at + first_byte(found) + 1
        at += WORD


@part
def cut(text: Bytes, begin: int, stops: Ids) -> bool:
    """Write the ends of subject, predicate, object and graph (or NONE) to `stops`; False for unusual lines."""
    stops[0] = _node_stop(text, begin)
    if stops[0] == NONE or byte_at(text, stops[0]) != SPACE:
        return False
    stops[1] = _iri_stop(text, stops[0] + 1)
    if stops[1] == NONE or byte_at(text, stops[1]) != SPACE:
        return False
    stops[2] = _term_stop(text, stops[1] + 1)
    if stops[2] == NONE or byte_at(text, stops[2]) != SPACE:
        return False
    stops[3] = NONE
    at = stops[2] + 1
    if byte_at(text, at) != DOT:
        stops[3] = _iri_stop(text, at)
        if stops[3] == NONE or byte_at(text, stops[3]) != SPACE or byte_at(text, stops[3] + 1) != DOT:
            return False
        at = stops[3] + 1
    return byte_at(text, at + 1) == NEWLINE


@part
def _node_stop(text: Bytes, start: int) -> int:
    """The end of an IRI or blank node, or NONE."""
    return _word_stop(text, start) if byte_at(text, start) == UNDERSCORE else _iri_stop(text, start)


@part
def _term_stop(text: Bytes, start: int) -> int:
    """The end of an IRI, blank node or literal, or NONE."""
    return _literal_stop(text, start) if byte_at(text, start) == QUOTE else _node_stop(text, start)


@part
def _iri_stop(text: Bytes, start: int) -> int:
    if byte_at(text, start) != LESS:
        return NONE
    at = _word_stop(text, start + 1)
    return at + 1 if byte_at(text, at) == GREATER else NONE


@part
def _word_stop(text: Bytes, start: int) -> int:
    """The place of the next control character, space, quotation mark or angle bracket."""
    at = start
    while True:
        word = word_at(text, at)
        found = (word - _ABOVE_QUOTES) & ~word & _HIGH | _zero_bytes((word | _TWOS) ^ _GREATERS)
        if not found:
            at += WORD
            continue
        at += first_byte(found)
        if byte_at(text, at) != EXCLAMATION:
            return at
        at += 1


@part
def _literal_stop(text: Bytes, start: int) -> int:
    at = start + 1
    while byte_at(text, at) != QUOTE:
        at = _text_stop(text, at)
        if byte_at(text, at) == BACKSLASH:
            at += 1
            if byte_at(text, at) != NEWLINE:
                at += 1
        elif byte_at(text, at) == NEWLINE:
            return NONE
    at += 1
    if byte_at(text, at) == AT:
        return _word_stop(text, at)
    if byte_at(text, at) != CARET:
        return at
    if byte_at(text, at + 1) != CARET:
        return NONE
    return _iri_stop(text, at + 2)


@part
def _text_stop(text: Bytes, start: int) -> int:
    """The place of the next quotation mark, backslash or newline."""
    at = start
    while True:
        word = word_at(text, at)
        found = _zero_bytes(word ^ _QUOTES) | _zero_bytes(word ^ _BACKSLASHES) | _zero_bytes(word ^ _NEWLINES)
        if found:
            return at + first_byte(found)
        at += WORD


@part
def _zero_bytes(word: int) -> int:
    """The highest bit of the first byte that is zero, and perhaps of bytes after it; 0 if there is none."""
    return (word - _ONES) & ~word & _HIGH
