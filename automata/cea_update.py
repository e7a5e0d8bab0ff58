"""Algorithm 1 of C, one stretch at a time: letters in, roots of what has become complete out.

A *letter* is what one event means to one key: the set of symbols that it has solutions for. A *cell* is a
state of the determinised automaton. Each key has a table: active cell → union-list, in the order of insertion,
hence with falling tops.
"""

from __future__ import annotations

from typing import NamedTuple

from automata.jit import kernel
from automata.program import Ids
from automata.tecs import HEAD, TAIL, Arena, extend, insert, merge, new_bottom, top_of

START = 0
"""The initial cell: never entered, active always."""
GAP = 0
"""The letter of events that have no solution under a key."""
UNKNOWN, NOWHERE = -2, -1
"""A move that is not determined yet; a skip that no run survives."""
DONE, QUIET, MOVE_UNKNOWN, ARENA_FULL, TABLE_FULL, ROOTS_FULL = range(6)
"""Why the kernel comes back."""
NEXT, ROOTS, CELL, LETTER = range(4)
"""Places in `progress`: the next letter; roots found; the move that is not known."""


class Letters(NamedTuple):
    """slots: table of the key; letters; entries: number of the first (event, key, symbol); starts: the moment of the
    event; lows: the earliest start in its window; places: position in the merged order."""

    slots: Ids
    letters: Ids
    entries: Ids
    starts: Ids
    lows: Ids
    places: Ids


class Tables(NamedTuple):
    """One row per key. counts: active cells; cells[s, c]; sizes and nodes[s, c, l]: their union-lists; touched: place
    of the last letter; ranks: of it in the substream; substreams: the key's own."""

    counts: Ids
    cells: Ids
    sizes: Ids
    nodes: Ids
    touched: Ids
    ranks: Ids
    substreams: Ids


class Substreams(NamedTuple):
    """One row per partition: rank and place of its last event, place of the last event that consumed."""

    ranks: Ids
    places: Ids
    consumed: Ids


class Moves(NamedTuple):
    """The determinised automaton as far as it is known.

    skip[cell, letter]      cell without marking
    first[cell, letter]     where its marking moves begin: (label, target) up to a label of -1; a label counts the
                            symbols of the letter
    quiet[cell, letter]     no marking move, and skipping changes nothing
    accepting, alive        of each cell: it holds complete events; it has steps to wait for
    """

    skip: Ids
    first: Ids
    quiet: Ids
    labels: Ids
    targets: Ids
    accepting: Ids
    alive: Ids


class Scratch(NamedTuple):
    """The table that an event makes (T' of C), with `used`: how many cells, and `where`: cell → its place."""

    used: Ids
    cells: Ids
    sizes: Ids
    nodes: Ids
    where: Ids


class Roots(NamedTuple):
    """What became complete: which letter did it, and the tECS node that holds it."""

    letters: Ids
    nodes: Ids


class Rules(NamedTuple):
    """symbols: how many; gaps: events without a letter count; partitioned: ranks are those of substreams; consume."""

    symbols: int
    gaps: bool
    partitioned: bool
    consume: bool


@kernel
def advance(
    letters: Letters,
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
    while progress[NEXT] < len(letters.slots):
        event = progress[NEXT]
        status = _event(letters, event, tables, substreams, moves, scratch, arena, roots, rules, progress)
        if status != DONE:
            return status
        progress[NEXT] = event + 1
    return DONE


@kernel
def _event(
    letters: Letters,
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
    slot, place, low = letters.slots[event], letters.places[event], letters.lows[event]
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
    letter, entry, start = letters.letters[event], letters.entries[event], letters.starts[event]
    status = _step(tables, slot, letter, entry, start, low, moves, scratch, arena, rules, progress)
    if status > QUIET:
        return status
    tables.ranks[slot] = rank
    tables.touched[slot] = place
    if status == DONE and _report(tables, slot, event, moves, arena, roots, progress) and rules.consume:
        substreams.consumed[part] = place
    return DONE


@kernel
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
    status = _outlook(tables, slot, letter, entry >= 0, moves, progress)
    if status != DONE:
        return status
    count = tables.counts[slot]
    needed = 4 * (count + 2) * (rules.symbols + 2) * (len(scratch.nodes[0]) + 4)
    if len(arena.nodes) - (arena.marks[HEAD] - arena.marks[TAIL]) < needed:
        return ARENA_FULL
    saved = arena.marks[HEAD]
    scratch.used[0] = 0
    fits = True
    if entry >= 0 and moves.labels[moves.first[START, letter]] >= 0:
        fits = _mark(scratch, moves, moves.first[START, letter], new_bottom(arena, start), entry, arena)
    for index in range(count):
        size = _in_window(tables.nodes[slot, index], tables.sizes[slot, index], low, arena)
        if size > 0 and fits:
            cell, nodes = tables.cells[slot, index], tables.nodes[slot, index]
            fits = _move(scratch, moves, cell, letter, nodes, size, entry, arena)
    if not fits:
        arena.marks[HEAD] = saved
        return TABLE_FULL
    tables.counts[slot] = scratch.used[0]
    for index in range(scratch.used[0]):
        tables.cells[slot, index] = scratch.cells[index]
        tables.sizes[slot, index] = scratch.sizes[index]
        for at in range(scratch.sizes[index]):
            tables.nodes[slot, index, at] = scratch.nodes[index, at]
    return DONE


@kernel
def _outlook(tables: Tables, slot: int, letter: int, opens: bool, moves: Moves, progress: Ids) -> int:
    """Whether all moves are known, and whether any changes anything."""
    quiet = True
    for index in range(-1 if opens else 0, tables.counts[slot]):
        cell = START if index < 0 else tables.cells[slot, index]
        if moves.first[cell, letter] == UNKNOWN:
            progress[CELL], progress[LETTER] = cell, letter
            return MOVE_UNKNOWN
        quiet = quiet and moves.quiet[cell, letter] != 0
    return QUIET if quiet else DONE


@kernel
def _in_window(nodes: Ids, size: int, low: int, arena: Arena) -> int:
    """How many nodes of the union-list hold anything of the window."""
    while size > 0 and top_of(arena, nodes[size - 1]) < low:
        size -= 1
    return size


@kernel
def _move(
    scratch: Scratch, moves: Moves, cell: int, letter: int, nodes: Ids, size: int, entry: int, arena: Arena
) -> bool:
    """ExecTrans of C for one active cell; False if the table is too small."""
    target, at = moves.skip[cell, letter], moves.first[cell, letter]
    marks = moves.labels[at] >= 0
    found = _find(scratch, target)
    node = merge(arena, nodes, size) if marks or found >= 0 else NOWHERE
    if marks and not _mark(scratch, moves, at, node, entry, arena):
        return False
    if target == NOWHERE:
        return True
    found = _find(scratch, target)
    if found >= 0:
        if node == NOWHERE:
            node = merge(arena, nodes, size)
        return _put(scratch, found, node, arena)
    found = _new(scratch, target)
    if found < 0:
        return False
    scratch.nodes[found, :size], scratch.sizes[found] = nodes[:size], size
    return True


@kernel
def _mark(scratch: Scratch, moves: Moves, at: int, node: int, entry: int, arena: Arena) -> bool:
    """The marking moves of a cell: everything under `node`, with the event's entry added, goes to the target."""
    while moves.labels[at] >= 0:
        made = extend(arena, node, entry + moves.labels[at])
        found = _find(scratch, moves.targets[at])
        if found < 0:
            found = _new(scratch, moves.targets[at])
            if found < 0:
                return False
            scratch.nodes[found, 0], scratch.sizes[found] = made, 1
        elif not _put(scratch, found, made, arena):
            return False
        at += 1
    return True


@kernel
def _find(scratch: Scratch, cell: int) -> int:
    """The place of a cell in the new table, or -1."""
    if cell == NOWHERE:
        return -1
    at = scratch.where[cell]
    return int(at) if at < scratch.used[0] and scratch.cells[at] == cell else -1


@kernel
def _put(scratch: Scratch, at: int, node: int, arena: Arena) -> bool:
    if scratch.sizes[at] == len(scratch.nodes[at]):
        return False
    scratch.sizes[at] = insert(arena, scratch.nodes[at], scratch.sizes[at], node)
    return True


@kernel
def _new(scratch: Scratch, cell: int) -> int:
    """A place for a cell that the new table does not have; -1 if the table is too small."""
    at = scratch.used[0]
    if at == len(scratch.cells):
        return -1
    scratch.used[0] = at + 1
    scratch.where[cell] = at
    scratch.cells[at] = cell
    return int(at)


@kernel
def _report(tables: Tables, slot: int, event: int, moves: Moves, arena: Arena, roots: Roots, progress: Ids) -> bool:
    """Roots of the accepting cells; a cell that waits for nothing is no longer active. Whether there was any."""
    kept, found = 0, False
    for index in range(tables.counts[slot]):
        cell, size = tables.cells[slot, index], tables.sizes[slot, index]
        if moves.accepting[cell]:
            number = progress[ROOTS]
            roots.letters[number] = event
            roots.nodes[number] = merge(arena, tables.nodes[slot, index], size)
            progress[ROOTS] = number + 1
            found = True
        if moves.alive[cell]:
            if kept < index:
                tables.cells[slot, kept], tables.sizes[slot, kept] = cell, size
                tables.nodes[slot, kept, :size] = tables.nodes[slot, index, :size]
            kept += 1
    tables.counts[slot] = kept
    return found
