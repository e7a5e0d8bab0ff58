"""Frames of Jelly as columns of ids, in groups of consecutive statements about one graph.

A frame that is unusual in any way ends the scan, and leaves no trace: it is for the reader in Python.
"""

from __future__ import annotations

from typing import NamedTuple

from arrays.jit import lean_kernel, lean_part
from arrays.words import WORD, Bytes, byte_at
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table_kernels import LENGTH as TERM_LENGTH
from sparql_gpm.interning.term_table_kernels import START as TERM_START
from sparql_gpm.interning.term_table_kernels import same_bytes
from sparql_gpm.reading import jelly_lookups as lookup
from sparql_gpm.reading import jelly_rows as rows
from sparql_gpm.reading.jelly_lookups import DEFAULT, GRAPH, OBJECT, OPEN_GRAPH, PREDICATE, SUBJECT, Lookups
from sparql_gpm.reading.jelly_term_kernels import (
    ASIDES,
    BAD,
    CHANGES,
    FINE,
    FORMS,
    FRAMES,
    GROUPS,
    ODD,
    PLACE,
    ROOM,
    ROWS,
    STATUS,
    Terms,
    copied,
    identifiers,
    is_utf8,
    term_id,
    varint,
    worsen,
)
from sparql_gpm.reading.token_kernels import NO_TIME, plain_time

FLAT, UNITS, TRIPLE_UNITS = range(3)
"""Frames mean nothing; each is a unit; each is a unit of one graph without a name."""
UNUSUAL, STAMPED, UNREAD, CONFLICT, WHOLE_FRAME = 1, 2, 4, 8, 16
"""States of a group: it has a statement that is no part of an event; a timestamp; a timestamp in another form; two
different timestamps; all groups of its frame are to be read together."""
KEY, FRAME, ROW, ASIDE, TIME, STATE, STAMP = range(7)
"""Columns of a group: its graph as a term in a register (DEFAULT: it has no name); its frame; its first row and aside;
its time, if it is STAMPED and not UNREAD; its state; the id of the object of its timestamp."""
GROUP_COLUMNS = 7
BEGIN, END, FRAME_ROW, FRAME_ASIDE = range(4)
"""Columns of a frame: its place in the bytes, its first row and aside."""
UNIT_GRAPHS_MAX = 1024
"""A unit of more graphs is read in Python."""
_LENGTH_BYTES_MAX = 5


class Source(NamedTuple):
    """The input of a scan.

    text            `size` bytes, and a word more; frames begin at `at`
    delimited       frames have their lengths before them; else all of it is one
    bytes_max       the longest frame that is read
    mode            FLAT, UNITS or TRIPLE_UNITS
    time_predicates ids
    """

    text: Bytes
    at: int
    size: int
    delimited: bool
    bytes_max: int
    mode: int
    time_predicates: Ids


class Found(NamedTuple):
    """The output of a scan.

    rows        int64[3, rows]: subject, predicate and object of the statements of events
    asides      int64[asides, 4]: statements of the default graph, each with the number of rows before it
    groups      int64[groups, GROUP_COLUMNS]
    frames      int64[frames, 4]
    saved       int64[REGISTERS], for the registers before a frame
    """

    rows: Ids
    asides: Ids
    groups: Ids
    frames: Ids
    saved: Ids


@lean_kernel
def scan(source: Source, lookups: Lookups, terms: Terms, found: Found) -> None:
    """Read whole frames, up to one that is not complete or not FINE."""
    text, counts, registers = source.text, terms.counts, lookups.registers
    at = source.at
    counts[PLACE], counts[STATUS] = at, FINE
    while at < source.size and counts[FRAMES] < len(found.frames):
        begin, end = at, source.size
        if source.delimited:
            length, begin = varint(text, at, source.size)
            if begin == BAD or length > source.bytes_max or begin + length > source.size:
                return
            end = begin + length
        for number in range(lookup.REGISTERS):
            found.saved[number] = registers[number]
        groups, row, aside, forms = counts[GROUPS], counts[ROWS], counts[ASIDES], counts[FORMS]
        counts[CHANGES] = 0
        frame = counts[FRAMES]
        found.frames[frame, BEGIN], found.frames[frame, END] = begin, end
        found.frames[frame, FRAME_ROW], found.frames[frame, FRAME_ASIDE] = row, aside
        _frame(source, begin, end, groups, lookups, terms, found)
        if counts[STATUS] != FINE:
            counts[GROUPS], counts[ROWS], counts[ASIDES], counts[FORMS] = groups, row, aside, forms
            _undo(lookups, found.saved, counts[CHANGES])
            return
        counts[FRAMES] = frame + 1
        counts[PLACE] = at = end


@lean_part
def _undo(lookups: Lookups, saved: Ids, changes: int) -> None:
    """Put registers and tables back to what they were before the frame; keys are never given again."""
    keys = lookups.registers[lookup.KEYS]
    for change in range(changes - 1, -1, -1):
        table, identifier = lookups.changes[change, 0], lookups.changes[change, 1]
        start, length = lookups.changes[change, 2], lookups.changes[change, 3]
        keys += 1
        entries = lookups.names if table == lookup.NAMES else lookups.prefixes
        if table == lookup.DATATYPES:
            entries = lookups.datatypes
        entries[identifier, lookup.START], entries[identifier, lookup.LENGTH] = start, length
        entries[identifier, lookup.KEY] = keys if table == lookup.PREFIXES else lookup.UNKNOWN
    for number in range(lookup.USED):
        lookups.registers[number] = saved[number]
    lookups.registers[lookup.KEYS] = keys


@lean_part
def _frame(source: Source, begin: int, end: int, groups: int, lookups: Lookups, terms: Terms, found: Found) -> None:
    """Read the rows of a frame; `groups`: the number of groups before it."""
    text, counts = source.text, terms.counts
    at = begin
    while at < end:
        tag = byte_at(text, at)
        length, at = varint(text, at + 1, end)
        if at == BAD or tag >= 0x80 or tag < 8 or (tag & 7 == 2 and at + length > end):
            worsen(counts, ODD)
            return
        if tag & 7 == 0:
            continue
        if tag & 7 != 2:
            worsen(counts, ODD)
            return
        if tag >> 3 == 1 and length > 0:
            _row(source, at, at + length, groups, lookups, terms, found)
            if counts[STATUS] >= ROOM:
                return
        at += length
    if source.mode == UNITS and counts[STATUS] == FINE:
        _check_unit(groups, terms, found)


@lean_part
def _row(source: Source, at: int, end: int, groups: int, lookups: Lookups, terms: Terms, found: Found) -> None:
    """Read a row, which has one field."""
    text, counts, registers = source.text, terms.counts, lookups.registers
    tag = byte_at(text, at)
    kind = tag >> 3
    length, at = varint(text, at + 1, end)
    if at == BAD or tag >= 0x80 or tag & 7 != 2 or at + length != end:
        worsen(counts, ODD)
    elif kind in (rows.TRIPLE, rows.QUAD, rows.GRAPH_START):
        if kind == rows.GRAPH_START:
            registers[OPEN_GRAPH] = DEFAULT
        _terms(text, at, end, kind == rows.GRAPH_START, lookups, terms)
        if counts[STATUS] != FINE or kind == rows.GRAPH_START:
            return
        graph = registers[GRAPH] if kind == rows.QUAD else registers[OPEN_GRAPH]
        subject, predicate, target = registers[SUBJECT], registers[PREDICATE], registers[OBJECT]
        named = source.mode == TRIPLE_UNITS and graph != DEFAULT
        if subject == 0 or predicate <= 0 or target == 0 or graph == 0 or named:
            worsen(counts, ODD)
        else:
            _enter(source, subject, predicate, target, graph, groups, terms, found)
    elif kind in (rows.NAME, rows.PREFIX, rows.DATATYPE):
        _entry(text, at, end, kind - rows.NAME, lookups, counts)
    elif kind == rows.GRAPH_END:
        registers[OPEN_GRAPH] = DEFAULT
    elif kind == rows.NAMESPACE:
        _namespace(text, at, end, lookups, counts)
    else:
        known = kind == rows.OPTIONS and length == len(lookups.options) - WORD
        if not known or not same_bytes(text, at, lookups.options, 0, length):
            worsen(counts, ODD)


@lean_part
def _terms(text: Bytes, at: int, end: int, begins_graph: bool, lookups: Lookups, terms: Terms) -> None:
    """Read the terms of a statement, or the graph that is open from now on, into registers."""
    begin, first = at, 3 if begins_graph else 0
    while at < end:
        tag = byte_at(text, at)
        length, stop = varint(text, at + 1, end)
        slot, kind = first + (((tag >> 3) - 1) >> 2), ((tag >> 3) - 1) & 3
        again = begins_graph and at > begin
        if stop == BAD or tag >= 0x80 or tag & 7 != 2 or tag < 8 or stop + length > end or slot > GRAPH or again:
            worsen(terms.counts, ODD)
            return
        at = stop
        register = OPEN_GRAPH if begins_graph else slot
        if kind == 2 and slot == GRAPH:
            lookups.registers[register] = DEFAULT
        elif kind == 3 or (kind == 2 and slot != OBJECT) or (kind == 1 and slot == PREDICATE):
            worsen(terms.counts, ODD)
            return
        else:
            lookups.registers[register] = term_id(text, at, at + length, kind, lookups, terms)
        at += length


@lean_part
def _namespace(text: Bytes, at: int, end: int, lookups: Lookups, counts: Ids) -> None:
    """The IRI of a namespace is the last one from now on."""
    while at < end:
        tag = byte_at(text, at)
        length, at = varint(text, at + 1, end)
        if at == BAD or at + length > end or (tag != 10 and tag != 18):
            worsen(counts, ODD)
            return
        if tag == 18 and not identifiers(text, at, at + length, lookups):
            worsen(counts, ODD)
        at += length


@lean_part
def _entry(text: Bytes, at: int, end: int, table: int, lookups: Lookups, counts: Ids) -> None:
    """Enter a text in a lookup table."""
    identifier = start = length = 0
    while at < end:
        tag = byte_at(text, at)
        value, at = varint(text, at + 1, end)
        if at == BAD or (tag != 8 and (tag != 18 or at + value > end)):
            worsen(counts, ODD)
            return
        if tag == 8:
            identifier = value
        else:
            start, length = at, value
            at += value
    registers = lookups.registers
    entries = lookups.names if table == lookup.NAMES else lookups.prefixes
    if table == lookup.DATATYPES:
        entries = lookups.datatypes
    if identifier == 0:
        identifier = registers[lookup.LAST + table] + 1
    used, change = registers[lookup.USED], counts[CHANGES]
    if identifier >= len(entries) or not is_utf8(text, start, start + length):
        worsen(counts, ODD)
    elif used + length + WORD > len(lookups.text) or change >= len(lookups.changes):
        worsen(counts, ROOM)
    else:
        lookups.changes[change, 0], lookups.changes[change, 1] = table, identifier
        lookups.changes[change, 2], lookups.changes[change, 3] = entries[identifier, 0], entries[identifier, 1]
        counts[CHANGES] = change + 1
        registers[lookup.USED] = copied(text, start, length, lookups.text, used)
        registers[lookup.KEYS] += 1
        registers[lookup.LAST + table] = identifier
        entries[identifier, lookup.START], entries[identifier, lookup.LENGTH] = used, length
        entries[identifier, lookup.KEY] = registers[lookup.KEYS] if table == lookup.PREFIXES else lookup.UNKNOWN


@lean_part
def _enter(
    source: Source, subject: int, predicate: int, target: int, graph: int, groups: int, terms: Terms, found: Found
) -> None:
    """Enter a statement in the group of its graph."""
    counts, out = terms.counts, found.groups
    states_time = False
    for index in range(len(source.time_predicates)):
        states_time |= predicate == source.time_predicates[index]
    aside = graph == DEFAULT and source.mode != TRIPLE_UNITS
    key = subject if aside else graph
    first = groups if source.mode != FLAT else 0
    last = counts[GROUPS] - 1
    foreign = aside and not states_time
    if last < first or (out[last, KEY] != key and not foreign):
        last = _begin_group(0 if foreign else key, counts, out)
        if foreign or (key != DEFAULT and not _is_ascii(key, terms)):
            out[last, STATE] |= UNUSUAL
    if foreign:
        out[last, STATE] |= UNUSUAL
    if states_time and (aside or subject == graph or source.mode == TRIPLE_UNITS):
        _stamp(target, last, terms, out)
    if aside:
        row = counts[ASIDES]
        found.asides[row, 0], found.asides[row, 1], found.asides[row, 2] = subject, predicate, target
        found.asides[row, 3] = counts[ROWS]
        counts[ASIDES] = row + 1
    else:
        row = counts[ROWS]
        found.rows[0, row], found.rows[1, row], found.rows[2, row] = subject, predicate, target
        counts[ROWS] = row + 1


@lean_part
def _is_ascii(key: int, terms: Terms) -> bool:
    """True for an IRI in ASCII."""
    if key <= 0:
        return False
    start = terms.entries[key, TERM_START]
    every = 0
    for at in range(start, start + terms.entries[key, TERM_LENGTH]):
        every |= byte_at(terms.arena, at)
    return every < 0x80


@lean_part
def _begin_group(key: int, counts: Ids, out: Ids) -> int:
    group = counts[GROUPS]
    out[group, KEY], out[group, FRAME] = key, counts[FRAMES]
    out[group, ROW], out[group, ASIDE] = counts[ROWS], counts[ASIDES]
    out[group, TIME], out[group, STATE], out[group, STAMP] = NO_TIME, 0, 0
    counts[GROUPS] = group + 1
    return int(group)


@lean_part
def _stamp(target: int, group: int, terms: Terms, out: Ids) -> None:
    """Enter a timestamp with this object in a group."""
    time = NO_TIME
    if target > 0:
        start = terms.entries[target, TERM_START]
        time = plain_time(terms.arena, start, start + terms.entries[target, TERM_LENGTH])
    else:
        out[group, STATE] |= UNUSUAL
    if out[group, STATE] & STAMPED:
        if time == NO_TIME or time != out[group, TIME]:
            out[group, STATE] |= CONFLICT
        return
    out[group, TIME], out[group, STAMP] = time, target
    out[group, STATE] |= STAMPED | UNREAD if time == NO_TIME else STAMPED


@lean_part
def _check_unit(first: int, terms: Terms, found: Found) -> None:
    """Mark the groups of a unit unless they stand for themselves: each graph once, with triples, and nothing else."""
    out, stop, last_row = found.groups, terms.counts[GROUPS], terms.counts[ROWS]
    apart = stop - first <= UNIT_GRAPHS_MAX
    for group in range(first, stop):
        next_row = out[group + 1, ROW] if group + 1 < stop else last_row
        apart &= out[group, STATE] & UNUSUAL == 0 and out[group, ROW] < next_row
    if apart:
        for group in range(first + 1, stop):
            for other in range(first, group):
                apart &= out[group, KEY] != out[other, KEY]
    if not apart:
        for group in range(first, stop):
            out[group, STATE] |= WHOLE_FRAME
