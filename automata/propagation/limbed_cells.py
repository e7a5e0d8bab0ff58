"""Cells whose integers have one limb while they are small: the rule by which they become wider, and narrow again."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from automata.propagation import kernel_keys
from automata.propagation.kernel_arrays import LIMB, Order, Room, Slice
from automata.values import Ids

ONE_LIMB = 1 << 61
"""Numbers of one limb, with what one event adds, are less."""
WIDE_ROOM = Room(1 << 29, 1 << 29)
"""Last limbs of several, with what one event adds, are less."""


class LimbedCells(ABC):
    """The cells of one query, or those of a group, of whichever kind.

    _known      the room that all numbers are known to leave, or None
    """

    _state: Ids
    _known: Room | None

    @property
    @abstractmethod
    def _widths(self) -> tuple[int, int]:
        """Limbs of counts and of sums."""

    @property
    @abstractmethod
    def _keys(self) -> tuple[Ids, Ids]:
        """The hash table of keys, and the keys."""

    @abstractmethod
    def _make_room(self, stuck: bool) -> None:
        """Gives up the slots of keys without a cell; makes more where few are, or one event needs more."""

    @abstractmethod
    def _fits(self, room: Room) -> bool:
        """True if all numbers of open cells, counts of one limb, leave this room."""

    @abstractmethod
    def _narrow(self) -> None:
        """Makes one limb of counts that are small again."""

    @abstractmethod
    def _widen(self, limbs: int, addends: int) -> None:
        """Makes this many limbs of counts, and of sums what products with addends of so many need."""

    def _order(self, slice_: Slice) -> tuple[Order, int]:
        """The solutions by event, with the slots of their keys, and the most of one event."""
        columns = [np.empty(len(slice_.events), dtype=np.int64) for _ in range(3)]
        order = Order(np.zeros(len(slice_.times), dtype=np.int64), *columns)
        most = kernel_keys.put_in_order(slice_, order)
        stuck = False
        while not kernel_keys.number_rows(*self._keys, slice_, order, self._state):
            self._make_room(stuck)
            stuck = True
        return order, most

    def _room_for(self, slice_: Slice, terms: int, closed: bool) -> Room:
        """The room that numbers need before an event of the slice; those of one limb without it become wider.

        terms       the most that one event adds to one number
        closed      a window has been closed since the slice before, so that numbers may be small again
        """
        addends = slice_.addends.shape[2]
        if closed and self._widths[0] > 1:
            self._narrow()
        if self._widths[1] > 1 or addends > 1:
            self._widen(self._widths[0], addends)
        if self._widths[0] > 1:
            return WIDE_ROOM
        room = ONE_LIMB >> (int(terms) + 2).bit_length()
        narrow = self._widths[1] == 1
        needed = Room(room >> self._most_addend(slice_).bit_length(), room) if narrow else Room(room, WIDE_ROOM.sums)
        known = self._known
        if known is not None and needed.counts >= known.counts and needed.sums >= known.sums:
            return known
        if self._fits(needed):
            self._known = needed
            return needed
        self._widen(2, addends)
        return WIDE_ROOM

    def _most_addend(self, slice_: Slice) -> int:
        """The greatest limb that may be multiplied with a count."""
        return int(slice_.addends.max(initial=0))

    def _limbs_of_sums(self, limbs: int, addends: int) -> int:
        """The limbs of sums beside counts of so many, with room for products with addends of so many."""
        return int(max(self._widths[1] + (limbs > self._widths[0]), max(limbs, 2) + addends + 1))


def one_limb(counts: Ids) -> bool:
    """True if counts int64[…, limbs] are small enough for one limb."""
    return bool(not counts[..., 2:].any() and counts[..., 1].max(initial=0) < ONE_LIMB >> (LIMB + 2))
