"""Rows on a timeline: of each match a bar from its first to its last event, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from spaseq.errors import visible
from spaseq.outputs.rows import Row, time_text

ROWS_DRAWN_MAX = 40
_WIDTH, _MARGIN, _LANE, _BAR, _AXIS = 720, 10, 12, 8, 22
"""Of the picture, beside its bars, of a row, of its bar, and of the line of times; in pixels."""


def timeline_svg(rows: Sequence[Row]) -> str:
    """The first ROWS_DRAWN_MAX rows, one below the other; an empty text for none."""
    if not rows:
        return ""
    drawn = rows[:ROWS_DRAWN_MAX]
    first, last = min(row.start for row in drawn), max(row.time for row in drawn)
    scale = (_WIDTH - 2 * _MARGIN) / max(last - first, 1)
    height = _LANE * len(drawn) + _AXIS
    bars = [_bar(row, lane, first, scale) for lane, row in enumerate(drawn)]
    below = f'y="{height - 6}" font-size="11" fill="#666"'
    note = "" if len(rows) == len(drawn) else f" (the first {len(drawn)} of {len(rows):,} rows)"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="Helvetica, Arial, sans-serif" role="img" aria-label="timeline of {len(drawn)} rows">'
        f"{''.join(bars)}"
        f'<text x="{_MARGIN}" {below}>{escape(time_text(first) + note)}</text>'
        f'<text x="{_WIDTH - _MARGIN}" {below} text-anchor="end">{escape(time_text(last))}</text></svg>'
    )


def _bar(row: Row, lane: int, first: int, scale: float) -> str:
    left = _MARGIN + (row.start - first) * scale
    width = max((row.time - row.start) * scale, 2.0)
    steps = " → ".join(step if len(names) == 1 else f"{step} × {len(names)}" for step, names in row.events)
    title = escape(visible(f"{time_text(row.start)} – {time_text(row.time)}  {steps}"))
    place = f'x="{left:.1f}" y="{lane * _LANE + 2}" width="{width:.1f}" height="{_BAR}" rx="2"'
    return f'<rect {place} fill="#3572b0"><title>{title}</title></rect>'
