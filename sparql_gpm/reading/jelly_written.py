"""Terms of Jelly as they are written: the places of their parts, of which kernels make canonical N-Triples texts.

Names of graphs and timestamps are needed as text or as a time, and get no id unless a triple has them too.
"""

from __future__ import annotations

from arrays.jit import lean_part
from arrays.words import WORD, Bytes, byte_at
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table_kernels import LENGTH as TERM_LENGTH
from sparql_gpm.interning.term_table_kernels import START as TERM_START
from sparql_gpm.interning.term_table_kernels import copy
from sparql_gpm.reading import jelly_lookups as lookup
from sparql_gpm.reading.jelly_lookups import DEFAULT, LAZY
from sparql_gpm.reading.protobuf_kernels import BAD, varint
from sparql_gpm.reading.token_kernels import (
    AT,
    BACKSLASH,
    CARET,
    COLON,
    GREATER,
    LESS,
    NEWLINE,
    QUOTE,
    RETURN,
    UNDERSCORE,
)

KIND, START, LENGTH, MORE, MORE_LENGTH, NAME, KEY, TIME = range(8)
"""Columns of a written term: its kind; the places and lengths of its parts: the prefix and the name of an IRI, both in
the texts of the lookup tables, a label, or a lexical form in the input and a language there or a datatype in those; the
identifier of the name, and the KEY of the prefix; the time, if it is a timestamp, else NO_TIME."""
WRITTEN_COLUMNS = 8
IRI, LABEL, PLAIN, TAGGED, TYPED = range(5)
"""Kinds of terms; LABEL is that of blank nodes, the last three are those of literals."""
LITERAL, TRIPLE = 2, 3
"""Kinds of fields beside IRI and LABEL."""
_LETTER_N, _LETTER_R = 110, 114


@lean_part
def is_lazy(value: int) -> bool:
    """True for a number in place of a term without an id."""
    return DEFAULT < value <= LAZY


@lean_part
def copied(text: Bytes, start: int, length: int, out: Bytes, at: int) -> int:
    """Copy a string to a place; returns the place behind it. The word there may be overwritten."""
    copy(text, start, length, out, at)
    return at + length


@lean_part
def token_bytes_max(written: Ids, row: int) -> int:
    """At most so many bytes has the text of a term, with a word behind it."""
    return int(2 * written[row, LENGTH] + written[row, MORE_LENGTH] + 6 + WORD)


@lean_part
def put_token(written: Ids, row: int, text: Bytes, names: Bytes, token: Bytes) -> int:
    """Write a term as a token; returns its end. `names`: the texts of the lookup tables."""
    kind, start, length = written[row, KIND], written[row, START], written[row, LENGTH]
    more, more_length = written[row, MORE], written[row, MORE_LENGTH]
    if kind == IRI:
        token[0] = LESS
        stop = copied(names, more, more_length, token, copied(names, start, length, token, 1))
        token[stop] = GREATER
        return stop + 1
    if kind == LABEL:
        token[0], token[1] = UNDERSCORE, COLON
        return copied(text, start, length, token, 2)
    token[0] = QUOTE
    stop = _escaped(text, start, length, token)
    if kind == TAGGED:
        token[stop] = AT
        return copied(text, more, more_length, token, stop + 1)
    if kind == TYPED:
        token[stop], token[stop + 1], token[stop + 2] = CARET, CARET, LESS
        stop = copied(names, more, more_length, token, stop + 3)
        token[stop] = GREATER
        return stop + 1
    return stop


@lean_part
def _escaped(text: Bytes, start: int, length: int, token: Bytes) -> int:
    """Write a lexical form behind the first byte of the token, with escapes and the second quotation mark."""
    at = 1
    for place in range(start, start + length):
        byte = byte_at(text, place)
        if byte in (QUOTE, BACKSLASH, NEWLINE, RETURN):
            token[at] = BACKSLASH
            at += 1
            byte = _LETTER_N if byte == NEWLINE else _LETTER_R if byte == RETURN else byte
        token[at] = byte
        at += 1
    token[at] = QUOTE
    return at + 1


@lean_part
def read_literal(text: Bytes, at: int, end: int, datatypes: Ids, written: Ids, row: int) -> bool:
    """Enter the parts of a literal in a row; False if they cannot be read."""
    start = length = more_length = datatype = 0
    more = -1
    while at < end:
        tag = byte_at(text, at)
        size, at = varint(text, at + 1, end)
        if at == BAD or (tag != 24 and at + size > end):
            return False
        if tag == 10:
            start, length = at, size
        elif tag == 18:
            more, more_length = at, size
        elif tag == 24:
            datatype = size
        else:
            return False
        at += 0 if tag == 24 else size
    kind = TAGGED if more >= 0 else PLAIN
    if more < 0 and datatype > 0:
        if datatype >= len(datatypes) or datatypes[datatype, lookup.LENGTH] < 0:
            return False
        kind, more, more_length = TYPED, datatypes[datatype, lookup.START], datatypes[datatype, lookup.LENGTH]
    written[row, KIND], written[row, NAME] = kind, 0
    written[row, START], written[row, LENGTH] = start, length
    written[row, MORE], written[row, MORE_LENGTH] = more, more_length
    return True


@lean_part
def put_key(key: int, written: Ids, first: int, names: Bytes, arena: Bytes, entries: Ids, out: Bytes, at: int) -> int:
    """Write the IRI of a graph in brackets to a place; returns its end, or BAD if there is no room.

    first   the number of the first written term
    """
    if is_lazy(key):
        row = LAZY - key - first
        start, length = written[row, START], written[row, LENGTH]
        more, more_length = written[row, MORE], written[row, MORE_LENGTH]
        if at + length + more_length + 2 + WORD > len(out):
            return BAD
        out[at] = LESS
        stop = copied(names, more, more_length, out, copied(names, start, length, out, at + 1))
        out[stop] = GREATER
        return stop + 1
    if at + entries[key, TERM_LENGTH] + WORD > len(out):
        return BAD
    return copied(arena, entries[key, TERM_START], entries[key, TERM_LENGTH], out, at)


@lean_part
def is_written(
    key: int, written: Ids, first: int, names: Bytes, arena: Bytes, entries: Ids, out: Bytes, start: int, stop: int
) -> bool:
    """True if an IRI has the text out[start:stop], which `put_key` has written."""
    if is_lazy(key):
        row = LAZY - key - first
        return _is_pair(written, row, names, out, start + 1, stop - 1)
    return (
        key > 0
        and entries[key, TERM_LENGTH] == stop - start
        and _ends_alike(arena, entries[key, TERM_START], out, start, stop - start)
    )


@lean_part
def _is_pair(written: Ids, row: int, names: Bytes, out: Bytes, start: int, stop: int) -> bool:
    length, more_length = written[row, LENGTH], written[row, MORE_LENGTH]
    if length + more_length != stop - start:
        return False
    return _ends_alike(names, written[row, MORE], out, start + length, more_length) and _ends_alike(
        names, written[row, START], out, start, length
    )


@lean_part
def _ends_alike(left: Bytes, left_start: int, right: Bytes, right_start: int, length: int) -> bool:
    """True if two strings of one length are equal; from the end on, where names of graphs differ."""
    at = length - 1
    while at >= 0 and byte_at(left, left_start + at) == byte_at(right, right_start + at):
        at -= 1
    return at < 0
