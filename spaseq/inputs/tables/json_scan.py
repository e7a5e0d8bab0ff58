"""Blocks of lines of JSON scanned by the kernel; importing this imports numba."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparql_gpm.columns import as_ids
from spaseq.inputs.tables.json_kernel import DEPTH_MAX, NONE, REFUSED, Found, KeyTree, scan
from spaseq.inputs.tables.json_rows import JsonCells, JsonRows
from spaseq.inputs.tables.template import Path
from spaseq.inputs.tables.text_column import ROOM

_ROOM = bytes(ROOM)
_LINE = b"\n"
_ITEMS_MAX = 1 << 21
"""Values in lists of a block; lines with more of them are odd."""


@dataclass(frozen=True, slots=True)
class OddLine:
    """A line that the kernel has left to others.

    rows_before     rows that it has found before, in the same block
    """

    text: bytes
    number: int
    rows_before: int


class JsonScanner:
    """Finds the values of some paths in the lines of blocks.

    lines   of the last block
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._keys = _keys(paths)
        self._stack = np.zeros(DEPTH_MAX, dtype=np.int64)
        self.lines = 0

    def rows(self, block: bytes, lines_before: int) -> tuple[JsonRows, list[OddLine]]:
        """The rows of a block, but for those of the odd lines."""
        whole = block if block.endswith(_LINE) else block + _LINE
        text = np.frombuffer(b"".join((_ROOM, whole, _ROOM)), dtype=np.uint8)
        self.lines = whole.count(_LINE)
        shape = (len(self._paths), self.lines)
        found = Found(
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.uint8),
            np.empty((5, min(len(whole) // 2, _ITEMS_MAX)), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.empty((3, self.lines), dtype=np.int64),
            np.empty((4, self.lines), dtype=np.int64),
        )
        self._keys.seen[:] = NONE
        end = ROOM + len(whole)
        rows, odd = scan(text, ROOM, end, _is_utf8(block), self._keys, found, self._stack)
        items = found.items[:, : int(found.counts[0])]
        cells = JsonCells(found.begins[:, :rows], found.ends[:, :rows], found.kinds[:, :rows], items)
        numbers = found.rows[2, :rows] + (lines_before + 1)
        lines = [
            OddLine(whole[begin - ROOM : stop - ROOM], lines_before + 1 + number, before)
            for begin, stop, number, before in found.odd[:, :odd].T.tolist()
        ]
        return JsonRows(self._paths, text, cells, found.rows[:2, :rows], numbers), lines


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _keys(paths: Sequence[Path]) -> KeyTree:
    """The tree of the keys in paths; a key of the row that is written as a whole path would hide the path."""
    columns: dict[Path, int] = {}
    for path in paths:
        if len(path) > 1:
            columns[(".".join(path),)] = REFUSED
        for length in range(1, len(path)):
            columns.setdefault(path[:length], NONE)
    columns.update({path: place for place, path in enumerate(paths)})
    nodes: list[Path] = [()]
    first = []
    for parent in nodes:  # which grows meanwhile: level by level
        first.append(len(nodes))
        nodes += [path for path in columns if path[:-1] == parent]
    names = [node[-1].encode() if node else b"" for node in nodes]
    ends = np.cumsum([len(name) for name in names])
    return KeyTree(
        np.frombuffer(b"".join(names) + _ROOM, dtype=np.uint8),
        as_ids(ends - [len(name) for name in names]),
        as_ids(ends),
        as_ids([*first, len(nodes)]),
        as_ids([columns.get(node, NONE) for node in nodes]),
        np.full(len(nodes), NONE, dtype=np.int64),
        as_ids(first),
    )
