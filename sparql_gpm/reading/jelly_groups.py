"""Statements of Jelly as rows, in groups of consecutive ones about one graph."""

from __future__ import annotations

from typing import NamedTuple

from arrays.jit import lean_part
from arrays.words import Bytes, byte_at
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table_kernels import LENGTH as TERM_LENGTH
from sparql_gpm.interning.term_table_kernels import START as TERM_START
from sparql_gpm.reading.jelly_lookups import DEFAULT
from sparql_gpm.reading.jelly_term_kernels import ASIDES, FRAMES, GROUPS, ROWS, Terms
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


@lean_part
def enter(
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
                apart &= out[group, KEY] != out[other, KEY]
    if not apart:
        for group in range(first, stop):
            out[group, STATE] |= WHOLE_FRAME
