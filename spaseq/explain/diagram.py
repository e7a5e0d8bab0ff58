"""The automaton of a description as a picture, in Graphviz's DOT and in Mermaid.

Characters of queries can be special in both languages; every label goes through one escaping function per language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import assert_never

from spaseq.explain.description import Description, Edge, State, move_text

_MERMAID_SPECIAL = re.compile(r"[^\w \-+.,:=?!*/()…→]")
"""Characters escaped as numbers in a Mermaid label; letters of any script are not."""


def to_dot(description: Description) -> str:
    """The automaton for `dot`; the lines of a label are centred."""
    lines = [
        f"digraph {_dot_text([description.query])} {{",
        "  rankdir=LR;",
        f"  label={_dot_text([description.query, _evaluator(description)])};",
        "  node [fontname=Helvetica];",
        "  edge [fontname=Helvetica];",
    ]
    lines += [f"  s{state.id} [{_dot_shape(state)}, label={_dot_text([state.label])}];" for state in description.states]
    lines += [
        f"  s{edge.source} -> s{edge.target} [label={_dot_text(_edge_lines(edge))}];" for edge in description.edges
    ]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(description: Description) -> str:
    """The automaton as a Mermaid flowchart."""
    lines = ["flowchart LR", f"  %% {_one_line(description.query)}: {_one_line(_evaluator(description))}"]
    lines += [f"  s{state.id}{_mermaid_shape(state)}" for state in description.states]
    lines += [f"  s{edge.source} -->|{_mermaid_text(_edge_lines(edge))}| s{edge.target}" for edge in description.edges]
    return "\n".join(lines) + "\n"


def _evaluator(description: Description) -> str:
    return f"evaluator: {description.evaluator.name}"


def _edge_lines(edge: Edge) -> list[str]:
    """`; B`, then each note on a line of its own."""
    return [move_text(edge), *edge.notes]


def _dot_shape(state: State) -> str:
    match state.kind:
        case "start":
            return "shape=circle, style=bold"
        case "step":
            return "shape=circle"
        case "any-order":
            return "shape=hexagon"
        case "accept":
            return "shape=doublecircle"
        case _:
            assert_never(state.kind)


def _dot_text(lines: Iterable[str]) -> str:
    escaped = (_one_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def _mermaid_shape(state: State) -> str:
    text = _mermaid_text([state.label])
    match state.kind:
        case "start":
            return f"([{text}])"
        case "step":
            return f"({text})"
        case "any-order":
            return f"{{{{{text}}}}}"
        case "accept":
            return f"((({text})))"
        case _:
            assert_never(state.kind)


def _mermaid_text(lines: Sequence[str]) -> str:
    escaped = (_MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0])};", _one_line(line)) for line in lines)
    return '"' + "<br/>".join(escaped) + '"'


def _one_line(text: str) -> str:
    return " ".join(text.split())
