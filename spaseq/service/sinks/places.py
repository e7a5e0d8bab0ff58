"""The places of files, by whatever name: a sink's file is nobody else's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
        """The place to which a path leads now; raises OSError where it leads in a circle."""
        real = os.path.realpath(path)
        return Place(real, _inode(real), frozenset(filter(None, map(_inode, _folders_above(real)))))

    def same(self, other: Place) -> bool:
        """True if both are one file."""
        return self.path == other.path or (self.inode is not None and self.inode == other.inode)


def inodes_in(folder: str) -> set[_Inode]:
    """Device and number of a folder, and of all folders and files in it, whatever becomes of them meanwhile."""
    found = {_inode(folder)}
    links = [path for name in os.listdir(folder) if os.path.islink(path := os.path.join(folder, name))]
    for above, folders, files in chain.from_iterable(map(os.walk, (folder, *links))):
        found |= {_inode(os.path.join(above, name)) for name in (*folders, *files)}
    return {inode for inode in found if inode is not None}


def fault_of(paths: Iterable[tuple[str, str]], taken: Mapping[str, str], data: str) -> str | None:
    """The reason for which files cannot be those of sinks; None: they can.

    paths   each with the key that names it
    taken   the files of other sinks, with what has them
    data    the data folder, in which no sink may write
    """
    inside = inodes_in(data)
    places = [(what, Place.of(path)) for path, what in taken.items()]
    for key, path in paths:
        place = Place.of(path)
        if place.inode in inside or place.above & inside:
            return f"{key}: {path} is in the data folder of the service: name another place"
        for what, other in places:
            if place.same(other):
                return f"{key}: {path} is the file of {what} already: name another one"
        places.append((key, place))
    return None


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
