"""Units of TriG written as N-Quads, many at a time.

A mark behind each unit, a statement that the parser gives back as it is, tells which lines are whose.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import pyoxigraph as ox

from sparql_gpm.reading.strict import parser_of

_MARK = b"<urn:spaseq:unit> <urn:spaseq:unit> <urn:spaseq:unit> .\n"
_BETWEEN = b"\n" + _MARK
TEXT_BYTES_MAX = 8 << 20
"""Longer texts are read unit by unit, since a term in them may be too long for the parser."""


def as_nquads(header: bytes, units: list[bytes]) -> list[bytes] | int:
    """The lines of each unit, in order; the place of a unit without which the others may be well formed.

    header      the declarations that the units use, one a line
    """
    text = header + _BETWEEN.join(units) + _BETWEEN
    try:
        written = ox.serialize(parser_of(text, ox.RdfFormat.TRIG), format=ox.RdfFormat.N_QUADS)
    except SyntaxError as error:
        return _unit_at((error.lineno or 1) - header.count(b"\n"), units)
    except MemoryError:
        return 0
    assert written is not None
    lines = written.split(_MARK)
    if len(lines) != len(units) + 1 or lines.pop():
        return 0
    return lines


def _unit_at(line: int, units: list[bytes]) -> int:
    """The unit on a line of the text, from 1."""
    behind = list(accumulate(unit.count(b"\n") + 2 for unit in units))
    return min(bisect_right(behind, line - 1), len(units) - 1)
