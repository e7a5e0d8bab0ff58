"""Statements of Jelly as rows, in groups of consecutive ones about one graph."""

from __future__ import annotations

from typing import NamedTuple

from arrays.jit import lean_part
from arrays.words import Bytes, byte_at
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table_kernels import LENGTH as TERM_LENGTH
from sparql_gpm.interning.term_table_kernels import START as TERM_START
from sparql_gpm.interning.term_table_kernels import same_bytes
from sparql_gpm.reading.jelly_lookups import DEFAULT, FIRST, LAZY, Lookups
from sparql_gpm.reading.jelly_term_kernels import ASIDES, FRAMES, GROUPS, KEYS, ROOM, ROWS, Terms, worsen
from sparql_gpm.reading.jelly_written import TIME as WRITTEN_TIME
from sparql_gpm.reading.jelly_written import is_lazy, is_written, put_key
from sparql_gpm.reading.protobuf_kernels import BAD
from sparql_gpm.reading.token_kernels import NO_TIME, plain_time

FLAT, UNITS, TRIPLE_UNITS = range(3)
"""Frames mean nothing; each is a unit; each is a unit of one graph without a name."""
UNUSUAL, STAMPED, UNREAD, CONFLICT, WHOLE_FRAME = 1, 2, 4, 8, 16
"""States of a group: it has a statement that is no part of an event; a timestamp; a timestamp in another form; two
different timestamps; all groups of its frame are to be read together."""
KEY, FRAME, ROW, ASIDE, TIME, STATE, STAMP, KEY_START, KEY_STOP = range(9)
"""Columns of a group: its graph as a term in a register (DEFAULT: it has no name); its frame; its first row and aside;
its time, if it is STAMPED and not UNREAD; its state; the object of its timestamp, an id if it is UNREAD; the place of
the IRI of its graph, in brackets, among the keys."""
GROUP_COLUMNS = 9
BEGIN, END, FRAME_ROW, FRAME_ASIDE = range(4)
"""Columns of a frame: its place in the bytes, its first row and aside."""
UNIT_GRAPHS_MAX = 1024
"""A unit of more graphs is read in Python."""


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
    keys        the IRIs of the graphs of groups, in brackets, one after the other
    saved       int64[REGISTERS], for the registers before a frame
    """

    rows: Ids
    asides: Ids
    groups: Ids
    frames: Ids
    keys: Bytes
    saved: Ids


@lean_part
def states_time(predicate: int, source: Source) -> bool:
    """True for a predicate of timestamps."""
    found = False
    for index in range(len(source.time_predicates)):
        found |= predicate == source.time_predicates[index]
    return found


@lean_part
def enter(
    source: Source,
    subject: int,
    predicate: int,
    target: int,
    graph: int,
    groups: int,
    lookups: Lookups,
    terms: Terms,
    found: Found,
) -> None:
    """Enter a statement in the group of its graph."""
    counts, out = terms.counts, found.groups
    timed = states_time(predicate, source)
    aside = graph == DEFAULT and source.mode != TRIPLE_UNITS
    key = subject if aside else graph
    first = groups if source.mode != FLAT else 0
    last = counts[GROUPS] - 1
    foreign = aside and not timed
    if last < first or (not foreign and not _is_key(key, last, lookups, terms, found)):
        last = _begin_group(0 if foreign else key, lookups, terms, found)
    elif not foreign:
        out[last, KEY] = key  # written in the same way, it is known at once
    if foreign:
        out[last, STATE] |= UNUSUAL
    if timed and (aside or source.mode == TRIPLE_UNITS or _is_key(subject, last, lookups, terms, found)):
        _stamp(target, last, lookups, terms, out)
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
def _is_key(term: int, group: int, lookups: Lookups, terms: Terms, found: Found) -> bool:
    """True if this is the graph of a group."""
    key, out = found.groups[group, KEY], found.groups
    if term == key:
        return True
    if not is_lazy(term) and not is_lazy(key):
        return False
    start, stop = out[group, KEY_START], out[group, KEY_STOP]
    names, first = lookups.text, lookups.registers[FIRST]
    return start < stop and is_written(
        term, terms.written, first, names, terms.arena, terms.entries, found.keys, start, stop
    )


@lean_part
def _begin_group(key: int, lookups: Lookups, terms: Terms, found: Found) -> int:
    """A new group of a graph; 0 stands for none. Other names than IRIs in ASCII make it UNUSUAL."""
    counts, out = terms.counts, found.groups
    group, start = counts[GROUPS], counts[KEYS]
    stop, state = start, 0
    if key > 0 or is_lazy(key):
        names, first = lookups.text, lookups.registers[FIRST]
        stop = put_key(key, terms.written, first, names, terms.arena, terms.entries, found.keys, start)
        if stop == BAD:
            worsen(counts, ROOM)
            stop = start
        if not is_lazy(key):
            every = 0
            for at in range(start, stop):
                every |= byte_at(found.keys, at)
            state = UNUSUAL if every >= 0x80 else 0
    elif key != DEFAULT:
        state = UNUSUAL
    out[group, KEY], out[group, FRAME] = key, counts[FRAMES]
    out[group, ROW], out[group, ASIDE] = counts[ROWS], counts[ASIDES]
    out[group, TIME], out[group, STATE], out[group, STAMP] = NO_TIME, state, 0
    out[group, KEY_START], out[group, KEY_STOP] = start, stop
    counts[GROUPS], counts[KEYS] = group + 1, stop
    return int(group)


@lean_part
def _stamp(target: int, group: int, lookups: Lookups, terms: Terms, out: Ids) -> None:
    """Enter a timestamp with this object in a group."""
    time = NO_TIME
    if target > 0:
        start = terms.entries[target, TERM_START]
        time = plain_time(terms.arena, start, start + terms.entries[target, TERM_LENGTH])
    elif is_lazy(target):
        time = terms.written[LAZY - target - lookups.registers[FIRST], WRITTEN_TIME]
    else:
        out[group, STATE] |= UNUSUAL
    if out[group, STATE] & STAMPED:
        if time == NO_TIME or time != out[group, TIME]:
            out[group, STATE] |= CONFLICT
        return
    out[group, TIME], out[group, STAMP] = time, target
    out[group, STATE] |= STAMPED | UNREAD if time == NO_TIME else STAMPED


@lean_part
def check_unit(first: int, terms: Terms, found: Found) -> None:
    """Mark the groups of a unit unless they stand for themselves: each graph once, with triples, and nothing else."""
    out, stop, last_row = found.groups, terms.counts[GROUPS], terms.counts[ROWS]
    apart = stop - first <= UNIT_GRAPHS_MAX
    for group in range(first, stop):
        next_row = out[group + 1, ROW] if group + 1 < stop else last_row
        apart &= out[group, STATE] & UNUSUAL == 0 and out[group, ROW] < next_row
    if apart:
        for group in range(first + 1, stop):
            for other in range(first, group):
                apart &= not _same_key(group, other, found)
    if not apart:
        for group in range(first, stop):
            out[group, STATE] |= WHOLE_FRAME


@lean_part
def _same_key(group: int, other: int, found: Found) -> bool:
    """True if two groups are of one graph."""
    out = found.groups
    if out[group, KEY] == out[other, KEY]:
        return True
    start, length = out[group, KEY_START], out[group, KEY_STOP] - out[group, KEY_START]
    if length == 0 or out[other, KEY_STOP] - out[other, KEY_START] != length:
        return False
    return same_bytes(found.keys, start, found.keys, out[other, KEY_START], length)
