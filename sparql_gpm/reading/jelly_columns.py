"""Events of Jelly, many frames at a time: the usual ones by kernels, the others by the reader in Python.

Frames are scanned into groups of consecutive statements about one graph. A group becomes columns if it is one complete
event; every other group is handed to the reader in Python as quads, and an unusual frame as it is, so that events and
reports do not depend on the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import pyoxigraph as ox

from arrays.words import Bytes
from sparql_gpm.columns import EventBatch, Ids, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.graph_names import GraphNames
from sparql_gpm.reading import jelly_groups as layout
from sparql_gpm.reading import jelly_kernel as kernel
from sparql_gpm.reading import jelly_term_kernels as terms
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.jelly_forms import Forms
from sparql_gpm.reading.jelly_lookups import FIRST, OPEN_GRAPH, SharedState
from sparql_gpm.reading.jelly_registers import Registers
from sparql_gpm.reading.jelly_room import TERM_BYTES, Room
from sparql_gpm.reading.jelly_rows import FLAT_LOGICAL, TRIPLES, Rows
from sparql_gpm.reading.jelly_scanned import Place, Scanned
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.predicate_filter import PredicateFilter
from sparql_gpm.terms import IRI

GROUPS_MAX = 1024
"""Groups that become columns at once."""
FRAMES_MAX = 1 << 16
"""Frames that are scanned at once."""
ROOM_MIN = 1 << 14
"""New terms, forms and entries for which there is room in a scan; more if a frame needs it."""


class QuadReader(Protocol):
    """The reader in Python, with the same builder."""

    def take_quads(self, quads: list[ox.Quad], number: int, frame: bytes) -> Iterator[LocatedBatch]:
        """Read statements of a frame: all of a unit, or a part if frames mean nothing."""

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any."""


class _Rows(NamedTuple):
    """Rows as in Found, each with an id; and int64[groups + 1]: the first of each group, and their number."""

    rows: Ids
    ends: Ids


class JellyColumns:
    """Reads the frames of one document in turn.

    consumed    the place behind the last frame that was read
    frames      the number of frames read
    unusual     the next frame is to be read in Python
    """

    def __init__(
        self, dictionary: Dictionary, builder: EventBuilder, options: ReadOptions, plain: QuadReader, rows: Rows
    ) -> None:
        assert rows.options is not None
        self._dictionary, self._builder, self._plain, self._rows = dictionary, builder, plain, rows
        self._rule, self._bytes_max = options.time_rule, options.line_bytes_max
        self._times = np.array(sorted(dictionary.pin(IRI(iri)) for iri in options.time_predicates), dtype=np.int64)
        self._filter = options.predicates
        self._wanted = self._marked(self._filter)
        self._needed = self._wanted.view(np.uint8)
        flat = rows.options.logical % 10 in FLAT_LOGICAL
        self._mode = layout.FLAT if flat else layout.TRIPLE_UNITS if rows.options.physical == TRIPLES else layout.UNITS
        self._forms = Forms(dictionary)
        self._state = SharedState(rows)
        self._registers = Registers(dictionary, self._forms, self._state, rows)
        self._generation = dictionary.generation
        self._room, self._arrays = ROOM_MIN, Room()
        self.consumed = self.frames = 0
        self.unusual = False

    def _marked(self, only: PredicateFilter | None) -> Mask:
        """By id, true for the predicates that are wanted; if all are an array that is empty."""
        if only is None:
            return np.zeros(0, dtype=np.bool_)
        ids = [self._dictionary.pin(IRI(iri)) for iri in only.predicates]
        marked = np.zeros(max(ids, default=0) + 1, dtype=np.bool_)
        marked[ids] = True
        return marked

    def take(self, text: Bytes, size: int, at: int, before: int, delimited: bool) -> Iterator[LocatedBatch]:
        """Read whole frames from a place on, up to one that is unusual; the reader in Python then has the state.

        text, size  so many bytes, and a word more
        before      the number of frames before them
        delimited   each has its length before it; else all of it is one
        """
        self.consumed, self.frames = at, 0
        status = terms.LEARN
        if self._forms.full:
            self._forget()
        self._refresh()
        self._registers.take_back()
        self._hold()
        while status in (terms.LEARN, terms.ROOM):
            scanned, status = self._scan(Place(text, size, self.consumed, before + self.frames, delimited))
            self.frames += len(scanned.frames)
            if len(scanned.groups):
                yield from self._take(scanned)
                self._hold()
            if status == terms.LEARN:
                self._forms.learn()
            elif status == terms.ROOM and not len(scanned.frames):
                self._room *= 2
            elif len(scanned.frames) == FRAMES_MAX:
                status = terms.ROOM
        self.unusual = status == terms.ODD or not self.frames
        self._registers.lend()

    def _hold(self, *columns: Ids) -> None:
        """Keep the terms of these columns and of the registers, whatever the dictionary releases meanwhile."""
        registers = np.maximum(self._state.lookups.registers[: OPEN_GRAPH + 1], 0)
        self._dictionary.hold(self, (registers, *columns))

    def _scan(self, place: Place) -> tuple[Scanned, int]:
        self._refresh()
        size = place.size - place.at
        table, forms, room = self._dictionary.table(), self._forms, self._room
        forms.reserve(room, room * TERM_BYTES)
        self._state.reserve(room * TERM_BYTES, room)
        out, written = self._arrays.found(size, room, FRAMES_MAX), self._arrays.written(size, room)
        counts, uncertain = np.zeros(terms.COUNTS, dtype=np.int64), np.empty(room, dtype=np.int64)
        source = layout.Source(
            place.text, place.at, place.size, place.delimited, self._bytes_max, self._mode, self._times
        )
        with table.lock:
            table.reserve(room, room * TERM_BYTES)
            strings = table.strings
            known = terms.Terms(
                strings.arena, strings.entries, strings.slots, table.numbers,
                forms.strings.arena, forms.strings.entries, forms.strings.slots, forms.ids,
                self._arrays.token(room), uncertain, self._needed, written, counts,
            )  # fmt: skip
            kernel.scan(source, self._state.lookups, known, out)
            table.set_numbers(uncertain[: counts[terms.UNCERTAIN]])
        rows, asides, groups, frames = counts[[terms.ROWS, terms.ASIDES, terms.GROUPS, terms.FRAMES]].tolist()
        self.consumed, lookups = int(counts[terms.PLACE]), self._state.lookups
        found = Scanned(
            place, out.rows[:, :rows], out.asides[:asides], out.groups[:groups], out.frames[:frames],
            out.keys, written, int(lookups.registers[FIRST]), lookups.text,
        )  # fmt: skip
        self._registers.settle(found)
        lookups.registers[FIRST] += len(written)
        return found, int(counts[terms.STATUS])

    def _refresh(self) -> None:
        """Drop ids that are stale; registers keep their terms."""
        if self._dictionary.generation != self._generation:
            self._forget()

    def _forget(self) -> None:
        self._registers.keep_blank_nodes()
        self._state.forget_terms()
        self._generation = self._dictionary.generation

    def _take(self, scanned: Scanned) -> Iterator[LocatedBatch]:
        """Read groups."""
        builder, groups = self._builder, scanned.groups
        odd, wanted = self._odd_groups(scanned), self._with_scopes(self._without_unwanted(scanned))
        few = scanned.asides[:, :3], groups[:, [layout.KEY, layout.STAMP]]
        rest = (scanned.rows, *few) if wanted.rows is not scanned.rows else few
        self._hold(wanted.rows, *(np.maximum(column, 0) for column in rest))
        group = 0
        while group < len(groups):
            stop = min(int(odd[np.searchsorted(odd, group)]), group + GROUPS_MAX)
            if stop > group and not self._goes_on(scanned, group):
                builder.close()
                taken = self._admit(scanned, wanted, group, min(stop, group + builder.room))
            else:
                taken = 0
            if taken == 0 and not builder.full:
                taken = self._alone(scanned, group)
                for frame, statements in scanned.statements(group, group + taken):
                    quads = self._registers.quads(statements, scanned)
                    yield from self._plain.take_quads(quads, scanned.line(frame), scanned.bytes_of(frame))
            group += taken
            if builder.full:
                yield from self._plain.flush()

    def _alone(self, scanned: Scanned, group: int) -> int:
        """The number of groups that are to be read together with this one."""
        if not scanned.groups[group, layout.STATE] & layout.WHOLE_FRAME:
            return 1
        frame = scanned.groups[group, layout.FRAME]
        return int(np.searchsorted(scanned.groups[:, layout.FRAME], frame, side="right")) - group

    def _odd_groups(self, scanned: Scanned) -> Ids:
        """The groups to be read in Python, in order; the number of groups is the last.

        If frames mean nothing, an event may go on behind the last group.
        """
        self._read_times(scanned.groups)
        states = scanned.groups[:, layout.STATE]
        odd = states & (layout.UNUSUAL | layout.CONFLICT | layout.WHOLE_FRAME) != 0
        if not self._builder.stamps_arrivals:
            odd |= states & layout.STAMPED == 0
            if self._rule.paths and self._mode == layout.TRIPLE_UNITS:
                odd[:] = True
        if self._mode == layout.FLAT:
            odd[-1:] = True
        return np.append(np.flatnonzero(odd), len(odd))

    def _read_times(self, groups: Ids) -> None:
        """Read the timestamps in other forms than the usual one."""
        for group in np.flatnonzero(groups[:, layout.STATE] & layout.UNREAD).tolist():
            stamp = int(groups[group, layout.STAMP])
            try:
                groups[group, layout.TIME] = self._rule.stated(self._dictionary.term(stamp) if stamp > 0 else None)
            except ValueError:
                groups[group, layout.STATE] |= layout.UNUSUAL

    def _without_unwanted(self, scanned: Scanned) -> _Rows:
        """The rows that somebody wants."""
        if self._filter is None:
            return _Rows(scanned.rows, scanned.row_ends)
        predicates = scanned.rows[1]
        kept = predicates < len(self._wanted)
        kept[kept] = self._wanted[predicates[kept]]
        for identifier in np.unique(predicates[~kept]).tolist():
            name = self._dictionary.term(identifier)
            assert isinstance(name, IRI), name
            self._filter.leave_out({name.value: None})
        ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(kept)))
        return _Rows(scanned.rows[:, kept], ends[scanned.row_ends])

    def _with_scopes(self, wanted: _Rows) -> _Rows:
        """The rows with ids of blank nodes, each of its event."""
        if not (wanted.rows < 0).any():
            return wanted
        of_group = np.repeat(np.arange(len(wanted.ends) - 1), np.diff(wanted.ends))
        return _Rows(self._forms.scoped(wanted.rows, of_group, self._builder.new_scope), wanted.ends)

    def _admit(self, scanned: Scanned, wanted: _Rows, group: int, stop: int) -> int:
        """Make the groups columns, up to the first whose graph is reopened; returns their number."""
        names = self._names(scanned, group, stop)
        if not names:
            return 0
        stop = group + len(names)
        offsets = wanted.ends[group : stop + 1]
        arrivals = self._builder.arrivals(len(names))
        times = scanned.groups[group:stop, layout.TIME].copy() if arrivals is None else arrivals
        subjects, predicates, objects = wanted.rows[:, offsets[0] : offsets[-1]]
        events = EventBatch(times, np.zeros_like(times), names, offsets - offsets[0], subjects, predicates, objects)
        lines = scanned.groups[group:stop, layout.FRAME] + (scanned.place.before + 1)
        emptied = (np.diff(offsets) == 0) & (np.diff(scanned.row_ends[group : stop + 1]) > 0)
        self._builder.admit(LocatedBatch(events, lines, int(np.count_nonzero(emptied))))
        return len(names)

    def _names(self, scanned: Scanned, group: int, stop: int) -> GraphNames | list[str]:
        """The names of groups that are events, up to the first whose graph is reopened."""
        if self._mode == layout.TRIPLE_UNITS:
            return [self._builder.new_name() for _ in range(group, stop)]
        keys = scanned.keys.view()
        keys.flags.writeable = False  # one signature of the kernel for all texts
        places = scanned.groups[group:stop, [layout.KEY_START, layout.KEY_STOP]].T
        return self._builder.close_fresh(keys, *map(np.ascontiguousarray, places))

    def _goes_on(self, scanned: Scanned, group: int) -> bool:
        """True if the group is of the event that is open."""
        return self._builder.key is not None and scanned.key(group) == self._builder.key
