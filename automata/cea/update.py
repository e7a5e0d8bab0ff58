"""Algorithm 1 of C, one slice at a time: from bit vectors to the roots of complete events.

Each key has a table: active cell → union-list, in the order of insertion, hence with falling tops.
"""

from __future__ import annotations

from arrays.jit import lean_kernel, lean_part
from automata.cea import machine as cea
from automata.cea.machine import FREED, NEXT, ROOTS, START, TAKEN, USED, Machine, Scratch
from automata.cea.tecs import HEAD, TAIL, extend, insert, merge, new_bottom, top_of


@lean_kernel
def advance(machine: Machine) -> int:
    """Consumes bit vectors from progress[NEXT] on; returns DONE, or what the caller must provide before it goes on."""
    vectors, progress = machine.vectors, machine.progress
    while progress[NEXT] < len(vectors.slots):
        row = progress[NEXT]
        status = _consume(machine, row)
        if status != cea.DONE:
            return status
        vectors.heads[row] = machine.arena.marks[HEAD]
        progress[NEXT] = row + 1
    return cea.DONE


@lean_part
def _consume(machine: Machine, row: int) -> int:
    vectors, tables, substreams, rules = machine.vectors, machine.tables, machine.substreams, machine.rules
    slot, place, low = vectors.slots[row], vectors.places[row], vectors.lows[row]
    part = tables.substreams[slot]
    rank = place
    if rules.partitioned:
        if substreams.places[part] != place:
            substreams.places[part] = place
            substreams.ranks[part] += 1
        rank = substreams.ranks[part]
    if tables.touched[slot] <= substreams.consumed[part] and substreams.consumed[part] < place:
        tables.counts[slot] = 0
    if len(machine.roots.nodes) - machine.progress[ROOTS] < len(machine.scratch.cells):
        return cea.ROOTS_FULL
    if rules.gaps and tables.counts[slot] > 0 and rank - tables.ranks[slot] > 1:
        status = _step(machine, slot, cea.GAP, -1, 0, low)
        if status > cea.QUIET:
            return status
        tables.ranks[slot] = rank - 1
    status = _step(machine, slot, vectors.numbers[row], vectors.entries[row], vectors.starts[row], low)
    if status > cea.QUIET:
        return status
    tables.ranks[slot] = rank
    tables.touched[slot] = place
    if status == cea.DONE and _report(machine, slot, row) and rules.consume:
        substreams.consumed[part] = place
    return cea.DONE


@lean_part
def _step(machine: Machine, slot: int, vector: int, entry: int, start: int, low: int) -> int:
    """ExecTrans of C for START (unless the vector is a gap: entry < 0) and then for every active cell."""
    tables, scratch, moves = machine.tables, machine.scratch, machine.moves
    status = _status(machine, slot, vector, entry >= 0)
    if status != cea.DONE:
        return status
    scratch.used[USED] = scratch.used[TAKEN] = scratch.used[FREED] = 0
    if entry >= 0 and moves.effort[START, vector] > 0:
        _mark(machine, slot, moves.first[START, vector], new_bottom(machine.arena, start), entry)
    for index in range(tables.counts[slot]):
        _move(machine, slot, index, vector, low, entry)
    used, freed = scratch.used[USED], scratch.used[FREED]
    for index in range(used):
        tables.cells[slot, index] = scratch.cells[index]
        tables.places[slot, index] = scratch.places[index]
    for index in range(freed):
        tables.places[slot, used + index] = scratch.freed[index]
    tables.counts[slot] = used
    return cea.DONE


@lean_part
def _status(machine: Machine, slot: int, vector: int, opens: bool) -> int:
    """DONE if all moves are known and there is room for the nodes of the event; QUIET if it changes nothing."""
    tables, moves, arena = machine.tables, machine.moves, machine.arena
    effort, longest, count = 0, 1, tables.counts[slot]
    for index in range(-1 if opens else 0, count):
        cell = START if index < 0 else tables.cells[slot, index]
        if moves.first[cell, vector] == cea.UNKNOWN:
            machine.progress[cea.CELL], machine.progress[cea.BIT_VECTOR] = cell, vector
            return cea.MOVE_UNKNOWN
        effort += moves.effort[cell, vector]
    if effort == 0:
        return cea.QUIET
    for index in range(count):
        longest = max(longest, tables.sizes[slot, tables.places[slot, index]])
    if count + effort > tables.cells.shape[1] or longest + effort > tables.lists.shape[1]:
        return cea.TABLE_FULL
    # each may merge a union-list, extend it, and be put into another by three unions; then accepting ones are merged
    needed = (effort + 1) * (2 * (longest + effort) + 4)
    if len(arena.nodes) - (arena.marks[HEAD] - arena.marks[TAIL]) < needed + count * (longest + effort):
        return cea.ARENA_FULL
    return cea.DONE


@lean_part
def _move(machine: Machine, slot: int, index: int, vector: int, low: int, entry: int) -> None:
    """ExecTrans of C for one active cell; a union-list that is only passed on stays where it is."""
    tables, scratch, moves, arena = machine.tables, machine.scratch, machine.moves, machine.arena
    cell, place = tables.cells[slot, index], tables.places[slot, index]
    target, row = moves.skip[cell, vector], slot * tables.cells.shape[1] + place
    if moves.effort[cell, vector] == 0 and _find(scratch, cell) < 0:
        _add(scratch, cell, place)
        return
    size = tables.sizes[slot, place]
    while size > 0 and top_of(arena, tables.lists[row, size - 1]) < low:
        size -= 1
    tables.sizes[slot, place] = size
    node = cea.NOWHERE
    if size > 0 and moves.labels[moves.first[cell, vector]] >= 0:
        node = merge(arena, tables.lists, row, size)
        _mark(machine, slot, moves.first[cell, vector], node, entry)
    if size > 0 and target != cea.NOWHERE:
        found = _find(scratch, target)
        if found < 0:
            _add(scratch, target, place)
            return
        if node == cea.NOWHERE:
            node = merge(arena, tables.lists, row, size)
        _put(machine, slot, found, node)
    scratch.freed[scratch.used[FREED]] = place
    scratch.used[FREED] += 1


@lean_part
def _mark(machine: Machine, slot: int, at: int, node: int, entry: int) -> None:
    """The marking moves of a cell: everything under `node`, with the event's entry added, goes to the target."""
    tables, scratch, moves = machine.tables, machine.scratch, machine.moves
    while moves.labels[at] >= 0:
        extended = extend(machine.arena, node, entry + moves.labels[at])
        found = _find(scratch, moves.targets[at])
        if found >= 0:
            _put(machine, slot, found, extended)
        else:
            place = tables.places[slot, tables.counts[slot] + scratch.used[TAKEN]]
            scratch.used[TAKEN] += 1
            tables.lists[slot * tables.cells.shape[1] + place, 0] = extended
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
    """Adds a cell that the new table does not have."""
    at = scratch.used[USED]
    scratch.at[cell], scratch.cells[at], scratch.places[at] = at, cell, place
    scratch.used[USED] = at + 1


@lean_part
def _put(machine: Machine, slot: int, at: int, node: int) -> None:
    """Puts a node into the union-list of a cell that the new table has."""
    tables, place = machine.tables, machine.scratch.places[at]
    row = slot * tables.cells.shape[1] + place
    tables.sizes[slot, place] = insert(machine.arena, tables.lists, row, tables.sizes[slot, place], node)


@lean_part
def _report(machine: Machine, slot: int, row: int) -> bool:
    """Writes the roots of the accepting cells, drops cells without a step to take; returns whether there was a root."""
    tables, moves, roots, freed = machine.tables, machine.moves, machine.roots, machine.scratch.freed
    kept, dropped, first = 0, 0, slot * tables.cells.shape[1]
    before = found = machine.progress[ROOTS]
    for index in range(tables.counts[slot]):
        cell, place = tables.cells[slot, index], tables.places[slot, index]
        if moves.accepting[cell]:
            roots.rows[found] = row
            roots.nodes[found] = merge(machine.arena, tables.lists, first + place, tables.sizes[slot, place])
            found += 1
        if moves.alive[cell]:
            tables.cells[slot, kept], tables.places[slot, kept] = cell, place
            kept += 1
        else:
            freed[dropped] = place
            dropped += 1
    for index in range(dropped):
        tables.places[slot, kept + index] = freed[index]
    tables.counts[slot] = kept
    machine.progress[ROOTS] = found
    return bool(found > before)
