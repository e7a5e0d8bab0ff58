"""Algorithm 1 of C, one slice at a time: letters in, roots of what has become complete out.

A *letter* is what one event means to one key: the set of symbols that it has solutions for. A *cell* is a
state of the determinised automaton. Each key has a table: active cell → union-list, in the order of insertion,
hence with falling tops.
"""

from __future__ import annotations

from arrays.jit import lean_kernel, lean_part
from automata.cea.arrays import (
    ARENA_FULL,
    BIT_VECTOR,
    CELL,
    DONE,
    FREED,
    GAP,
    MOVE_UNKNOWN,
    NEXT,
    NOWHERE,
    QUIET,
    ROOTS,
    ROOTS_FULL,
    START,
    TABLE_FULL,
    TAKEN,
    UNKNOWN,
    USED,
    BitVectors,
    Moves,
    Roots,
    Rules,
    Scratch,
    Substreams,
    Tables,
)
from automata.cea.tecs import HEAD, TAIL, Arena, extend, insert, merge, new_bottom, top_of
from automata.values import Ids


@lean_kernel
def advance(
    bit_vectors: BitVectors,
    tables: Tables,
    substreams: Substreams,
    moves: Moves,
    scratch: Scratch,
    arena: Arena,
    roots: Roots,
    rules: Rules,
    progress: Ids,
) -> int:
    """Works off letters from progress[NEXT] on; returns DONE, or what the host must provide before it calls again."""
    while progress[NEXT] < len(bit_vectors.slots):
        event = progress[NEXT]
        status = _event(bit_vectors, event, tables, substreams, moves, scratch, arena, roots, rules, progress)
        if status != DONE:
            return status
        bit_vectors.heads[event] = arena.marks[HEAD]
        progress[NEXT] = event + 1
    return DONE


@lean_part
def _event(
    bit_vectors: BitVectors,
    event: int,
    tables: Tables,
    substreams: Substreams,
    moves: Moves,
    scratch: Scratch,
    arena: Arena,
    roots: Roots,
    rules: Rules,
    progress: Ids,
) -> int:
    slot, place, low = bit_vectors.slots[event], bit_vectors.places[event], bit_vectors.lows[event]
    part = tables.substreams[slot]
    rank = place
    if rules.partitioned:
        if substreams.places[part] != place:
            substreams.places[part] = place
            substreams.ranks[part] += 1
        rank = substreams.ranks[part]
    if tables.touched[slot] <= substreams.consumed[part] and substreams.consumed[part] < place:
        tables.counts[slot] = 0
    if len(roots.nodes) - progress[ROOTS] < len(scratch.cells):
        return ROOTS_FULL
    if rules.gaps and tables.counts[slot] > 0 and rank - tables.ranks[slot] > 1:
        status = _step(tables, slot, GAP, -1, 0, low, moves, scratch, arena, rules, progress)
        if status > QUIET:
            return status
        tables.ranks[slot] = rank - 1
    letter, entry, start = bit_vectors.bit_vectors[event], bit_vectors.entries[event], bit_vectors.starts[event]
    status = _step(tables, slot, letter, entry, start, low, moves, scratch, arena, rules, progress)
    if status > QUIET:
        return status
    tables.ranks[slot] = rank
    tables.touched[slot] = place
    if status == DONE and _report(tables, slot, event, moves, scratch, arena, roots, progress) and rules.consume:
        substreams.consumed[part] = place
    return DONE


@lean_part
def _step(
    tables: Tables,
    slot: int,
    letter: int,
    entry: int,
    start: int,
    low: int,
    moves: Moves,
    scratch: Scratch,
    arena: Arena,
    rules: Rules,
    progress: Ids,
) -> int:
    """ExecTrans of C for START (unless the letter is a gap: entry < 0) and then for every active cell."""
    status = _outlook(tables, slot, letter, entry >= 0, moves, arena, rules, progress)
    if status != DONE:
        return status
    scratch.used[USED] = scratch.used[TAKEN] = scratch.used[FREED] = 0
    if entry >= 0 and moves.effort[START, letter] > 0:
        _mark(scratch, moves, tables, slot, moves.first[START, letter], new_bottom(arena, start), entry, arena)
    for index in range(tables.counts[slot]):
        _move(scratch, moves, tables, slot, index, letter, low, entry, arena)
    used, freed = scratch.used[USED], scratch.used[FREED]
    for index in range(used):
        tables.cells[slot, index] = scratch.cells[index]
        tables.places[slot, index] = scratch.places[index]
    for index in range(freed):
        tables.places[slot, used + index] = scratch.freed[index]
    tables.counts[slot] = used
    return DONE


@lean_part
def _outlook(
    tables: Tables, slot: int, letter: int, opens: bool, moves: Moves, arena: Arena, rules: Rules, progress: Ids
) -> int:
    """Whether anything changes, all moves are known, and there is room for what the event may make."""
    effort, longest, count = 0, 1, tables.counts[slot]
    for index in range(-1 if opens else 0, count):
        cell = START if index < 0 else tables.cells[slot, index]
        if moves.first[cell, letter] == UNKNOWN:
            progress[CELL], progress[BIT_VECTOR] = cell, letter
            return MOVE_UNKNOWN
        effort += moves.effort[cell, letter]
    if effort == 0:
        return QUIET
    for index in range(count):
        longest = max(longest, tables.sizes[slot, tables.places[slot, index]])
    if count + effort > tables.cells.shape[1] or longest + effort > tables.lists.shape[1]:
        return TABLE_FULL
    # each may merge a union-list, extend it, and be put into another by three unions; then accepting ones are merged
    needed = (effort + 1) * (2 * (longest + effort) + 4)
    if len(arena.nodes) - (arena.marks[HEAD] - arena.marks[TAIL]) < needed + count * (longest + effort):
        return ARENA_FULL
    return DONE


@lean_part
def _move(
    scratch: Scratch,
    moves: Moves,
    tables: Tables,
    slot: int,
    index: int,
    letter: int,
    low: int,
    entry: int,
    arena: Arena,
) -> None:
    """ExecTrans of C for one active cell; a union-list that is only passed on stays where it is."""
    cell, place = tables.cells[slot, index], tables.places[slot, index]
    target, row = moves.skip[cell, letter], slot * tables.cells.shape[1] + place
    if moves.effort[cell, letter] == 0 and _find(scratch, cell) < 0:
        _add(scratch, cell, place)
        return
    size = tables.sizes[slot, place]
    while size > 0 and top_of(arena, tables.lists[row, size - 1]) < low:
        size -= 1
    tables.sizes[slot, place] = size
    node, found = NOWHERE, -1
    if size > 0 and moves.labels[moves.first[cell, letter]] >= 0:
        node = merge(arena, tables.lists, row, size)
        _mark(scratch, moves, tables, slot, moves.first[cell, letter], node, entry, arena)
    if size > 0 and target != NOWHERE:
        found = _find(scratch, target)
        if found < 0:
            _add(scratch, target, place)
            return
        if node == NOWHERE:
            node = merge(arena, tables.lists, row, size)
        _put(scratch, tables, slot, found, node, arena)
    scratch.freed[scratch.used[FREED]] = place
    scratch.used[FREED] += 1


@lean_part
def _mark(
    scratch: Scratch, moves: Moves, tables: Tables, slot: int, at: int, node: int, entry: int, arena: Arena
) -> None:
    """The marking moves of a cell: everything under `node`, with the event's entry added, goes to the target."""
    while moves.labels[at] >= 0:
        made = extend(arena, node, entry + moves.labels[at])
        found = _find(scratch, moves.targets[at])
        if found >= 0:
            _put(scratch, tables, slot, found, made, arena)
        else:
            place = tables.places[slot, tables.counts[slot] + scratch.used[TAKEN]]
            scratch.used[TAKEN] += 1
            tables.lists[slot * tables.cells.shape[1] + place, 0] = made
            tables.sizes[slot, place] = 1
            _add(scratch, moves.targets[at], place)
        at += 1


@lean_part
def _find(scratch: Scratch, cell: int) -> int:
    """The index of a cell in the new table, or -1."""
    at = scratch.at[cell]
    return int(at) if at < scratch.used[USED] and scratch.cells[at] == cell else -1


@lean_part
def _add(scratch: Scratch, cell: int, place: int) -> None:
    """A cell that the new table does not have."""
    at = scratch.used[USED]
    scratch.at[cell], scratch.cells[at], scratch.places[at] = at, cell, place
    scratch.used[USED] = at + 1


@lean_part
def _put(scratch: Scratch, tables: Tables, slot: int, at: int, node: int, arena: Arena) -> None:
    """More for a cell that the new table has."""
    place = scratch.places[at]
    row = slot * tables.cells.shape[1] + place
    tables.sizes[slot, place] = insert(arena, tables.lists, row, tables.sizes[slot, place], node)


@lean_part
def _report(
    tables: Tables,
    slot: int,
    event: int,
    moves: Moves,
    scratch: Scratch,
    arena: Arena,
    roots: Roots,
    progress: Ids,
) -> bool:
    """Roots of the accepting cells; a cell that waits for nothing is no longer active. Whether there was any."""
    kept, freed, first = 0, 0, slot * tables.cells.shape[1]
    count, before = tables.counts[slot], progress[ROOTS]
    for index in range(count):
        cell, place = tables.cells[slot, index], tables.places[slot, index]
        if moves.accepting[cell]:
            roots.bit_vectors[progress[ROOTS]] = event
            roots.nodes[progress[ROOTS]] = merge(arena, tables.lists, first + place, tables.sizes[slot, place])
            progress[ROOTS] += 1
        if moves.alive[cell]:
            tables.cells[slot, kept], tables.places[slot, kept] = cell, place
            kept += 1
        else:
            scratch.freed[freed] = place
            freed += 1
    for index in range(freed):
        tables.places[slot, kept + index] = scratch.freed[index]
    tables.counts[slot] = kept
    return bool(progress[ROOTS] > before)
