"""The funnel of a query: how many events each part of its steps left over, as values, as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_TEXT_MAX = 60
"""Characters of a part of a pattern that the table shows."""
_NUMBER = 12
"""The width of a number in the table."""


@dataclass(frozen=True, slots=True)
class PatternCount:
    """A triple pattern, or another pattern that is joined, with its line in the query.

    alone   events in which it has a solution by itself; None where only a join could tell
    left    events in which it has one together with all parts before it
    """

    text: str
    line: int
    alone: int | None
    left: int


@dataclass(frozen=True, slots=True)
class FilterCount:
    """A FILTER or MINUS, its line in the query, and the events that it and all parts before it leave over."""

    text: str
    line: int
    left: int


@dataclass(frozen=True, slots=True)
class KnowledgeCount:
    """A join with a knowledge base or endpoint; `iri` begins with `?` where it is a variable."""

    iri: str
    left: int


@dataclass(frozen=True, slots=True)
class StepCount:
    """A step.

    seen        events on its streams
    skipped     events that were not matched part by part: they are in no partition of USING, or exceed a bound
    solutions   that the sequence got
    """

    step: str
    seen: int
    patterns: tuple[PatternCount, ...]
    filters: tuple[FilterCount, ...]
    kbs: tuple[KnowledgeCount, ...]
    skipped: int
    solutions: int


@dataclass(frozen=True, slots=True)
class EdgeCount:
    """An edge of the automaton, by the names of its states.

    waited      partial matches that it could have extended
    took        partial matches whose last step it is
    lost        those that no event extended over this edge, by the cause of the last one tried

    None: the evaluator keeps no partial matches that could be counted.
    """

    source: str
    target: str
    waited: int | None = None
    took: int | None = None
    lost: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Funnel:
    """The fate of the events of a query.

    matches     None: they were not counted
    removed     matches that give no row, by cause; None: they were not counted
    seconds     processor time: of each step's patterns, of the sequence from their solutions to rows
    """

    query: str
    steps: tuple[StepCount, ...]
    edges: tuple[EdgeCount, ...]
    rows: int
    matches: int | None = None
    removed: Mapping[str, int] | None = None
    seconds: Mapping[str, Any] = field(default_factory=dict)


def to_json(funnel: Funnel) -> str:
    """The funnel as one line of JSON."""
    found = {
        "query": funnel.query,
        "steps": [_step(step) for step in funnel.steps],
        "edges": [
            {"from": edge.source, "to": edge.target, "waited": edge.waited, "took": edge.took, "lost": edge.lost}
            for edge in funnel.edges
        ],
        "matches": funnel.matches,
        "removed": funnel.removed,
        "rows": funnel.rows,
        "seconds": funnel.seconds,
    }
    return json.dumps(found, ensure_ascii=False) + "\n"


def _step(step: StepCount) -> dict[str, Any]:
    return {
        "step": step.step,
        "seen": step.seen,
        "patterns": [
            {"text": part.text, "line": part.line, "alone": part.alone, "left": part.left} for part in step.patterns
        ],
        "filters": [{"text": part.text, "line": part.line, "left": part.left} for part in step.filters],
        "kbs": [{"iri": part.iri, "left": part.left} for part in step.kbs],
        "skipped": step.skipped,
        "solutions": step.solutions,
    }


def to_table(funnels: Sequence[Funnel]) -> str:
    """The funnels as a table of lines for people."""
    return "\n".join(line for funnel in funnels for line in _lines(funnel))


def _lines(funnel: Funnel) -> Iterator[str]:
    yield _row(f"funnel of '{funnel.query}'", "", "alone", "left", "CPU s")
    times = funnel.seconds.get("steps", {})
    for step in funnel.steps:
        yield _row(f"  {step.step}: events seen", "", "", _number(step.seen), "")
        for pattern in step.patterns:
            alone = "" if pattern.alone is None else _number(pattern.alone)
            yield _row(f"    {pattern.text}", f"line {pattern.line}", alone, _number(pattern.left), "")
        for test in step.filters:
            yield _row(f"    {test.text}", f"line {test.line}", "", _number(test.left), "")
        for base in step.kbs:
            yield _row(f"    knowledge base {base.iri}", "", "", _number(base.left), "")
        if step.skipped:
            yield _row("    events skipped", "", "", _number(step.skipped), "")
        yield _row("    solutions", "", "", _number(step.solutions), _seconds(times.get(step.step)))
    for edge in funnel.edges:
        if edge.waited is not None and edge.took is not None:
            waited, took = _number(edge.waited), _number(edge.took)
            yield _row(f"  {edge.source} → {edge.target}: waited, took", "", waited, took, "")
        for cause, count in (edge.lost or {}).items():
            yield _row(f"    lost: {cause}", "", _number(count), "", "")
    if funnel.matches is not None:
        yield _row("  matches", "", "", _number(funnel.matches), "")
    for cause, count in (funnel.removed or {}).items():
        yield _row(f"    removed: {cause}", "", "", _number(count), "")
    yield _row("  rows", "", "", _number(funnel.rows), _seconds(funnel.seconds.get("sequence")))


def _row(text: str, line: str, alone: str, left: str, seconds: str) -> str:
    flat = text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 1]}…"
    return f"{flat:<{_TEXT_MAX}} {line:<9}{alone:>{_NUMBER}}{left:>{_NUMBER}}{seconds:>10}".rstrip()


def _number(count: int) -> str:
    return f"{count:,}"


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f}"
