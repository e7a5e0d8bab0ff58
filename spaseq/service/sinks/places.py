"""The places of files, by whatever name: a sink's file is nobody else's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

_Inode = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a file that may not be there yet.

    path    without links, as far as there are any now
    inode   device and number of the file; None: it is not there
    above   those of the folders above it that are there
    """

    path: str
    inode: _Inode | None
    above: frozenset[_Inode]

    @staticmethod
    def of(path: str) -> Place:
        """The place to which a path leads now."""
        real = os.path.realpath(path)
        return Place(real, _inode(real), frozenset(filter(None, map(_inode, _folders_above(real)))))


def inodes_in(folder: str) -> set[_Inode]:
    """Device and number of a folder, and of all folders and files in it, whatever becomes of them meanwhile."""
    found = {_inode(folder)}
    links = [path for name in os.listdir(folder) if os.path.islink(path := os.path.join(folder, name))]
    for above, folders, files in chain.from_iterable(map(os.walk, (folder, *links))):
        found |= {_inode(os.path.join(above, name)) for name in (*folders, *files)}
    return {inode for inode in found if inode is not None}


class Taken:
    """The files that sinks have.

    data    the data folder, in which no sink may write
    """

    def __init__(self, data: str) -> None:
        self._data = data
        self._by_path: dict[str, str] = {}
        self._by_inode: dict[_Inode | None, str] = {}

    @cached_property
    def _inside(self) -> set[_Inode]:
        return inodes_in(self._data)

    def take(self, path: str, whose: str) -> None:
        """A file that a sink has, whatever others do."""
        self._add(Place.of(path), whose)

    def claim(self, key: str, path: str, whose: str) -> str | None:
        """Let one more sink have a file; the reason if it cannot.

        key     what names the file
        whose   the sink, as it is said of a later one that has the same file
        """
        place = Place.of(path)
        if place.inode in self._inside or place.above & self._inside:
            return f"{key}: {path} is in the data folder of the service: name another place"
        if other := self._by_path.get(place.path) or self._by_inode.get(place.inode):
            return f"{key}: {path} is the file of {other} already: name another one"
        self._add(place, whose)
        return None

    def _add(self, place: Place, whose: str) -> None:
        self._by_path[place.path] = whose
        if place.inode is not None:
            self._by_inode[place.inode] = whose


def _folders_above(path: str) -> Iterator[str]:
    while (folder := os.path.dirname(path)) != path:
        yield folder
        path = folder


def _inode(path: str) -> _Inode | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
