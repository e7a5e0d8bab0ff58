"""The automaton of a description as SVG: its states on a line, edges that pass states above it, those back below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from spaseq.explain.description import Description, Edge, State, move_text

_APART, _RADIUS = 240, 30
"""Between the centres of two states; of a state."""
_RISE, _LINE = 46, 15
"""The height of an arc for each state that it passes; of a line of text."""


def to_svg(description: Description, widths: Sequence[float] = ()) -> str:
    """The automaton as a document of its own; `widths` of the edges, 1 where there is none."""
    places = {state.id: _APART // 2 + _APART * number for number, state in enumerate(description.states)}
    heights, seen = [], Counter[tuple[int, int]]()
    for edge in description.edges:
        heights.append(_height(places[edge.source], places[edge.target], seen[edge.source, edge.target]))
        seen[edge.source, edge.target] += 1
    room = [height - _LINE * (len(edge.notes) + 2) for height, edge in zip(heights, description.edges, strict=True)]
    above = -min([*room, -_RADIUS]) + 2 * _LINE
    below = max([*heights, _RADIUS]) + 2 * _LINE
    width, height = _APART * len(places), above + below
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" text-anchor="middle">',
        f"<title>{escape(description.query)}</title>",
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="10" markerHeight="10" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
        f'<g transform="translate(0 {above})">',
    ]
    drawn = widths or [1.0] * len(heights)
    for edge, rise, wide in zip(description.edges, heights, drawn, strict=True):
        lines += _edge(edge, places[edge.source], places[edge.target], rise, wide)
    lines += [line for state in description.states for line in _state(state, places[state.id])]
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def _height(source: int, target: int, before: int) -> int:
    """The height of the middle of an edge, negative above the line; `before`: edges between the same states so far."""
    if source == target:
        return -_RADIUS - _RISE - _RISE * before
    passed = (target - source) // _APART
    if passed == 1:
        return -_RISE * before
    return -_RISE * (abs(passed) + before) if passed > 0 else _RISE * (abs(passed) + before)


def _edge(edge: Edge, source: int, target: int, rise: int, width: float) -> list[str]:
    sign = -1 if rise < 0 else 1
    if source == target:
        path = f"M{source - 12} {-_RADIUS + 3}C{source - 40} {rise} {source + 40} {rise} {source + 12} {-_RADIUS + 3}"
        middle, top = source, rise + 10
    elif rise == 0:
        path, middle, top = f"M{source + _RADIUS} 0L{target - _RADIUS} 0", (source + target) // 2, 0
    else:
        bent = rise + rise // 3
        path = f"M{source} {sign * _RADIUS}C{source} {bent} {target} {bent} {target} {sign * _RADIUS}"
        middle, top = (source + target) // 2, rise
    texts = [move_text(edge), *edge.notes]
    first = top - _LINE * (len(texts) - 1) - 6 - int(width / 2)
    shown = [
        f'<text x="{middle}" y="{first + _LINE * number}">{escape(" ".join(text.split()))}</text>'
        for number, text in enumerate(texts)
    ]
    return [f'<path d="{path}" fill="none" stroke="#555" stroke-width="{width:.1f}" marker-end="url(#end)"/>', *shown]


def _state(state: State, place: int) -> list[str]:
    strong = "3" if state.kind == "start" else "1.5"
    circle = f'<circle cx="{place}" cy="0" r="{{}}" fill="#fff" stroke="#000" stroke-width="{strong}"/>'
    rings = [circle.format(_RADIUS), *([circle.format(_RADIUS - 4)] if state.kind == "accept" else [])]
    return [*rings, f'<text x="{place}" y="4">{escape(" ".join(state.label.split()))}</text>']
