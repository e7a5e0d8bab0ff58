"""New arrays for the kernel of a group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automata.propagation.kernel_arrays import NO_WINDOW
from automata.propagation.shared.arrays import Bundles, Cells, Clock, Frames, Groups, Numbers, Output
from automata.propagation.shared.equations import Kind
from automata.propagation.shared.program import GroupProgram
from automata.values import Ids


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """The sizes of rows of cells; `key`: variables of a key."""

    key: int
    frames: Frames
    bundles: Bundles

    @property
    def sections(self) -> int:
        """The sections of a row."""
        return int(self.frames.open_max.sum())

    def row(self, kind: Kind) -> int:
        """The places of quantities of a kind in a row, at least one."""
        return max(1, int(self._widths(kind).sum()))

    def bundle(self, kind: Kind) -> int:
        """The most places of quantities of a kind in a bundle, at least one."""
        return max(1, int(self._widths(kind).max()))

    def told(self, kind: Kind) -> int:
        """The most quantities of a kind that are told of a section, at least one."""
        return max(1, int((self.bundles.count_told, self.bundles.sum_told, self.bundles.best_told)[kind].max()))

    def section(self, frame: int, copy: int, kind: Kind) -> slice:
        """The places of a section of a frame in a row."""
        bundle = int(self.frames.bundle[frame])
        first = int((self.bundles.counts, self.bundles.sums, self.bundles.best)[kind][bundle])
        begin, end = first + int(self.frames.copy[frame]) + copy, first + int(self._widths(kind)[bundle])
        return slice(begin, end, int(self.bundles.copies[bundle]))

    def _widths(self, kind: Kind) -> Ids:
        return (self.bundles.count_width, self.bundles.sum_width, self.bundles.best_width)[kind]


def new_frames(program: GroupProgram) -> Frames:
    """The windows of a program and the places of their sections."""
    windows = [frame.window for frame in program.frames]
    open_max = np.array([frame.open_max for frame in program.frames], dtype=np.int64)
    bundle = np.repeat(np.arange(len(program.bundles)), program.bundles)
    before = _first(open_max)
    return Frames(
        np.array([window.start for window in windows], dtype=np.int64),
        np.array([window.size for window in windows], dtype=np.int64),
        np.array([window.period for window in windows], dtype=np.int64),
        open_max,
        np.array([window.anchored for window in windows], dtype=np.int64),
        before,
        bundle,
        before - before[np.searchsorted(bundle, bundle)],
    )


def new_bundles(program: GroupProgram, frames: Frames) -> Bundles:
    """The places of the quantities of a program."""
    ends = np.concatenate(([0], np.cumsum(program.bundles))).astype(np.int64)
    copies = np.add.reduceat(frames.open_max, ends[:-1])
    widths = np.ascontiguousarray((np.array(program.widths, dtype=np.int64) * copies[:, np.newaxis]).T)
    told = np.ascontiguousarray(np.array(program.told, dtype=np.int64).T)
    gapped = (np.diff(program.programs.gaps) > 0).astype(np.int64)
    firsts = [_first(each) for each in widths]
    return Bundles(
        ends,
        copies,
        firsts[Kind.COUNT],
        firsts[Kind.SUM],
        firsts[Kind.BEST],
        widths[Kind.COUNT],
        widths[Kind.SUM],
        widths[Kind.BEST],
        told[Kind.COUNT],
        told[Kind.SUM],
        told[Kind.BEST],
        gapped,
    )


def _first(sizes: Ids) -> Ids:
    """The places at which parts of these sizes begin."""
    return np.cumsum(sizes) - sizes


def new_clock(frames: int) -> Clock:
    """The clock before the first event: no window is open."""
    first, last, *others = (np.zeros(frames, dtype=np.int64) for _ in range(4))
    last -= 1
    return Clock(first, last, *others)


def new_cells(sizes: Sizes, slots: int, limbs: int = 1, wide: int = 1) -> Cells:
    """Cells of which none is in use."""
    best, sections = sizes.row(Kind.BEST), sizes.sections
    return Cells(
        np.zeros(4 * slots, dtype=np.int64),
        np.zeros((slots, sizes.key), dtype=np.int64),
        np.full((slots, sections), NO_WINDOW, dtype=np.int64),
        np.zeros((slots, len(sizes.bundles.copies)), dtype=np.int64),
        np.zeros((slots + 1, limbs, sizes.row(Kind.COUNT)), dtype=np.int64),
        np.zeros((slots + 1, wide, sizes.row(Kind.SUM)), dtype=np.int64),
        np.full((slots + 1, best), np.nan),
        np.zeros((slots + 1, best), dtype=np.int64),
        np.zeros((sections, slots), dtype=np.int64),
        np.zeros(sections, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
    )


def numbers_of(sizes: Sizes, cells: Cells) -> Numbers:
    """The quantities of cells as the kernel reads them."""
    most = max(sizes.bundle(kind) for kind in Kind)
    return Numbers(
        cells.counts.reshape(-1),
        cells.sums.reshape(-1),
        cells.best.reshape(-1),
        cells.ids.reshape(-1),
        cells.counts.shape[1],
        cells.counts.shape[2],
        cells.sums.shape[1],
        cells.sums.shape[2],
        cells.best.shape[1],
        np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
    )


def new_groups(solutions: int) -> Groups:
    """Room for the groups of so many solutions."""
    return Groups(*(np.empty(solutions, dtype=np.int64) for _ in range(4)))


def new_output(sizes: Sizes, rows: int, limbs: int = 1, wide: int = 1) -> Output:
    """Room for so many sections."""
    best = sizes.told(Kind.BEST)
    return Output(
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        np.zeros((rows, sizes.key), dtype=np.int64),
        np.zeros((limbs, sizes.told(Kind.COUNT), rows), dtype=np.int64),
        np.zeros((wide, sizes.told(Kind.SUM), rows), dtype=np.int64),
        np.zeros((best, rows)),
        np.zeros((best, rows), dtype=np.int64),
    )
