"""Scanned frames of Jelly: columns of ids, and their statements in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arrays.words import Bytes
from sparql_gpm.columns import Ids
from sparql_gpm.reading.jelly_groups import ASIDE, END, FRAME_ASIDE, FRAME_ROW, KEY, ROW
from sparql_gpm.reading.jelly_lookups import DEFAULT, LAZY

Statement = tuple[int, int, int, int]
"""Subject, predicate, object and graph as in registers."""


@dataclass(frozen=True, slots=True)
class Place:
    """The bytes of frames: those from `at` on, the first of which has the number `before` + 1.

    data        the text for kernels
    delimited   each frame has its length before it; else all of it is one
    """

    text: bytes
    data: Bytes
    at: int
    before: int
    delimited: bool


@dataclass(frozen=True)
class Scanned:
    """Scanned frames: what of Found is used, the literals without ids, and the place."""

    place: Place
    rows: Ids
    asides: Ids
    groups: Ids
    frames: Ids
    lazy: Ids

    def literal(self, value: int) -> tuple[bytes, int, int]:
        """The text in which a literal without an id is, and where."""
        begin, end = self.lazy[LAZY - value].tolist()
        return self.place.text, begin, end

    def line(self, frame: int) -> int:
        """The number of a frame."""
        return self.place.before + frame + 1

    def bytes_of(self, frame: int) -> bytes:
        """The bytes of a frame."""
        begin, end = self.frames[frame, : END + 1].tolist()
        return self.place.text[begin:end]

    @cached_property
    def row_ends(self) -> Ids:
        """int64[groups + 1]: the first row of each group, and the number of rows."""
        return np.append(self.groups[:, ROW], self.rows.shape[1])

    def statements(self, group: int, stop: int) -> Iterator[tuple[int, list[Statement]]]:
        """The statements of consecutive groups in order, by frame."""
        aside_ends = np.append(self.groups[:, ASIDE], len(self.asides))
        asides = self.asides[aside_ends[group] : aside_ends[stop]]
        begin, end = self.row_ends[group], self.row_ends[stop]
        keys = np.repeat(self.groups[group:stop, KEY], np.diff(self.row_ends[group : stop + 1]))
        named = np.vstack([self.rows[:, begin:end], keys]).T
        of_row = np.searchsorted(self.frames[:, FRAME_ROW], np.arange(begin, end), side="right") - 1
        numbers = np.arange(aside_ends[group], aside_ends[stop])
        of_aside = np.searchsorted(self.frames[:, FRAME_ASIDE], numbers, side="right") - 1
        apart = asides.copy()
        apart[:, 3] = DEFAULT
        order = np.argsort(np.concatenate((asides[:, 3], np.arange(begin, end))), kind="stable")
        frames = np.concatenate((of_aside, of_row))[order]
        every = np.concatenate((apart, named))[order]
        for frame in np.unique(frames).tolist():
            yield frame, [tuple(each) for each in every[frames == frame].tolist()]
