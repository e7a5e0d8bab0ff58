"""Terms of Jelly as ids: IRIs by the lookup tables, each pair of a prefix and a name once; literals and blank nodes by
their canonical N-Triples texts.

A text that is not certainly a canonical term is a *form*, which the strict parser reads once (`jelly_forms`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import lean_part
from arrays.words import WORD, Bytes, byte_at
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table_kernels import CHECKED, FREE, NEXT, USED, Slots, add, find, hash_of
from sparql_gpm.reading import jelly_lookups as lookup
from sparql_gpm.reading.jelly_lookups import DEFAULT, LAZY, Lookups
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
    character_length,
    is_digit,
    is_plain_token,
    plain_number,
)

FINE, LEARN, ROOM, ODD = range(4)
"""States of a frame, each beside those before it: it is read; it has forms that are to be learned; an array is too
short; it is for the reader in Python."""
ROWS, ASIDES, GROUPS, FRAMES, UNCERTAIN, FORMS, STATUS, PLACE, CHANGES, LAZIES = range(10)
"""Counts of a scan: rows, asides, groups and frames read; ids whose value is uncertain; places that hold a form; the
status of the last frame; the place behind the last frame that is read; changes of the lookup tables in a frame;
literals without ids."""
COUNTS = 10
UNLEARNED, BLANK, MALFORMED = 0, -1, -2
"""In place of the id of a form: not known yet; it is a blank node; it is no term."""
BAD = -1
"""In place of a position: the bytes before it cannot be read."""
_BYTES_32 = 5
_LETTER_N, _LETTER_R = 110, 114


class Terms(NamedTuple):
    """The terms of a dictionary and the forms of a reader, each a set of strings as in term_table_kernels.

    numbers         by the id of a term
    form_ids        by the number of a form: the id of its term, or UNLEARNED, BLANK or MALFORMED
    token           room for the text of a term
    uncertain       ids of new literals without a certain numeric value
    needed          by id, 1 for the predicates of statements whose literals have ids; others are none. Empty: all have
    lazy            int64[statements, 2]: where each literal without an id is in the text
    counts          int64[COUNTS]
    """

    arena: Bytes
    entries: Ids
    slots: Slots
    numbers: NDArray[np.float64]
    form_arena: Bytes
    form_entries: Ids
    form_slots: Slots
    form_ids: Ids
    token: Bytes
    uncertain: Ids
    needed: Bytes
    lazy: Ids
    counts: Ids


@lean_part
def varint(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """The number at a place, and the place behind it; BAD if it breaks off or is longer than one of 32 bits."""
    value = shift = 0
    for place in range(at, min(end, at + _BYTES_32)):
        byte = byte_at(text, place)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    return 0, BAD


@lean_part
def worsen(counts: Ids, status: int) -> None:
    """Note that the frame has this status, unless it has a worse one."""
    counts[STATUS] = max(counts[STATUS], status)


@lean_part
def identifiers(text: Bytes, at: int, end: int, lookups: Lookups) -> bool:
    """Read the prefix and name of an IRI into their registers; False if they cannot be read."""
    prefix = name = 0
    while at < end:
        tag = byte_at(text, at)
        if tag == 8:
            prefix, at = varint(text, at + 1, end)
        elif tag == 16:
            name, at = varint(text, at + 1, end)
        else:
            return False
        if at == BAD:
            return False
    registers = lookups.registers
    if prefix > 0:
        registers[lookup.PREFIX] = prefix
    registers[lookup.NAME] = name if name > 0 else registers[lookup.NAME] + 1
    return bool(registers[lookup.PREFIX] < len(lookups.prefixes) and registers[lookup.NAME] < len(lookups.names))


@lean_part
def is_lazy(value: int) -> bool:
    """True for a number in place of a literal without an id."""
    return DEFAULT < value <= LAZY


@lean_part
def is_needed(predicate: int, terms: Terms) -> bool:
    """True if statements with this predicate have all their ids."""
    needed = terms.needed
    return len(needed) == 0 or predicate <= 0 or (predicate < len(needed) and needed[predicate] == 1)


@lean_part
def term_id(text: Bytes, at: int, end: int, kind: int, lazily: bool, lookups: Lookups, terms: Terms) -> int:
    """The id of an IRI (kind 0), blank node (1) or literal (2), as `_interned`.

    lazily  a literal that is certainly valid gets none
    """
    names, registers = lookups.names, lookups.registers
    if kind == 0:
        if not identifiers(text, at, end, lookups):
            worsen(terms.counts, ODD)
            return 0
        name, key = registers[lookup.NAME], lookups.prefixes[registers[lookup.PREFIX], lookup.KEY]
        if names[name, lookup.KEY] == key and names[name, lookup.TERM] > 0:
            return int(names[name, lookup.TERM])
        stop = _iri(lookups, terms)
    else:
        name = key = 0
        stop = _blank(text, at, end, terms) if kind == 1 else _literal(text, at, end, lookups, terms)
    if stop == 0:
        return 0
    if lazily and is_plain_token(terms.token, 0, stop):
        number = terms.counts[LAZIES]
        terms.lazy[number, 0], terms.lazy[number, 1] = at, end
        terms.counts[LAZIES] = number + 1
        return int(LAZY - number)
    found = _interned(stop, terms)
    if kind == 0 and found > 0:
        names[name, lookup.KEY], names[name, lookup.TERM] = key, found
    return found


@lean_part
def _iri(lookups: Lookups, terms: Terms) -> int:
    """Write the last IRI as a token; returns its end, or 0."""
    prefix, name = lookups.registers[lookup.PREFIX], lookups.registers[lookup.NAME]
    names, prefixes = lookups.names, lookups.prefixes
    if names[name, lookup.LENGTH] < 0 or prefixes[prefix, lookup.LENGTH] < 0:
        worsen(terms.counts, ODD)
        return 0
    if names[name, lookup.LENGTH] + prefixes[prefix, lookup.LENGTH] + 2 + WORD > len(terms.token):
        worsen(terms.counts, ROOM)
        return 0
    terms.token[0] = LESS
    stop = copied(lookups.text, prefixes[prefix, lookup.START], prefixes[prefix, lookup.LENGTH], terms.token, 1)
    stop = copied(lookups.text, names[name, lookup.START], names[name, lookup.LENGTH], terms.token, stop)
    terms.token[stop] = GREATER
    return stop + 1


@lean_part
def _blank(text: Bytes, at: int, end: int, terms: Terms) -> int:
    """Write a blank node as a token; returns its end, or 0."""
    if end - at + 2 + WORD > len(terms.token):
        worsen(terms.counts, ROOM)
        return 0
    terms.token[0], terms.token[1] = UNDERSCORE, COLON
    return copied(text, at, end - at, terms.token, 2)


@lean_part
def _literal(text: Bytes, at: int, end: int, lookups: Lookups, terms: Terms) -> int:
    """Write a literal as a token; returns its end, or 0."""
    token, datatypes = terms.token, lookups.datatypes
    start = length = tag_length = datatype = 0
    tag_start = -1
    while at < end:
        tag = byte_at(text, at)
        size, at = varint(text, at + 1, end)
        if at == BAD or (tag != 24 and at + size > end):
            worsen(terms.counts, ODD)
            return 0
        if tag == 10:
            start, length = at, size
        elif tag == 18:
            tag_start, tag_length = at, size
        elif tag == 24:
            datatype = size
        else:
            worsen(terms.counts, ODD)
            return 0
        at += 0 if tag == 24 else size
    if tag_start < 0 and datatype > 0:
        if datatype >= len(datatypes) or datatypes[datatype, lookup.LENGTH] < 0:
            worsen(terms.counts, ODD)
            return 0
        tag_length = datatypes[datatype, lookup.LENGTH]
    if 2 * length + tag_length + 6 + WORD > len(token):
        worsen(terms.counts, ROOM)
        return 0
    token[0] = QUOTE
    stop = _escaped(text, start, length, token)
    if tag_start >= 0:
        token[stop] = AT
        stop = copied(text, tag_start, tag_length, token, stop + 1)
    elif datatype > 0:
        token[stop], token[stop + 1], token[stop + 2] = CARET, CARET, LESS
        stop = copied(lookups.text, datatypes[datatype, lookup.START], tag_length, token, stop + 3)
        token[stop] = GREATER
        stop += 1
    return stop


@lean_part
def copied(text: Bytes, start: int, length: int, out: Bytes, at: int) -> int:
    """Copy a string to a place; returns the place behind it."""
    for offset in range(length):
        out[at + offset] = text[start + offset]
    return at + length


@lean_part
def is_utf8(text: Bytes, start: int, stop: int) -> bool:
    """True if text[start:stop] is well-formed UTF-8."""
    at = start
    while at < stop:
        length = 1 if byte_at(text, at) < 0x80 else character_length(text, at, stop)
        if length == 0:
            return False
        at += length
    return True


@lean_part
def _interned(stop: int, terms: Terms) -> int:
    """The id of `token[:stop]`; its number, negative, if it is a blank node; 0 where the frame cannot be read now."""
    token, entries, counts = terms.token, terms.entries, terms.counts
    hash_ = hash_of(token, 0, stop)
    known = 0 if token[0] == UNDERSCORE else find(token, 0, stop, hash_, terms.arena, entries, terms.slots)
    if known > 0 and entries[known, CHECKED] == 1:
        return known
    if not is_plain_token(token, 0, stop):
        return _form(stop, hash_, terms)
    if known == 0:
        full = entries[0, FREE] == 0 and entries[0, NEXT] >= len(entries)
        if full or entries[0, USED] + stop + WORD > len(terms.arena) or counts[UNCERTAIN] >= len(terms.uncertain):
            worsen(counts, ROOM)
            return 0
        known = add(token, 0, stop, hash_, terms.arena, entries, terms.slots)
        value, certain = plain_number(token, 0, stop)
        terms.numbers[known] = value
        if not certain:
            terms.uncertain[counts[UNCERTAIN]] = known
            counts[UNCERTAIN] += 1
    entries[known, CHECKED] = 1
    return known


@lean_part
def _form(stop: int, hash_: int, terms: Terms) -> int:
    """The id of a form, as `_interned`."""
    entries, counts = terms.form_entries, terms.counts
    form = find(terms.token, 0, stop, hash_, terms.form_arena, entries, terms.form_slots)
    if form == 0:
        if entries[0, NEXT] >= len(entries) or entries[0, USED] + stop + WORD > len(terms.form_arena):
            worsen(counts, ROOM)
            return 0
        form = add(terms.token, 0, stop, hash_, terms.form_arena, entries, terms.form_slots)
        terms.form_ids[form] = BLANK if _is_certain_blank(terms.token, stop) else UNLEARNED
    found = int(terms.form_ids[form])
    if found == BLANK:
        counts[FORMS] += 1
        return -form
    if found in (UNLEARNED, MALFORMED):
        worsen(counts, LEARN if found == UNLEARNED else ODD)
        return 0
    return found


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
def _is_certain_blank(token: Bytes, stop: int) -> bool:
    """True for a blank node whose label is of letters and digits."""
    certain = token[0] == UNDERSCORE and stop > 2
    for at in range(2, stop):
        byte = byte_at(token, at)
        certain &= is_digit(byte) or 65 <= byte <= 90 or 97 <= byte <= 122
    return bool(certain)
