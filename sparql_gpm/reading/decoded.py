"""The bytes of memory that a text becomes while it is read: its readers count them, so that someone may bound them.

The count is an estimate that depends on the text alone, not on what else the process holds. It is a context variable,
as in `arrays.wanted`: readers that nobody bounds pay one look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice

import numpy as np
import pyoxigraph as ox

QUAD_BYTES = 400
"""A quad of pyoxigraph, beside its text."""
TERM_BYTES = 330
"""A distinct term: its token, its value, its places in the dictionary and in the caches of a reader."""
TERM_COPIES = 2
"""Times that the text of a distinct term is held."""
ROW_BYTES = 200
"""A triple of an event, as ids in lists and in columns."""
EVENT_BYTES = 900
"""An event beside its triples, from its reading to its record in a log."""
FAULT_BYTES = 2_000
"""A part that is left out, beside its text, from its report to the answer about it."""
FAULT_COPIES = 4
"""Times that the text of what is left out, and the reason, are held at the same time."""
TERM_TEXT_RATIO_MAX = 256
TERM_TEXT_BYTES_MAX = 64 << 20
"""The terms of a text of n bytes have at most 256 n bytes and 64 MiB more, each as often as it is stated."""
_QUADS = 1_000
_PART_BYTES = 4 << 20
"""Quads, or bytes of their terms, that are made before they are counted."""
_LONG_BYTES_MAX = 64 << 20
"""Bytes that a quad of long terms, and the text of it, take beside those that are counted."""
JSON_ENDS = b'" \t\r\n'
"""The characters that no IRI has in JSON."""
_SHORT_BYTES = 4 << 10
_PIECE_BYTES = 1 << 20
_count: ContextVar[Callable[[int], None] | None] = ContextVar("decoded", default=None)


def count_decoded(size: int) -> None:
    """Count bytes that something has become; whoever bounds them may end the reading. Negative: they are free again."""
    counter()(size)


def counter() -> Callable[[int], None]:
    """The function that counts here, for other threads that work for this one."""
    return _count.get() or _uncounted


def _uncounted(size: int) -> None:
    """Count nothing."""


def count_events(events: int, rows: int) -> None:
    """Count events with so many triples together."""
    count_decoded(EVENT_BYTES * events + ROW_BYTES * rows)


def count_fault(raw: str, reason: str) -> None:
    """Count a part that is left out."""
    count_decoded(FAULT_BYTES + FAULT_COPIES * (len(raw) + len(reason)))


@contextmanager
def while_counted(count: Callable[[int], None]) -> Iterator[None]:
    """Inside, `count` is told of all bytes that texts become; it raises a kind of NotWanted if they are too many."""
    token = _count.set(count)
    try:
        yield
    finally:
        _count.reset(token)


def counted_quads(quads: Iterator[ox.Quad], text: bytes, ends: bytes) -> Iterator[ox.Quad]:
    """The quads of a text, counted while they are made; SyntaxError where their terms are far longer than the text.

    ends    the characters that no term contains which may be stated again
    """
    longest = longest_part(text, ends)
    held = min(8 * longest, _LONG_BYTES_MAX) if longest > _PIECE_BYTES else 0
    count_decoded(held)
    room = TERM_TEXT_BYTES_MAX + TERM_TEXT_RATIO_MAX * len(text)
    size = min(_QUADS, max(1, _PART_BYTES // max(1, longest)))
    while part := list(islice(quads, size)):
        length = sum(map(len, map(str, part)))
        count_decoded(QUAD_BYTES * len(part) + length)
        room -= length
        if room < 0:
            raise SyntaxError(
                f"the terms of this text, written out, are more than {TERM_TEXT_RATIO_MAX} times as long as the text: "
                "shorten its prefixes, or the terms that it repeats"
            )
        yield from part
    count_decoded(-held)


def longest_part(text: bytes, ends: bytes) -> int:
    """The length of the longest part of a text without any of these characters."""
    if len(text) <= _SHORT_BYTES:
        return len(text)
    is_end = np.zeros(256, dtype=np.bool_)
    is_end[list(ends)] = True
    longest, begin = 0, 0
    for at in range(0, len(text), _PIECE_BYTES):
        piece = np.frombuffer(text, dtype=np.uint8, count=min(_PIECE_BYTES, len(text) - at), offset=at)
        places = np.flatnonzero(is_end[piece]) + at
        if len(places):
            longest = max(longest, int(places[0]) - begin, int(np.diff(places).max(initial=0)))
            begin = int(places[-1])
    return max(longest, len(text) - begin)
