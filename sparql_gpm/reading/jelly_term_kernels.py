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
from sparql_gpm.reading import jelly_written as write
from sparql_gpm.reading.jelly_lookups import LAZY, Lookups
from sparql_gpm.reading.jelly_written import IRI, LABEL, LITERAL, is_lazy, put_token, read_literal, token_bytes_max
from sparql_gpm.reading.protobuf_kernels import BAD, varint
from sparql_gpm.reading.token_kernels import (
    NO_TIME,
    UNDERSCORE,
    character_length,
    is_digit,
    is_open_iri,
    is_path,
    is_plain_token,
    plain_number,
    plain_time,
)

FINE, LEARN, ROOM, ODD = range(4)
"""States of a frame, each beside those before it: it is read; it has forms that are to be learned; an array is too
short; it is for the reader in Python."""
ROWS, ASIDES, GROUPS, FRAMES, UNCERTAIN, FORMS, STATUS, PLACE, CHANGES, WRITTEN, KEYS = range(11)
"""Counts of a scan: rows, asides, groups and frames read; ids whose value is uncertain; places that hold a form; the
status of the last frame; the place behind the last frame that is read; changes of the lookup tables in a frame;
terms written without ids; bytes of the names of groups."""
COUNTS = 11
UNLEARNED, BLANK, MALFORMED = 0, -1, -2
"""In place of the id of a form: not known yet; it is a blank node; it is no term."""
UNREAD = -(2**63)
"""In place of a value of a term: it is not known, and its parts are in a row."""


class Terms(NamedTuple):
    """The terms of a dictionary and the forms of a reader, each a set of strings as in term_table_kernels.

    numbers         by the id of a term
    form_ids        by the number of a form: the id of its term, or UNLEARNED, BLANK or MALFORMED
    token           room for the text of a term
    uncertain       ids of new literals without a certain numeric value
    needed          by id, 1 for the predicates of statements whose terms have ids; others have none. Empty: all have
    written         int64[., WRITTEN_COLUMNS]: the terms without ids
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
    written: Ids
    counts: Ids


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
def is_needed(predicate: int, terms: Terms) -> bool:
    """True if statements with this predicate have all their ids."""
    needed = terms.needed
    return len(needed) == 0 or predicate <= 0 or (predicate < len(needed) and needed[predicate] == 1)


@lean_part
def term_id(
    text: Bytes, at: int, end: int, kind: int, row: int, lazily: bool, is_time: bool, lookups: Lookups, terms: Terms
) -> int:
    """The id of a term in text[at:end], or the number in place of an id; 0 where the frame cannot be read now.

    kind        IRI, LABEL or LITERAL
    row         that of the written term, if it has one, else BAD: `at`, `end` and `kind` mean nothing then
    lazily      a term that is certainly valid gets no id
    is_time     it is the object of a timestamp: one of the usual form gets no id
    """
    written, registers, token = terms.written, lookups.registers, terms.token
    fresh, known_valid = row == BAD, row != BAD
    if fresh:
        row = terms.counts[WRITTEN]
        found = _read(text, at, end, kind, row, lookups, terms)
        if found != UNREAD:
            return found
        name, prefix = written[row, write.NAME], registers[lookup.PREFIX]
        known_valid = (
            kind == IRI and lookups.names[name, lookup.PLAIN] == 1 and lookups.prefixes[prefix, lookup.PLAIN] == 1
        )
    stop = 0
    if not (fresh and lazily and known_valid):
        if token_bytes_max(written, row) > len(token):
            worsen(terms.counts, ROOM)
            return 0
        stop = put_token(written, row, text, lookups.text, token)
    if fresh:
        if is_time and kind == LITERAL:
            written[row, write.TIME] = plain_time(token, 0, stop)
        timed = written[row, write.TIME] != NO_TIME
        if timed or (lazily and kind != LABEL and (known_valid or is_plain_token(token, 0, stop))):
            terms.counts[WRITTEN] = row + 1
            return _remember(row, int(LAZY - registers[lookup.FIRST] - row), kind, lookups, terms)
    found = _interned(stop, known_valid, terms)
    if found > 0:
        _remember(row, found, written[row, write.KIND], lookups, terms)
    return found


@lean_part
def _read(text: Bytes, at: int, end: int, kind: int, row: int, lookups: Lookups, terms: Terms) -> int:
    """Enter a term in a row, UNREAD; or what is known of it already, as `term_id`."""
    written = terms.written
    if row >= len(written):
        worsen(terms.counts, ROOM)
        return 0
    written[row, write.TIME], written[row, write.NAME] = NO_TIME, 0
    if kind == IRI:
        return _read_iri(text, at, end, row, lookups, terms)
    if kind == LABEL:
        written[row, write.KIND], written[row, write.MORE_LENGTH] = LABEL, 0
        written[row, write.START], written[row, write.LENGTH] = at, end - at
    elif not read_literal(text, at, end, lookups.datatypes, written, row):
        worsen(terms.counts, ODD)
        return 0
    return UNREAD


@lean_part
def _read_iri(text: Bytes, at: int, end: int, row: int, lookups: Lookups, terms: Terms) -> int:
    names, prefixes, registers, written = lookups.names, lookups.prefixes, lookups.registers, terms.written
    if not identifiers(text, at, end, lookups):
        worsen(terms.counts, ODD)
        return 0
    name, prefix = registers[lookup.NAME], registers[lookup.PREFIX]
    known = names[name, lookup.TERM]
    if names[name, lookup.KEY] == prefixes[prefix, lookup.KEY] and (
        known > 0 or is_lazy(known + registers[lookup.FIRST])
    ):
        return int(known)
    if names[name, lookup.LENGTH] < 0 or prefixes[prefix, lookup.LENGTH] < 0:
        worsen(terms.counts, ODD)
        return 0
    written[row, write.KIND], written[row, write.NAME] = IRI, name
    written[row, write.START], written[row, write.LENGTH] = (
        prefixes[prefix, lookup.START],
        prefixes[prefix, lookup.LENGTH],
    )
    written[row, write.MORE], written[row, write.MORE_LENGTH] = (
        names[name, lookup.START],
        names[name, lookup.LENGTH],
    )
    written[row, write.KEY] = prefixes[prefix, lookup.KEY]
    return UNREAD


@lean_part
def _remember(row: int, value: int, kind: int, lookups: Lookups, terms: Terms) -> int:
    """Keep the value of an IRI beside its name, unless the name has another text by now; returns it."""
    if kind == IRI:
        name = terms.written[row, write.NAME]
        names = lookups.names
        same = names[name, lookup.START] == terms.written[row, write.MORE]
        if same and names[name, lookup.LENGTH] == terms.written[row, write.MORE_LENGTH]:
            names[name, lookup.KEY], names[name, lookup.TERM] = terms.written[row, write.KEY], value
    return value


@lean_part
def is_plain_entry(text: Bytes, start: int, stop: int, table: int) -> bool:
    """True if text[start:stop] is certainly part of a valid IRI, as the column PLAIN says."""
    if table == lookup.NAMES:
        return is_path(text, start, stop)
    return table == lookup.PREFIXES and is_open_iri(text, start, stop)


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
def _interned(stop: int, valid: bool, terms: Terms) -> int:
    """The id of `token[:stop]`; its number, negative, if it is a blank node; 0 where the frame cannot be read now.

    valid   it is certainly a canonical term
    """
    token, entries, counts = terms.token, terms.entries, terms.counts
    hash_ = hash_of(token, 0, stop)
    known = 0 if token[0] == UNDERSCORE else find(token, 0, stop, hash_, terms.arena, entries, terms.slots)
    if known > 0 and entries[known, CHECKED] == 1:
        return known
    if not valid and not is_plain_token(token, 0, stop):
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
def _is_certain_blank(token: Bytes, stop: int) -> bool:
    """True for a blank node whose label is of letters and digits."""
    certain = token[0] == UNDERSCORE and stop > 2
    for at in range(2, stop):
        byte = byte_at(token, at)
        certain &= is_digit(byte) or 65 <= byte <= 90 or 97 <= byte <= 122
    return bool(certain)
