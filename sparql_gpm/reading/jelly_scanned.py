"""Scanned frames of Jelly: columns of ids, and their statements in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyoxigraph as ox

from arrays.words import Bytes
from sparql_gpm.columns import Ids
from sparql_gpm.reading import jelly_written as write
from sparql_gpm.reading.jelly_groups import ASIDE, END, FRAME_ASIDE, FRAME_ROW, KEY, KEY_START, KEY_STOP, ROW
from sparql_gpm.reading.jelly_lookups import DEFAULT, LAZY

Statement = tuple[int, int, int, int]
"""Subject, predicate, object and graph as in registers."""


@dataclass(frozen=True, slots=True)
class Place:
    """The bytes of frames: those from `at` on, the first of which has the number `before` + 1.

    text, size  so many bytes, and a word more; they hold until the next scan
    delimited   each frame has its length before it; else all of it is one
    """

    text: Bytes
    size: int
    at: int
    before: int
    delimited: bool

    def between(self, begin: int, end: int) -> bytes:
        """A part of the bytes."""
        return self.text[begin:end].tobytes()


@dataclass(frozen=True)
class Scanned:
    """Scanned frames: what of Found is used, and the place.

    written     the terms without ids, the first of which has the number `first`
    names       the texts of the lookup tables
    """

    place: Place
    rows: Ids
    asides: Ids
    groups: Ids
    frames: Ids
    keys: Bytes
    written: Ids
    first: int
    names: Bytes

    def term(self, value: int) -> ox.NamedNode | ox.Literal:
        """A term without an id, by the number in its place."""
        row = self.written[LAZY - value - self.first].tolist()
        kind, start, more = row[write.KIND], row[write.START], row[write.MORE]
        stop, end = start + row[write.LENGTH], more + row[write.MORE_LENGTH]
        if kind == write.IRI:
            return ox.NamedNode((self.names[start:stop].tobytes() + self.names[more:end].tobytes()).decode())
        lexical = self.place.between(start, stop).decode()
        if kind == write.TAGGED:
            return ox.Literal(lexical, language=self.place.between(more, end).decode())
        if kind == write.TYPED:
            return ox.Literal(lexical, datatype=ox.NamedNode(self.names[more:end].tobytes().decode()))
        return ox.Literal(lexical)

    def key(self, group: int) -> bytes:
        """The IRI of the graph of a group, in brackets; empty if it has none."""
        return self.keys[self.groups[group, KEY_START] : self.groups[group, KEY_STOP]].tobytes()

    def line(self, frame: int) -> int:
        """The number of a frame."""
        return self.place.before + frame + 1

    def bytes_of(self, frame: int) -> bytes:
        """The bytes of a frame."""
        begin, end = self.frames[frame, : END + 1].tolist()
        return self.place.between(begin, end)

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
