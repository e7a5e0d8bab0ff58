"""The fast path for LIMIT 1: one run for all that have the same futures (RMA Section 6).

RMA makes an automaton recognise with a single run by forgetting which events were taken. Rows of this language tell
them, those of the first match in output order. So the runs that one event brings forth are compared: of those that
nothing to come can tell apart, only the first in output order goes on, for whatever makes a match of another one makes
an earlier match of it. That leaves at most one run for each state, first event, last event and contents of
registers that are still read, where there may be exponentially many runs: the single run is the set of them.
"""

from __future__ import annotations

from arrays.jit import lean_kernel
from automata.registers.machine import EDGE, ENDS, FOUND, GOES_ON, KIND, LIST, PLACE, POSITION_NOW, RUN, Machine, Step
from automata.registers.merge import count_after, entry_after, merge
from automata.registers.pool import DEPTH, FIRST, MARKERS, PARENT, POSITION, ROOT, SYMBOL, mix
from automata.registers.tables import (
    AROUND,
    AT_LEAST,
    AT_MOST,
    HAPPENED,
    LIVE_VARIABLES,
    LOCALS,
    MARKER_BITS,
    NONE,
    TARGET,
    UNBOUNDED,
)


@lean_kernel
def note_kind(machine: Machine, step: Step, number: int) -> None:
    """Write down what events to come can see of a candidate, whose solution's values are in `step.own`."""
    edge, source = step.candidates[number, EDGE], step.candidates[number, RUN]
    tables, kind = machine.tables, step.kinds[number]
    target = tables[TARGET, edge, 0]
    merge(machine, step, edge, source)
    kind[:] = 0
    kind[0], kind[1] = target, step.candidates[number, PLACE]
    if machine.shape.sliding:
        kind[2] = step.now[POSITION_NOW] if source == ROOT else machine.pool.rows[source, FIRST]
    kind[3] = machine.pool.rows[source, MARKERS] | tables[MARKER_BITS, target, 0]
    for place in range(tables.shape[2]):
        variable = tables[LIVE_VARIABLES, target, place]
        if variable < 0:
            break
        kind[KIND + machine.shape.repetitions + variable] = step.merged[variable]
    for place in range(tables.shape[2]):
        repetition = tables[AROUND, target, place]
        if repetition < 0:
            break
        _note_repetition(machine, step, number, repetition)


@lean_kernel
def _note_repetition(machine: Machine, step: Step, number: int, repetition: int) -> None:
    """The facts that one more iteration depends on: their number, as far as it matters, and the fresh bindings."""
    edge, source = step.candidates[number, EDGE], step.candidates[number, RUN]
    tables, rows, kind = machine.tables, machine.pool.rows, step.kinds[number]
    count = count_after(machine, edge, source, repetition)
    if tables[AT_MOST, repetition, 0] == UNBOUNDED:
        count = min(count, tables[AT_LEAST, repetition, 0])
    kind[KIND + repetition] = count
    entered = entry_after(machine, edge, source, repetition)
    for place in range(tables.shape[2]):
        variable = tables[LOCALS, repetition, place]
        if variable < 0:
            break
        column = KIND + machine.shape.repetitions + machine.shape.variables * (1 + repetition) + variable
        kind[column] = rows[entered, machine.columns.registers + variable]


@lean_kernel
def narrow(machine: Machine, step: Step) -> None:
    """Unmark the candidates that go on, or end a match, for nothing; their kinds have been noted."""
    candidates = step.candidates
    for number in range(step.now[FOUND]):
        candidates[number, LIST] = NONE
        if candidates[number, GOES_ON]:
            place = _list_of(step, number)
            candidates[number, LIST] = place
            best = step.lists[place]
            if best == NONE or _order(machine, step, number, best) < 0:
                step.lists[place] = number
    for number in range(step.now[FOUND]):
        if candidates[number, GOES_ON] and not _is_wanted(machine, step, number, step.lists[candidates[number, LIST]]):
            candidates[number, GOES_ON] = 0
    for number in range(step.now[FOUND]):
        if candidates[number, LIST] != NONE:
            step.lists[candidates[number, LIST]] = NONE
    _narrow_matches(machine, step)


@lean_kernel
def _narrow_matches(machine: Machine, step: Step) -> None:
    """Of the matches of one partition, the first."""
    candidates, found = step.candidates, step.now[FOUND]
    for number in range(found):
        if candidates[number, ENDS] != 1:
            continue
        place, best = candidates[number, PLACE], number
        for other in range(number + 1, found):
            rival = candidates[other, ENDS] == 1 and candidates[other, PLACE] == place
            if rival and _order(machine, step, other, best) < 0:
                best = other
        for other in range(number, found):
            if candidates[other, ENDS] == 1 and candidates[other, PLACE] == place:
                candidates[other, ENDS] = 2 if _is_wanted(machine, step, other, best) else 0
    for number in range(found):
        candidates[number, ENDS] = min(candidates[number, ENDS], 1)


@lean_kernel
def _is_wanted(machine: Machine, step: Step, number: int, best: int) -> bool:
    """A candidate is no later than the best one, and not the same as far as anyone asks."""
    if number == best:
        return True
    if _order(machine, step, number, best) != 0:
        return False
    return machine.shape.wanted != HAPPENED or not _same_steps(machine, step, number, best)


@lean_kernel
def _list_of(step: Step, number: int) -> int:
    """The place of the best candidate of the same kind."""
    kinds, hashed = step.kinds, 0x517D
    for column in range(kinds.shape[1]):
        hashed = mix(hashed, kinds[number, column])
    place = hashed & (step.lists.shape[0] - 1)
    while step.lists[place] != NONE:
        same = True
        for column in range(kinds.shape[1]):
            same = same and kinds[step.lists[place], column] == kinds[number, column]
        if same:
            break
        place = (place + 1) & (step.lists.shape[0] - 1)
    return int(place)


@lean_kernel
def _order(machine: Machine, step: Step, number: int, other: int) -> int:
    """The comparison of two candidates of one event in output order, by their positions: -1, 0 or 1.

    Where one has taken more events, it has one where the other goes on to the present event: it comes first.
    """
    rows = machine.pool.rows
    a, b, order = step.candidates[number, RUN], step.candidates[other, RUN], 0
    while rows[a, DEPTH] > rows[b, DEPTH]:
        a, order = rows[a, PARENT], -1
    while rows[b, DEPTH] > rows[a, DEPTH]:
        b, order = rows[b, PARENT], 1
    while a != b and a != ROOT:
        if rows[a, POSITION] != rows[b, POSITION]:
            order = -1 if rows[a, POSITION] < rows[b, POSITION] else 1
        a, b = rows[a, PARENT], rows[b, PARENT]
    return order


@lean_kernel
def _same_steps(machine: Machine, step: Step, number: int, other: int) -> bool:
    """True if two candidates with the same positions took them with the same steps."""
    rows, tables = machine.pool.rows, machine.tables
    if tables[TARGET, step.candidates[number, EDGE], 0] != tables[TARGET, step.candidates[other, EDGE], 0]:
        return False
    a, b = step.candidates[number, RUN], step.candidates[other, RUN]
    while a != b:
        if rows[a, SYMBOL] != rows[b, SYMBOL]:
            return False
        a, b = rows[a, PARENT], rows[b, PARENT]
    return True
