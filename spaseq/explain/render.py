"""A description as text for people, as JSON for programs, and its automaton as a picture in DOT, Mermaid or SVG.

Characters of queries can be special in both languages; every label goes through one escaping function per language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

from spaseq.explain.description import Description, Edge, Format, StateKind, move_text
from spaseq.explain.svg import to_svg
from spaseq.explain.text import to_text

_MERMAID_SPECIAL = re.compile(r"[^\w \-+.,:=?!*/()…→]")
"""Characters escaped as numbers in a Mermaid label; letters of any script are not."""
_DOT_SHAPES: dict[StateKind, str] = {
    "start": "shape=circle, style=bold",
    "step": "shape=circle",
    "any-order": "shape=hexagon",
    "accept": "shape=doublecircle",
}
_MERMAID_BRACKETS: dict[StateKind, tuple[str, str]] = {
    "start": ("([", "])"),
    "step": ("(", ")"),
    "any-order": ("{{", "}}"),
    "accept": ("(((", ")))"),
}


def to_dot(description: Description, widths: Sequence[float] = ()) -> str:
    """The automaton for `dot`; the lines of a label are centred. `widths` of the edges, if they are drawn so."""
    lines = [
        f"digraph {_dot_text([description.query])} {{",
        "  rankdir=LR;",
        f"  label={_dot_text([description.query, _evaluator(description)])};",
        "  node [fontname=Helvetica];",
        "  edge [fontname=Helvetica];",
    ]
    lines += [
        f"  s{state.id} [{_DOT_SHAPES[state.kind]}, label={_dot_text([state.label])}];" for state in description.states
    ]
    drawn = [f", penwidth={width:.1f}" for width in widths] or [""] * len(description.edges)
    lines += [
        f"  s{edge.source} -> s{edge.target} [label={_dot_text(_edge_lines(edge))}{width}];"
        for edge, width in zip(description.edges, drawn, strict=True)
    ]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(description: Description, widths: Sequence[float] = ()) -> str:
    """The automaton as a Mermaid flowchart; `widths` of the edges, if they are drawn so."""
    lines = ["flowchart LR", f"  %% {_one_line(description.query)}: {_one_line(_evaluator(description))}"]
    for state in description.states:
        left, right = _MERMAID_BRACKETS[state.kind]
        lines.append(f"  s{state.id}{left}{_mermaid_text([state.label])}{right}")
    lines += [f"  s{edge.source} -->|{_mermaid_text(_edge_lines(edge))}| s{edge.target}" for edge in description.edges]
    lines += [f"  linkStyle {number} stroke-width:{width:.1f}px" for number, width in enumerate(widths)]
    return "\n".join(lines) + "\n"


def _evaluator(description: Description) -> str:
    return f"evaluator: {description.evaluator.name}"


def _edge_lines(edge: Edge) -> list[str]:
    """`; B`, then each note on a line of its own."""
    return [move_text(edge), *edge.notes]


def _dot_text(lines: Iterable[str]) -> str:
    escaped = (_one_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def _mermaid_text(lines: Sequence[str]) -> str:
    escaped = (_MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0])};", _one_line(line)) for line in lines)
    return '"' + "<br/>".join(escaped) + '"'


def _one_line(text: str) -> str:
    return " ".join(text.split())


def to_json(description: Description) -> str:
    """The description as JSON: its fields in order, empty ones included."""
    return json.dumps(asdict(description), ensure_ascii=False, indent=2) + "\n"


_DRAWINGS: dict[Format, Callable[[Description, Sequence[float]], str]] = {
    "dot": to_dot,
    "mermaid": to_mermaid,
    "svg": to_svg,
}
DRAWN = tuple(_DRAWINGS)
"""The formats that draw the automaton."""


def render(description: Description, format: Format, widths: Sequence[float] = ()) -> str:
    """The description in this format, ending with a line end; `widths` of the edges, for formats that draw them."""
    if format in _DRAWINGS:
        return _DRAWINGS[format](description, widths)
    return to_json(description) if format == "json" else to_text(description)
