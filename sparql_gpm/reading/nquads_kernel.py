"""Columns of numbers from N-Quads as bytes, in groups of consecutive lines about one graph.

A scan reads a text by itself: its distinct tokens have numbers of their own, in the order in which they come. So texts
can be scanned at once, and merged in their order. A line of the usual form, `S P O G .` with single spaces, is read
here; every other line marks its group as odd, for the line reader. The text must end with a newline.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import free_kernel, part
from arrays.words import Bytes, byte_at
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table_kernels import (
    CHECKED,
    HASH,
    LENGTH,
    START,
    Slots,
    add,
    find,
    hash_of,
    refer,
    same_bytes,
)
from sparql_gpm.reading.nquads_cut import NONE, cut, next_line
from sparql_gpm.reading.token_kernels import (
    LESS,
    NEWLINE,
    NO_TIME,
    is_plain_iri,
    is_plain_token,
    plain_number,
    plain_time,
)

ODD, STAMPED, UNREAD, CONFLICT, PARTIAL = 1, 2, 4, 8, 16
"""States of a group: it has an unusual line; a timestamp; a timestamp in another form; two different timestamps; a
triple that is left out."""
PLAIN, USED, UNUSED = 1, 2, 4
"""States of a token in the column CHECKED: it is certainly a term; triples with this predicate are wanted, or not."""
KEY_START, KEY_STOP, BEGIN, LINE, ROW, TIME, STATE, STAMP_START, STAMP_STOP = range(9)
"""Columns of a group: the place of the graph's IRI with its brackets (empty if not known); its first byte, line and
row; its time, if it is STAMPED and not UNREAD; its state; the place of the object of its timestamp."""
_AT_ONCE = 32
"""Tokens whose slots are read one after the other, before they are needed: memory is waited for once for all."""
ROWS, GROUPS = range(2)
"""Counts."""


class Strings(NamedTuple):
    """A set of byte strings, as in term_table_kernels."""

    arena: Bytes
    entries: Ids
    slots: Slots


class Source(NamedTuple):
    """The input of a scan.

    text            whole lines, `size` bytes, and a word more
    predicates      the tokens of the time predicates, one after the other
    predicate_ends  0, and the end of each
    wanted          the predicates of triples that are not left out, likewise
    wanted_ends     0, and the end of each; empty: no triple is left out
    """

    text: Bytes
    size: int
    predicates: Bytes
    predicate_ends: Ids
    wanted: Bytes
    wanted_ends: Ids


class Tokens(NamedTuple):
    """The distinct tokens of a text, as in term_table_kernels; the text is the arena, and CHECKED has states."""

    entries: Ids
    slots: Slots


class Scan(NamedTuple):
    """The output of a scan, in arrays with room for the number of lines, and one group more.

    rows        int64[3, rows]: numbers of the tokens of subject, predicate, object
    groups      int64[groups + 1, 9]; the last one is none, and begins at the end of the text
    counts      int64[2]
    """

    rows: Ids
    groups: Ids
    counts: Ids


@free_kernel
def lines_in(text: Bytes, size: int) -> int:
    """The number of newlines among the first bytes of a text."""
    count = 0
    for index in range(size):
        count += text[index] == NEWLINE
    return count


@free_kernel
def scan(source: Source, tokens: Tokens, out: Scan) -> None:
    """Read all lines. There must be room for three tokens a line."""
    text, counts, groups, rows = source.text, out.counts, out.groups, out.rows
    entries, slots, skips = tokens.entries, tokens.slots, len(source.wanted_ends) > 0
    stops, checked = np.zeros(4, dtype=np.int64), np.zeros(2, dtype=np.int64)
    position = line = 0
    while position < source.size:
        usual = cut(text, position, stops)
        if usual:
            stamped = _is_one_of(text, stops[0] + 1, stops[1], source.predicates, source.predicate_ends)
            usual = _enter_usual(text, position, line, stops, stamped, groups, counts)
        if not usual:
            _enter_odd(position, line, groups, counts)
            position = next_line(text, position)
        else:
            if stops[3] == NONE:
                position = stops[2] + 3
            else:
                row = counts[ROWS]
                counts[ROWS] = row + 1
                for turn in range(3):
                    place = turn ^ (turn < 2)  # the predicate first
                    start = stops[place - 1] + 1 if place else position
                    hash_ = hash_of(text, start, stops[place])
                    known = find(text, start, stops[place], hash_, text, entries, slots)
                    if known == 0:
                        known = refer(start, stops[place], hash_, entries, slots)
                        if is_plain_token(text, start, stops[place]):
                            entries[known, CHECKED] = PLAIN
                    rows[place, row] = known
                    if skips and turn == 0 and _is_left_out(source, position, stops, known, entries, checked):
                        groups[counts[GROUPS] - 1, STATE] |= PARTIAL
                        counts[ROWS] = row
                        break
                position = stops[3] + 3
        line += 1
    last = counts[GROUPS]
    _begin_group(0, 0, position, line, groups, counts)
    counts[GROUPS] = last


@free_kernel
def merge(
    text: Bytes,
    tokens: Ids,
    wanted: Ids,
    terms: Strings,
    numbers: NDArray[np.float64],
    written: Strings,
    ids: Ids,
    uncertain: Ids,
) -> int:
    """Write the ids of tokens: of terms, which are added if they are new, or, negative, of written forms.

    Both sets must have room for them. A token is a written form if it is not certainly a term.

    tokens      the entries of the tokens of the text
    wanted      numbers of tokens, ascending
    uncertain   for the ids of new literals without a certain numeric value; gives their number
    """
    count, last = 0, len(terms.slots) - 1
    touched = np.empty(_AT_ONCE, dtype=np.int64)
    for index in range(len(wanted)):
        if index % _AT_ONCE == 0:
            some = min(_AT_ONCE, len(wanted) - index)
            for ahead in range(some):
                touched[ahead] = terms.slots[tokens[wanted[index + ahead], HASH] & last]
            for ahead in range(some):
                touched[ahead] = terms.entries[touched[ahead], HASH]
        token = wanted[index]
        start, hash_ = tokens[token, START], tokens[token, HASH]
        stop = start + tokens[token, LENGTH]
        known = find(text, start, stop, hash_, terms.arena, terms.entries, terms.slots)
        if tokens[token, CHECKED] & PLAIN == 0 and (known == 0 or terms.entries[known, CHECKED] == 0):
            form = find(text, start, stop, hash_, written.arena, written.entries, written.slots)
            if form == 0:
                form = add(text, start, stop, hash_, written.arena, written.entries, written.slots)
            ids[token] = -form
            continue
        if known == 0:
            known = add(text, start, stop, hash_, terms.arena, terms.entries, terms.slots)
            value, certain = plain_number(text, start, stop)
            numbers[known] = value
            if not certain:
                uncertain[count] = known
                count += 1
        terms.entries[known, CHECKED] = 1
        ids[token] = known
    return count


@part
def _is_left_out(source: Source, begin: int, stops: Ids, predicate: int, entries: Ids, checked: Ids) -> bool:
    """True if nobody wants the triple of a usual line, and it is certainly well formed.

    predicate   the number of its token
    checked     the place of a plain subject: most are that of the line before
    """
    text, state = source.text, entries[predicate, CHECKED]
    if state & (USED | UNUSED) == 0:
        used = state & PLAIN == 0 or _is_one_of(text, stops[0] + 1, stops[1], source.wanted, source.wanted_ends)
        state |= USED if used else UNUSED
        entries[predicate, CHECKED] = state
    if state & UNUSED == 0:
        return False
    if not _same_slice(text, begin, stops[0], checked[0], checked[1]):
        if not is_plain_token(text, begin, stops[0]):
            return False
        checked[0], checked[1] = begin, stops[0]
    return is_plain_token(text, stops[1] + 1, stops[2])


@part
def _enter_usual(text: Bytes, begin: int, line: int, stops: Ids, stamped: bool, groups: Ids, counts: Ids) -> bool:
    """Enter the line in the group of its graph, with its time if it states one; False if it is unusual."""
    start, stop = stops[2] + 1, stops[3]
    if stop == NONE:
        start, stop = begin, stops[0]
        if not stamped:
            return False
    last = counts[GROUPS] - 1
    if last < 0 or not _same_slice(text, groups[last, KEY_START], groups[last, KEY_STOP], start, stop):
        if byte_at(text, start) != LESS or not is_plain_iri(text, start + 1, stop - 1):
            return False
        _begin_group(start, stop, begin, line, groups, counts)
    if stamped and (stops[3] == NONE or _same_slice(text, start, stop, begin, stops[0])):
        _stamp(text, stops[1] + 1, stops[2], groups, counts)
    return True


@part
def _enter_odd(begin: int, line: int, groups: Ids, counts: Ids) -> None:
    """Enter an unusual line in the last group, or in a new one of an unknown graph."""
    if counts[GROUPS] == 0:
        _begin_group(0, 0, begin, line, groups, counts)
    groups[counts[GROUPS] - 1, STATE] |= ODD


@part
def _begin_group(key_start: int, key_stop: int, begin: int, line: int, groups: Ids, counts: Ids) -> None:
    group = counts[GROUPS]
    groups[group, KEY_START], groups[group, KEY_STOP] = key_start, key_stop
    groups[group, BEGIN], groups[group, LINE], groups[group, ROW] = begin, line, counts[ROWS]
    groups[group, TIME], groups[group, STATE] = NO_TIME, 0
    counts[GROUPS] = group + 1


@part
def _stamp(text: Bytes, start: int, stop: int, groups: Ids, counts: Ids) -> None:
    """Enter a timestamp with this object in the last group."""
    group = counts[GROUPS] - 1
    time = plain_time(text, start, stop)
    if groups[group, STATE] & STAMPED:
        if time == NO_TIME or time != groups[group, TIME]:
            groups[group, STATE] |= CONFLICT
        return
    groups[group, TIME] = time
    groups[group, STAMP_START], groups[group, STAMP_STOP] = start, stop
    groups[group, STATE] |= STAMPED | UNREAD if time == NO_TIME else STAMPED


@part
def _same_slice(text: Bytes, start: int, stop: int, other_start: int, other_stop: int) -> bool:
    return stop - start == other_stop - other_start and same_bytes(text, start, text, other_start, stop - start)


@part
def _is_one_of(text: Bytes, start: int, stop: int, strings: Bytes, ends: Ids) -> bool:
    for index in range(len(ends) - 1):
        length = ends[index + 1] - ends[index]
        if length == stop - start and same_bytes(strings, ends[index], text, start, length):
            return True
    return False
