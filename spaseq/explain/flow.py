"""The funnel of a query on its automaton: counts as notes of the edges, and the widths at which they are drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log1p
from typing import Any

from spaseq.explain.description import Description, Edge, State

_WIDTH_MIN, _WIDTH_MAX = 1.0, 8.0
"""Widths of an edge that nothing took, and of that which most took; between, by the logarithm."""

_Taken = tuple[int, int, Mapping[str, int]]
"""The partial matches that waited at an edge, that took it, and that it lost, by cause."""


class FunnelError(ValueError):
    """A text that is no funnel, or the funnel of another query."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A description whose edges have counts among their notes, and the width of each edge."""

    description: Description
    widths: tuple[float, ...]


def read_funnel(text: str, query: str) -> Mapping[str, Any]:
    """The funnel of a query in the JSON of `--analyze-output`; raises FunnelError."""
    names = []
    for number, line in enumerate(filter(str.strip, text.splitlines()), 1):
        try:
            found = json.loads(line)
            if found["query"] == query:
                known: Mapping[str, Any] = found
                return known
            names.append(str(found["query"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FunnelError(f"line {number} is no funnel: {type(error).__name__}") from error
    raise FunnelError(f"it has no funnel of '{query}', but of {', '.join(names) or 'no query'}")


def flow_of(description: Description, funnel: Mapping[str, Any]) -> Flow:
    """The funnel on the automaton of its query; raises FunnelError where they do not go together."""
    try:
        solutions = {str(step["step"]): _count(step["solutions"]) for step in funnel["steps"]}
        took = _edges_taken(description, funnel["edges"])
        ends = [f"{key}: {_count(funnel[key]):,}" for key in ("matches", "rows") if funnel[key] is not None]
        rows = _count(funnel["rows"])
    except (KeyError, TypeError, AttributeError) as error:
        raise FunnelError(f"the funnel lacks what a funnel has: {error}") from error
    edges, counts = [], []
    accepts = {state.id for state in description.states if state.kind == "accept"}
    for number, edge in enumerate(description.edges):
        if edge.target in accepts:
            notes, count = ends, rows
        elif number in took:
            waited, count, lost = took[number]
            notes = [f"{waited:,} waited, {count:,} took", *(f"{n:,} lost: {cause}" for cause, n in lost.items())]
        elif edge.label:
            notes, count = list(_of_steps(edge, solutions)), min((solutions[n] for n in _names(edge)), default=0)
        else:
            notes, count = [], 0
        edges.append(replace(edge, notes=(*edge.notes, *notes)))
        counts.append(count)
    most = log1p(max(counts, default=0)) or 1.0
    widths = tuple(_WIDTH_MIN + (_WIDTH_MAX - _WIDTH_MIN) * log1p(count) / most for count in counts)
    return Flow(replace(description, edges=tuple(edges)), widths)


def _edges_taken(description: Description, counted: Sequence[Mapping[str, Any]]) -> dict[int, _Taken]:
    """By number of an edge, the partial matches that waited, that took it, and that it lost; of those counted."""
    labels = {state.id: state for state in description.states}
    steps = [(edge.target, edge.source, number) for number, edge in enumerate(description.edges) if edge.label]
    found: dict[int, _Taken] = {}
    if all(each["took"] is None for each in counted):
        return {}
    for (target, source, number), each in zip(sorted(steps), counted, strict=False):
        here = (_name(labels[source]), _name(labels[target]))
        if here != (each["from"], each["to"]):
            raise FunnelError(f"the query has an edge {' → '.join(here)}, and the funnel {each['from']} → {each['to']}")
        lost = {str(cause): _count(count) for cause, count in (each.get("lost") or {}).items()}
        found[number] = _count(each["waited"]), _count(each["took"]), lost
    if len(steps) != len(counted):
        raise FunnelError(f"the query has {len(steps)} edges, and the funnel {len(counted)}")
    return found


def _name(state: State) -> str:
    return "start" if state.kind == "start" else state.label


def _of_steps(edge: Edge, solutions: Mapping[str, int]) -> Iterator[str]:
    for name in _names(edge):
        if name not in solutions:
            raise FunnelError(f"it has no step {name}")
        yield f"{solutions[name]:,} solutions of {name}"


def _names(edge: Edge) -> list[str]:
    return edge.label.split(" & ")


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise FunnelError(f"{value!r:.40} is no count")
    return value
