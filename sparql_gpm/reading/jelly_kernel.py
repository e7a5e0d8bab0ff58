"""Frames of Jelly as columns of ids, in groups of consecutive statements about one graph.

A frame that is unusual in any way ends the scan, and leaves no trace: it is for the reader in Python.
"""

from __future__ import annotations

from arrays.jit import lean_kernel, lean_part
from arrays.words import WORD, Bytes, byte_at
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table_kernels import same_bytes
from sparql_gpm.reading import jelly_lookups as lookup
from sparql_gpm.reading import jelly_rows as rows
from sparql_gpm.reading.jelly_groups import (
    BEGIN,
    END,
    FRAME_ASIDE,
    FRAME_ROW,
    TRIPLE_UNITS,
    UNITS,
    Found,
    Source,
    check_unit,
    enter,
    states_time,
)
from sparql_gpm.reading.jelly_lookups import (
    DEFAULT,
    FIRST,
    GRAPH,
    LAZY,
    OBJECT,
    OPEN_GRAPH,
    PREDICATE,
    SUBJECT,
    Lookups,
)
from sparql_gpm.reading.jelly_term_kernels import (
    ASIDES,
    CHANGES,
    FINE,
    FORMS,
    FRAMES,
    GROUPS,
    KEYS,
    ODD,
    PLACE,
    ROOM,
    ROWS,
    STATUS,
    WRITTEN,
    Terms,
    identifiers,
    is_needed,
    is_plain_entry,
    is_utf8,
    term_id,
    worsen,
)
from sparql_gpm.reading.jelly_written import IRI, LABEL, LITERAL, TIME, TRIPLE, copied, is_lazy
from sparql_gpm.reading.protobuf_kernels import BAD, varint
from sparql_gpm.reading.token_kernels import NO_TIME


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
        written, keys = counts[WRITTEN], counts[KEYS]
        counts[CHANGES] = 0
        frame = counts[FRAMES]
        found.frames[frame, BEGIN], found.frames[frame, END] = begin, end
        found.frames[frame, FRAME_ROW], found.frames[frame, FRAME_ASIDE] = row, aside
        _frame(source, begin, end, groups, lookups, terms, found)
        if counts[STATUS] != FINE:
            counts[GROUPS], counts[ROWS], counts[ASIDES], counts[FORMS] = groups, row, aside, forms
            counts[WRITTEN], counts[KEYS] = written, keys
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
        entries[identifier, lookup.PLAIN] = 0
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
        check_unit(groups, terms, found)


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
        graph_at = GRAPH if kind == rows.QUAD else OPEN_GRAPH
        _terms(source, at, end, kind == rows.GRAPH_START, graph_at, lookups, terms)
        if counts[STATUS] != FINE or kind == rows.GRAPH_START:
            return
        graph = registers[graph_at]
        subject, predicate, target = registers[SUBJECT], registers[PREDICATE], registers[OBJECT]
        named = source.mode == TRIPLE_UNITS and graph != DEFAULT
        if subject == 0 or predicate <= 0 or target == 0 or graph == 0 or named:
            worsen(counts, ODD)
        else:
            enter(source, subject, predicate, target, graph, groups, lookups, terms, found)
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
def _terms(
    source: Source, at: int, end: int, begins_graph: bool, graph_at: int, lookups: Lookups, terms: Terms
) -> None:
    """Read the terms of a statement, or the graph that is open from now on, into registers.

    graph_at    the register with the graph of the statement
    """
    text, begin, registers = source.text, at, lookups.registers
    first, has_object = 3 if begins_graph else 0, False
    start = stop = kind = 0
    while True:
        row = BAD
        if at < end:
            tag = byte_at(text, at)
            length, start = varint(text, at + 1, end)
            slot, kind = first + (((tag >> 3) - 1) >> 2), ((tag >> 3) - 1) & 3
            again = (begins_graph and at > begin) or (slot == PREDICATE and has_object)
            if start == BAD or tag >= 0x80 or tag & 7 != 2 or tag < 8 or start + length > end or slot > GRAPH or again:
                worsen(terms.counts, ODD)
                return
            at = stop = start + length
            has_object |= slot == OBJECT
            register = OPEN_GRAPH if begins_graph else slot
        else:
            slot = -1 if begins_graph else _wanted_slot(source, registers[graph_at], registers, terms)
            if slot < 0:
                return
            register, kind = slot, IRI
            row = LAZY - registers[slot] - registers[FIRST]
        if kind == LITERAL and slot == GRAPH:
            registers[register] = DEFAULT
        elif kind == TRIPLE or (kind == LITERAL and slot != OBJECT) or (kind == LABEL and slot == PREDICATE):
            worsen(terms.counts, ODD)
            return
        else:
            lazily = slot != PREDICATE and (kind == IRI or not is_needed(registers[PREDICATE], terms))
            is_time = slot == OBJECT and states_time(registers[PREDICATE], source)
            registers[register] = term_id(text, start, stop, kind, row, lazily, is_time, lookups, terms)


@lean_part
def _wanted_slot(source: Source, graph: int, registers: Ids, terms: Terms) -> int:
    """A slot of a statement whose term is without an id and should have one; -1 if there is none."""
    predicate, target = registers[PREDICATE], registers[OBJECT]
    if is_lazy(predicate):
        return PREDICATE
    if not is_lazy(registers[SUBJECT]) and not is_lazy(target):
        return -1
    if (graph != DEFAULT or source.mode == TRIPLE_UNITS) and is_needed(predicate, terms):
        return SUBJECT if is_lazy(registers[SUBJECT]) else OBJECT
    if is_lazy(target) and terms.written[LAZY - target - registers[FIRST], TIME] == NO_TIME:
        return OBJECT if states_time(predicate, source) else -1
    return -1


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
    plain = is_plain_entry(text, start, start + length, table)
    if identifier >= len(entries) or not (plain or is_utf8(text, start, start + length)):
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
        entries[identifier, lookup.PLAIN] = 1 if plain else 0
