"""Pictures for notebooks: the automaton of a query, its funnel on the automaton, and the funnel as bars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape

from spaseq.algebra.nodes import AnyQuery
from spaseq.engine.described import describe
from spaseq.errors import visible
from spaseq.explain.description import Description
from spaseq.explain.flow import flow_of
from spaseq.explain.funnel import FilterCount, Funnel, PatternCount, to_json
from spaseq.explain.render import render

_TEXT_MAX = 100
"""Characters of a part of a query that are shown."""
_BAR_MAX = 240
"""The width of the longest bar, in pixels."""


def query_svg(query: AnyQuery) -> str:
    """The automaton of a query."""
    return description_svg(describe(query))


def description_svg(description: Description) -> str:
    """The automaton of a description."""
    return _on_white(render(description, "svg"))


def flow_svg(query: AnyQuery, funnel: Funnel) -> str:
    """The automaton of a query with the counts of a run at its edges, which are as wide as much went along them."""
    flow = flow_of(describe(query), json.loads(to_json(funnel)))
    return _on_white(render(flow.description, "svg", flow.widths))


def _on_white(svg: str) -> str:
    """The picture, which is drawn in black, for notebooks in dark colours, too."""
    return visible(svg).replace("<svg ", '<svg style="background: #fff" ', 1)


def funnel_html(funnel: Funnel) -> str:
    """A table with a bar and a number for each part of a query: the events that it left over."""
    parts = list(_parts(funnel))
    most = max((count for _, _, count in parts), default=0) or 1
    lines = [_line(depth, text, count, most) for depth, text, count in parts]
    head = f"<caption>funnel of {escape(visible(funnel.query))}</caption>"
    return f'<table class="spaseq-funnel">{head}<tbody>{"".join(lines)}</tbody></table>'


def _parts(funnel: Funnel) -> Iterator[tuple[int, str, int]]:
    """Depth, text and count of each part."""
    for step in funnel.steps:
        yield 0, f"{step.step}: events seen", step.seen
        tested: tuple[PatternCount | FilterCount, ...] = (*step.patterns, *step.filters)
        for part in tested:
            yield 1, f"{part.text} (line {part.line})", part.left
        for base in step.kbs:
            yield 1, f"knowledge base {base.iri}", base.left
        if step.skipped:
            yield 1, "events skipped", step.skipped
        yield 1, "solutions", step.solutions
    for edge in funnel.edges:
        if edge.took is not None:
            yield 0, f"{edge.source} → {edge.target}: took", edge.took
        for cause, count in (edge.lost or {}).items():
            yield 1, f"lost: {cause}", count
    if funnel.matches is not None:
        yield 0, "matches", funnel.matches
    for cause, count in (funnel.removed or {}).items():
        yield 1, f"removed: {cause}", count
    yield 0, "rows", funnel.rows


def _line(depth: int, text: str, count: int, most: int) -> str:
    shown = text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 1]}…"
    width = max(round(_BAR_MAX * count / most), 1 if count else 0)
    bar = f'<div style="width: {width}px; height: 0.8em; background: #3572b0"></div>'
    return (
        f'<tr><td style="text-align: left; padding-left: {1 + 2 * depth}em">{escape(visible(shown))}</td>'
        f'<td style="text-align: left; min-width: {_BAR_MAX}px">{bar}</td><td>{count:,}</td></tr>'
    )
