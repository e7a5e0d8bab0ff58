"""Files as a machine finds them that has lost its power: what was synced, and any part of what came behind.

A change that was not synced is there whole, in some of its sectors, or not at all, whatever became of those before it.
Where two changes concern the same bytes, the older one alone is there where the newer one came first, or not at all: so
parts in the order in which they were written are all that any order can give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeAlias

SECTOR_BYTES = 512
"""A disk writes so many bytes whole, or not at all."""
Change: TypeAlias = tuple[int, bytes | None]
"""Bytes that were written at an offset; None: the file was cut there."""


def after_power_loss(synced: bytes, changes: Sequence[Change], dice: Random) -> bytes:
    """The bytes of a file, by those that were synced and the changes since, oldest first."""
    found, pieces = bytearray(synced), [piece for change in changes for piece in _sectors(change)]
    match dice.choice(("none", "all", "first", "some")):
        case "none":
            pieces = []
        case "first":
            pieces = pieces[: dice.randint(0, len(pieces))]
        case "some":
            percent = dice.choice((10, 50, 90))
            pieces = [piece for each in pieces if (piece := _some(each, percent, len(synced), dice)) is not None]
    for piece in pieces:
        apply(found, piece)
    return bytes(found)


def apply(content: bytearray, change: Change) -> None:
    """Change the bytes of a file; where it had none, there are zeros before what is written."""
    offset, data = change
    if data is None:
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _sectors(change: Change) -> Iterator[Change]:
    """A change by the sectors that it concerns."""
    offset, data = change
    if data is None:
        yield change
        return
    begin = 0
    while begin < len(data):
        end = begin + SECTOR_BYTES - (offset + begin) % SECTOR_BYTES
        yield offset + begin, data[begin:end]
        begin = end


def _some(piece: Change, percent: int, synced: int, dice: Random) -> Change | None:
    """A piece if it is there, or zeros if the file has just become as long as with it; else None."""
    if dice.randrange(100) < percent:
        return piece
    offset, data = piece
    if data is not None and offset >= synced and dice.randrange(4) == 0:
        return offset, bytes(len(data))
    return None
