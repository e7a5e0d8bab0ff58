"""The cells of a group: the arrays that its kernel works on, and what it closes, for each query."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from arrays.times import AFTER_ALL
from automata.propagation import kernel_arrays, kernel_keys
from automata.propagation.cells import Cell
from automata.propagation.columns import Reader
from automata.propagation.found_columns import Block
from automata.propagation.kernel_arrays import LIMB, NO_WINDOW, Room
from automata.propagation.limbed_cells import WIDE_ROOM, LimbedCells, one_limb
from automata.propagation.limbs import widened
from automata.propagation.measures import Values
from automata.propagation.shared import arrays, kernel
from automata.propagation.shared.equations import Kind, Quantity
from automata.propagation.shared.fresh_arrays import (
    Sizes,
    new_bundles,
    new_cells,
    new_clock,
    new_frames,
    new_groups,
    new_output,
    numbers_of,
)
from automata.propagation.shared.program import GroupProgram
from automata.propagation.shared.sections import Closed, SectionReader, Sections
from automata.propagation.windows import Key
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids

_SLOTS_FIRST, _OUTPUT_FIRST, _OUTPUT_MAX = 16, 256, 1 << 14
_SLOTS_KEPT = 1 << 16
_ROWS_APART = 8
"""Rows by which columns of what is closed are longer than a power of two, so that they do not share sets of a cache."""


class Crowded(Exception):
    """These members would have more cells than they may."""

    def __init__(self, members: Collection[int]) -> None:
        super().__init__(members)
        self.members = members


class GroupCells(LimbedCells):
    """The cells of the members of a program."""

    def __init__(self, program: GroupProgram, key: int, values: Values) -> None:
        self.program = program
        self._key, self._values = key, values
        symbols = program.programs.symbols
        self._used = program.symbols
        self._reader = Reader(tuple(range(key)), symbols, program.layout, values)
        self._frames = new_frames(program)
        self._bundles = new_bundles(program, self._frames)
        self._sizes = Sizes(key, self._frames, self._bundles)
        self._clock = new_clock(len(program.frames))
        self._state = np.zeros(arrays.STATE, dtype=np.int64)
        self._cells = new_cells(self._sizes, _SLOTS_FIRST)
        self._output = new_output(self._sizes, _OUTPUT_FIRST)
        self._known: Room | None = None
        self._narrowed_at = self._clock.open_first.copy()

    @property
    def idle(self) -> bool:
        """No cell is open."""
        return bool((self._clock.open_first > self._clock.open_last).all())

    def on_batch(
        self, events: Events, solutions: Mapping[int, SymbolSolutions], position: int
    ) -> dict[int, list[Block]]:
        """Consume a slice and return what it closes, by member.

        Raises Unsuited or Crowded, with the cells as they were, if it cannot be taken.
        """
        if self.idle:
            self._forget()
        slice_ = self._reader.read(events, solutions, self._used, position)
        order, most = self._order(slice_)
        room = self._room(slice_, most)
        groups, numbers = new_groups(len(order.rows)), numbers_of(self._sizes, self._cells)
        found: dict[int, list[Block]] = {}
        self._state[arrays.BEGIN] = self._state[arrays.GROUPS] = 0
        while True:
            frames, bundles, clock = self._frames, self._bundles, self._clock
            given = room, self._cells, numbers, slice_, order, groups, most, self._output, self._state
            stop = kernel.consume(self.program.programs, frames, bundles, clock, *given)
            if stop == kernel.DONE:
                break
            if stop == kernel.OUTPUT:
                self._emit(found, full=True)
            else:
                self._emit(found)
                self._widen(self._widths[0] + 1, slice_.addends.shape[2])
                room, numbers = WIDE_ROOM, numbers_of(self._sizes, self._cells)
        return self._closed(int(events.times[-1]), found)

    def passed(self, time: int) -> dict[int, list[Block]]:
        """Return what is closed once no event at or before `time` will come, by member."""
        return self._closed(time + 1, {})

    def finish(self) -> dict[int, list[Block]]:
        """All that is left, by member."""
        return self._closed(AFTER_ALL, {})

    def live_ids(self) -> list[Ids]:
        """The ids in keys and among the extremes."""
        return [] if self.idle else [self._cells.keys[: self._slots].ravel(), *self._reader.live_ids()]

    def measuring(self, variable: int) -> list[int]:
        """The members that measure a variable of the group."""
        return [number for number, each in self.program.members.items() if variable in each.variables.values()]

    def cells_of(self, number: int) -> list[tuple[int, Key, Cell]]:
        """The cells of a member in which something has happened, as exact values, each with its window and key."""
        member, frame = self.program.members[number], self.program.frame_of(number)
        opening = member.machine.opening
        reader = SectionReader(self.program, self._values, self._reader.scales)
        held: list[tuple[int, Key, Cell]] = []
        for place in range(int(self._frames.open_max[frame])):
            section = int(self._frames.section[frame]) + place
            slots = np.flatnonzero(self._cells.window[: self._slots, section] != NO_WINDOW)
            sections = self._sections(frame, place, slots)
            lanes = [reader.lane(number, lane, sections) for lane in range(len(member.machine.lanes))]
            for row, slot in enumerate(slots.tolist()):
                cell = Cell([vectors[row] for vectors in lanes])
                if any((vector is not None) != (n in opening) for n, vector in enumerate(cell.lanes)):
                    cell.position = int(self._cells.position[slot, self._frames.bundle[frame]])
                    key = tuple(self._cells.keys[slot].tolist())
                    held.append((int(self._cells.window[slot, section]), key, cell))
        return held

    def restricted(self, program: GroupProgram) -> GroupCells:
        """Cells of a program of some of the members, with what is known of them."""
        cells = GroupCells(program, self._key, self._values)
        cells._take(self)
        return cells

    # --- a slice ----------------------------------------------------------------------------------

    @property
    def _slots(self) -> int:
        return int(self._state[arrays.SLOTS])

    @property
    def _keys(self) -> tuple[Ids, Ids]:
        return self._cells.table, self._cells.keys

    @property
    def _widths(self) -> tuple[int, int]:
        return self._cells.counts.shape[1], self._cells.sums.shape[1]

    def _room(self, slice_: kernel_arrays.Slice, most: int) -> Room:
        """The room that numbers need before an event of the slice."""
        closed = bool((self._clock.open_first != self._narrowed_at).any())
        self._narrowed_at = self._clock.open_first.copy()
        return self._room_for(slice_, most * self.program.growth, closed)

    def _fits(self, room: Room) -> bool:
        """True if all numbers of open cells, counts of one limb, leave this room."""
        counts, sums = self._cells.counts[: self._slots], self._cells.sums[: self._slots, -1]
        return bool(counts.max(initial=0) < room.counts and np.abs(sums).max(initial=0) < room.sums)

    def _narrow(self) -> None:
        """Makes one limb of counts that are small again."""
        held = self._cells.counts
        if one_limb(held[: self._slots].swapaxes(1, 2)):
            self._known = None
            self._cells = self._cells._replace(counts=np.ascontiguousarray(held[:, :1] + (held[:, 1:2] << LIMB)))
            self._output = new_output(self._sizes, len(self._output.windows), *self._widths)

    # --- what is found ----------------------------------------------------------------------------

    def _closed(self, time: int, found: dict[int, list[Block]]) -> dict[int, list[Block]]:
        while not kernel.close(self._frames, self._bundles, self._clock, self._cells, self._output, self._state, time):
            self._emit(found, full=True)
        self._emit(found)
        return found

    def _emit(self, found: dict[int, list[Block]], full: bool = False) -> None:
        """Adds the sections that have been written to what each member has found; makes more room if it was full."""
        count, out = int(self._state[arrays.EMITTED]), self._output
        self._state[arrays.EMITTED] = 0
        whole = Sections(out.counts, out.sums, out.best, out.ids).first(count)
        masks = ((frame, out.frames[:count] == frame) for frame in range(len(self.program.frames)))
        closed = {frame: Closed(out.windows, out.keys, whole, mask) for frame, mask in masks if mask.any()}
        reader = SectionReader(self.program, self._values, dict(self._reader.scales))
        for number in self.program.members:
            own = closed.get(self.program.frame_of(number))
            if own is not None:
                found.setdefault(number, []).extend(reader.blocks(number, own))
        if full and (len(out.windows) < _OUTPUT_MAX or not count):
            self._output = new_output(self._sizes, 2 * len(out.windows) + _ROWS_APART, *self._widths)

    def _sections(self, frame: int, place: int, slots: Ids) -> Sections:
        """The sections of a frame in some slots."""
        counts, sums, best = (self._sizes.section(frame, place, kind) for kind in Kind)
        held = self._cells
        return Sections(
            held.counts[slots, :, counts].transpose(1, 2, 0),
            held.sums[slots, :, sums].transpose(1, 2, 0),
            held.best[slots, best].T,
            held.ids[slots, best].T,
        )

    def _place(self, quantity: Quantity, place: int) -> int:
        """The place of a quantity in its array, in a section of its member's frame."""
        known, frame = self.program.places[quantity], self.program.frame_of(quantity.member)
        section = self._sizes.section(frame, place, known.kind)
        return int(section.start + known.number * section.step)

    # --- arrays -----------------------------------------------------------------------------------

    def _forget(self) -> None:
        """No cell is open: no key is held, numbers are small again, and any representation will do."""
        self._reader.forget()
        if not self._slots:
            return
        self._state[:] = 0
        self._known = None
        self._cells = new_cells(self._sizes, min(len(self._cells.keys), _SLOTS_KEPT))
        self._output = new_output(self._sizes, len(self._output.windows))

    def _widen(self, limbs: int, addends: int) -> None:
        """Makes this many limbs of counts, and of sums what products with addends need; no row is written."""
        wide = self._limbs_of_sums(limbs, addends)
        if (limbs, wide) == self._widths:
            return
        self._known = None
        held = self._cells
        self._cells = held._replace(counts=_wider(held.counts, limbs), sums=_wider(held.sums, wide))
        self._output = new_output(self._sizes, len(self._output.windows), limbs, wide)

    def _make_room(self, stuck: bool) -> None:
        """Gives up the slots of keys without a cell; makes twice as many where few are, or one event needs more."""
        held, slots = self._cells, self._slots
        kept = np.flatnonzero((held.window[:slots] != NO_WINDOW).any(axis=1))
        room = len(held.keys) if len(kept) * 2 <= len(held.keys) and not stuck else 2 * len(held.keys)
        self._check(len(kept))
        fresh = new_cells(self._sizes, room, *self._widths)
        for name in ("keys", "window", "position", "counts", "sums", "best", "ids"):
            getattr(fresh, name)[: len(kept)] = getattr(held, name)[kept]
        numbers = np.zeros(slots, dtype=np.int64)
        numbers[kept] = np.arange(len(kept))
        fresh.member_counts[:] = held.member_counts
        for section, count in enumerate(held.member_counts.tolist()):
            fresh.members[section, :count] = numbers[held.members[section, :count]]
        self._state[arrays.SLOTS] = len(kept)
        self._cells = fresh
        kernel_keys.number_keys(fresh.table, fresh.keys, len(kept))

    def _check(self, keys: int) -> None:
        """Raises Crowded if so many keys make more cells than some member may have."""
        crowded = [
            number
            for number, member in self.program.members.items()
            if keys * int(self._frames.open_max[self.program.frame_of(number)]) > member.plan.program.runs_max
        ]
        if crowded:
            raise Crowded(crowded)

    def _take(self, other: GroupCells) -> None:
        """Goes on with the cells of another program, of which this one has some members."""
        mine, theirs = self.program, other.program
        self._reader.scales.update(other._reader.scales)
        self._reader.seen.update(other._reader.seen)
        held, slots = other._cells, other._slots
        limbs = other._widths
        cells = self._cells = new_cells(self._sizes, len(held.keys), *limbs)
        self._output = new_output(self._sizes, _OUTPUT_FIRST, *limbs)
        self._state[arrays.SLOTS] = slots
        cells.keys[:slots] = held.keys[:slots]
        for frame, each in enumerate(mine.frames):
            before = theirs.frames.index(each)
            self._clock.open_first[frame] = other._clock.open_first[before]
            self._clock.open_last[frame] = other._clock.open_last[before]
            bundle = self._frames.bundle[frame]
            known = held.position[:, other._frames.bundle[before]]
            cells.position[:, bundle] = np.maximum(cells.position[:, bundle], known)
            for place in range(int(self._frames.open_max[frame])):
                here, there = int(self._frames.section[frame]) + place, int(other._frames.section[before]) + place
                cells.window[:, here] = held.window[:, there]
                cells.members[here], cells.member_counts[here] = held.members[there], held.member_counts[there]
        for quantity, place_ in mine.places.items():
            for place in range(self.program.members[quantity.member].frame.open_max):
                at, source = self._place(quantity, place), other._place(quantity, place)
                match place_.kind:
                    case Kind.COUNT:
                        cells.counts[:, :, at] = held.counts[:, :, source]
                    case Kind.SUM:
                        cells.sums[:, :, at] = held.sums[:, :, source]
                    case Kind.BEST:
                        cells.best[:, at], cells.ids[:, at] = held.best[:, source], held.ids[:, source]
        kernel_keys.number_keys(cells.table, cells.keys, slots)


def _wider(numbers: Ids, limbs: int) -> Ids:
    """int64[rows, limbs, n] with more limbs."""
    return np.ascontiguousarray(widened(numbers.transpose(0, 2, 1), limbs).transpose(0, 2, 1))
