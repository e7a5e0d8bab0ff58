"""The reasons of a match: what each of its steps used, as values, as JSON and as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparql_gpm.terms import Term, to_ntriples
from spaseq.outputs.explanation_html import Explanation
from spaseq.outputs.rows import term_json, time_text

_TRIPLES_MAX = 20
"""Triples of a step that are shown; JSON has all."""
Terms = tuple[tuple[str, Term], ...]
"""(name, term) in the order of the query."""


@dataclass(frozen=True, slots=True)
class ConditionSeen:
    """A condition: its text, what it read, unbound variables apart, and whether it holds."""

    text: str
    values: Terms
    holds: bool = True


@dataclass(frozen=True, slots=True)
class StepTaken:
    """One event of a match.

    triples     N-Triples lines of the event's graph that the step's pattern used: its lineage
    knowledge   the same of knowledge bases, by IRI
    bindings    of the step's solution
    """

    step: str
    event: str
    triples: tuple[str, ...]
    knowledge: Mapping[str, tuple[str, ...]]
    bindings: Terms
    conditions: tuple[ConditionSeen, ...]


@dataclass(frozen=True, slots=True)
class Absence:
    """Something that was absent between two times, in nanoseconds."""

    step: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Why(Explanation):
    """The reasons of a match.

    match       the number of the row, from 1
    time, start of the last and of the first event, nanoseconds since the epoch, UTC
    graph       CONSTRUCT: the name of the row's graph
    """

    query: str
    match: int
    time: int
    start: int
    steps: tuple[StepTaken, ...]
    absent: tuple[Absence, ...]
    graph: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON has it; terms as in SPARQL 1.1 Query Results JSON."""
        return {
            "query": self.query,
            "match": self.match,
            "time": time_text(self.time),
            "start": time_text(self.start),
            "steps": [_step(step) for step in self.steps],
            "absent": [
                {"step": each.step, "from": time_text(each.start), "to": time_text(each.end)} for each in self.absent
            ],
        }

    def __str__(self) -> str:
        return "\n".join(_why(self)) + "\n"


@dataclass(frozen=True, slots=True)
class WhyGroup(Explanation):
    """The reasons of a row of OVER MATCHES: its matches.

    match       the number of the row, from 1
    time, start of the row, nanoseconds since the epoch, UTC
    matches     the first ones, numbered from 1 in the order of output
    left_out    how many more it has
    """

    query: str
    match: int
    time: int
    start: int
    matches: tuple[Why, ...]
    left_out: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON has it: that of each match, and the number of all of them."""
        return {
            "query": self.query,
            "match": self.match,
            "time": time_text(self.time),
            "start": time_text(self.start),
            "count": len(self.matches) + self.left_out,
            "matches": [each.to_dict() for each in self.matches],
        }

    def __str__(self) -> str:
        count = len(self.matches) + self.left_out
        heading = f"row {self.match} of '{self.query}', {_period(self.start, self.time)}, of {count:,} matches"
        left_out = [f"and {self.left_out:,} more matches"] if self.left_out else []
        return "\n".join([heading, *(line for each in self.matches for line in _why(each)), *left_out]) + "\n"


def _step(step: StepTaken) -> dict[str, Any]:
    return {
        "step": step.step,
        "event": step.event,
        "triples": list(step.triples),
        "kb": {iri: list(triples) for iri, triples in step.knowledge.items()},
        "bindings": terms_dict(step.bindings),
        "conditions": [condition_dict(each) for each in step.conditions],
    }


def condition_dict(condition: ConditionSeen) -> dict[str, Any]:
    """A condition as JSON has it."""
    return {"text": condition.text, "values": terms_dict(condition.values), "holds": condition.holds}


def terms_dict(terms: Sequence[tuple[str, Term]]) -> dict[str, Any]:
    """Terms by name, as in SPARQL 1.1 Query Results JSON."""
    return {name: json.loads(term_json(term)) for name, term in terms}


def _why(why: Why) -> Iterator[str]:
    yield f"match {why.match} of '{why.query}', {_period(why.start, why.time)}"
    for step in why.steps:
        yield f"  {step.step} is <{step.event}>"
        yield from _used(step)
    for absent in why.absent:
        yield f"  no {absent.step} {_period(absent.start, absent.end)}"


def _used(step: StepTaken) -> Iterator[str]:
    yield from _some(step.triples, "    ")
    for iri, triples in step.knowledge.items():
        yield f"    of knowledge base <{iri}>:"
        yield from _some(triples, "      ")
    if step.bindings:
        yield f"    binds {terms_text(step.bindings)}"
    for condition in step.conditions:
        yield f"    {condition_text(condition)}"


def _some(triples: Sequence[str], indent: str) -> Iterator[str]:
    yield from (f"{indent}{triple}" for triple in triples[:_TRIPLES_MAX])
    if len(triples) > _TRIPLES_MAX:
        yield f"{indent}and {len(triples) - _TRIPLES_MAX:,} more triples"


def condition_text(condition: ConditionSeen) -> str:
    """A condition, what it read, and whether it holds."""
    values = f" with {terms_text(condition.values)}" if condition.values else ""
    return f"{condition.text} {'holds' if condition.holds else 'does not hold'}{values}"


def terms_text(terms: Sequence[tuple[str, Term]]) -> str:
    """Such as `?p = "25"^^<…#integer>, ?s = <urn:s>`."""
    return ", ".join(f"{name if '(' in name else f'?{name}'} = {to_ntriples(term)}" for name, term in terms)


def _period(start: int, end: int) -> str:
    return f"from {time_text(start)} to {time_text(end)}"
