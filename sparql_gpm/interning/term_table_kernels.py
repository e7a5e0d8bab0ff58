"""A set of byte strings with dense ids: open addressing with linear probing over one arena of bytes.

Kernels take each array by itself: tuples of arrays are slow to pass between compiled functions. The caller reserves
room first (`TermTable.reserve`).

arena       bytes: the strings, one after the other, and at least a word more
entries     int64[ids, 4]: by id the START of its string, its LENGTH (0: the id is free), its HASH, and 1 as CHECKED if
            the string is a valid term of a document. The START of a free id is the next free id. Entry 0 belongs to no
            id: it holds NEXT, USED, FREE, LIVE
slots       int32, a power of two: ids by their hashes, 0 where there is none
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arrays.jit import kernel, part
from arrays.words import WORD, Bytes, put_word, word_at
from sparql_gpm.columns import Ids, Mask

Slots = NDArray[np.int32]

START, LENGTH, HASH, CHECKED = 0, 1, 2, 3
NEXT, USED, FREE, LIVE = 0, 1, 2, 3
"""In entry 0: the next fresh id, the bytes used, the first free id or 0, the number of ids in use."""
_PRIME = -7046029254386353131  # 2^64 divided by the golden ratio


@part
def hash_of(text: Bytes, start: int, stop: int) -> int:
    """The hash of text[start:stop], a word at a time."""
    result = stop - start
    at = start
    while at + WORD <= stop:
        result = (result ^ word_at(text, at)) * _PRIME
        result ^= result >> 29
        at += WORD
    if at < stop:
        result = (result ^ _low_bytes(word_at(text, at), stop - at)) * _PRIME
    return result ^ (result >> 32)


@part
def _low_bytes(word: int, count: int) -> int:
    """The first bytes of a word, fewer than all."""
    return word & ((1 << (8 * count)) - 1)


@part
def same_bytes(left: Bytes, left_start: int, right: Bytes, right_start: int, length: int) -> bool:
    """True if two strings of one length are equal; a word at a time."""
    at = 0
    while at + WORD <= length:
        if word_at(left, left_start + at) != word_at(right, right_start + at):
            return False
        at += WORD
    if at == length:
        return True
    different = word_at(left, left_start + at) ^ word_at(right, right_start + at)
    return _low_bytes(different, length - at) == 0


@part
def copy(text: Bytes, start: int, length: int, out: Bytes, at: int) -> None:
    """Copy a string to a place, a word at a time: what stands in the word behind it is overwritten."""
    done = 0
    while done < length:
        put_word(out, at + done, word_at(text, start + done))
        done += WORD


@part
def find(text: Bytes, start: int, stop: int, hash_: int, arena: Bytes, entries: Ids, slots: Slots) -> int:
    """The id of text[start:stop], or 0."""
    last = len(slots) - 1
    slot = hash_ & last
    while slots[slot] != 0:
        known = int(slots[slot])
        like = entries[known, HASH] == hash_ and entries[known, LENGTH] == stop - start
        if like and same_bytes(arena, entries[known, START], text, start, stop - start):
            return known
        slot = (slot + 1) & last
    return 0


@part
def add(text: Bytes, start: int, stop: int, hash_: int, arena: Bytes, entries: Ids, slots: Slots) -> int:
    """A new id for text[start:stop], which must be absent."""
    new = int(entries[0, FREE])
    if new > 0:
        entries[0, FREE] = entries[new, START]
    else:
        new = int(entries[0, NEXT])
        entries[0, NEXT] = new + 1
    at = entries[0, USED]
    copy(text, start, stop - start, arena, at)
    entries[0, USED] = at + stop - start
    entries[0, LIVE] += 1
    entries[new, START], entries[new, LENGTH] = at, stop - start
    entries[new, HASH], entries[new, CHECKED] = hash_, 0
    place(new, entries, slots)
    return new


@part
def refer(start: int, stop: int, hash_: int, entries: Ids, slots: Slots) -> int:
    """A new id for the string text[start:stop], which must be absent, in a set whose arena is the text itself."""
    new = int(entries[0, NEXT])
    entries[0, NEXT] = new + 1
    entries[new, START], entries[new, LENGTH] = start, stop - start
    entries[new, HASH], entries[new, CHECKED] = hash_, 0
    place(new, entries, slots)
    return new


@part
def place(new: int, entries: Ids, slots: Slots) -> None:
    """Enter an id at the first slot that is empty."""
    last = len(slots) - 1
    slot = entries[new, HASH] & last
    while slots[slot] != 0:
        slot = (slot + 1) & last
    slots[slot] = new


@kernel
def fill_slots(entries: Ids, slots: Slots) -> None:
    """Enter every id in use into slots that are all 0."""
    for identifier in range(1, entries[0, NEXT]):
        if entries[identifier, LENGTH] > 0:
            place(identifier, entries, slots)


@kernel
def find_one(text: Bytes, stop: int, arena: Bytes, entries: Ids, slots: Slots) -> int:
    """The id of text[:stop], or 0."""
    return find(text, 0, stop, hash_of(text, 0, stop), arena, entries, slots)


@kernel
def add_one(text: Bytes, stop: int, arena: Bytes, entries: Ids, slots: Slots) -> int:
    """The id of text[:stop]; negative if it was assigned now, 0 if there is no room for it."""
    hash_ = hash_of(text, 0, stop)
    known = find(text, 0, stop, hash_, arena, entries, slots)
    if known > 0:
        return known
    full = entries[0, FREE] == 0 and entries[0, NEXT] >= len(entries)
    if full or entries[0, USED] + stop + WORD > len(arena):
        return 0
    return -add(text, 0, stop, hash_, arena, entries, slots)


@kernel
def add_all(text: Bytes, offsets: Ids, arena: Bytes, entries: Ids, slots: Slots, ids: Ids) -> None:
    """The ids of the strings text[offsets[i]:offsets[i + 1]]; negative for those that were assigned now."""
    for index in range(len(ids)):
        start, stop = offsets[index], offsets[index + 1]
        hash_ = hash_of(text, start, stop)
        known = find(text, start, stop, hash_, arena, entries, slots)
        ids[index] = known if known > 0 else -add(text, start, stop, hash_, arena, entries, slots)


@kernel
def copy_out(arena: Bytes, entries: Ids, ids: Ids, out: Bytes) -> None:
    """The strings of the ids, one after the other."""
    at = 0
    for index in range(len(ids)):
        start = entries[ids[index], START]
        for byte in range(entries[ids[index], LENGTH]):
            out[at] = arena[start + byte]
            at += 1


@kernel
def keep(arena: Bytes, entries: Ids, kept: Mask, other_arena: Bytes) -> int:
    """Free the ids that are not kept, and move the other strings to another arena; returns the number of ids freed.

    The other arena has room for them and a word more. The slots are stale afterwards.
    """
    at = released = 0
    for identifier in range(1, entries[0, NEXT]):
        start, length = entries[identifier, START], entries[identifier, LENGTH]
        if length == 0:
            continue
        if kept[identifier]:
            copy(arena, start, length, other_arena, at)
            entries[identifier, START] = at
            at += length
        else:
            entries[identifier, LENGTH] = 0
            entries[identifier, START] = entries[0, FREE]
            entries[0, FREE] = identifier
            released += 1
    entries[0, USED] = at
    entries[0, LIVE] -= released
    return released
