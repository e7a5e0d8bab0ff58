"""What `spaseq explain` says about a query, as plain immutable values.

The engine fills them in from the compiled query; nothing here knows how a query is compiled, and
the renderers know nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StateKind = Literal["start", "step", "any-order", "accept"]
Format = Literal["text", "json", "dot", "mermaid"]


@dataclass(frozen=True, slots=True)
class Stream:
    """A declared stream; `origin` says where its events come from when that is not a file, else ""."""

    name: str
    iri: str
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a step: its text, and in words when it is decided."""

    text: str
    decided: str


@dataclass(frozen=True, slots=True)
class PatternPlan:
    """A GPM as it is matched.

    variables   in scope, in order
    plan        the lines of its plan; indentation is part of them
    """

    name: str
    streams: tuple[str, ...]
    variables: tuple[str, ...]
    plan: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class KnowledgeUse:
    """A part of a GPM that asks a knowledge base.

    variables   that it binds
    when        it is joined: "each event", "each match" or "never"
    why         then and not at another time, in words
    """

    step: str
    variables: tuple[str, ...]
    when: str
    why: str


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """A knowledge base or endpoint that the query names; `how` says in words how it is asked."""

    iri: str
    how: str
    uses: tuple[KnowledgeUse, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A state of the automaton; `id` is unique, `label` says what has been matched there."""

    id: int
    label: str
    kind: StateKind


@dataclass(frozen=True, slots=True)
class Edge:
    """A move of the automaton.

    label       the step taken, or the members of a conjunction; "" when no event is taken
    operator    the contiguity that holds: `,` `;` `:`, or "" where nothing can stand before
    notes       in words: next iteration, negation checked, optional step left out, reported when …
    """

    source: int
    target: int
    label: str
    operator: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repetition:
    """The contiguity in force between the iterations, in words; `written` is False when it is the default."""

    text: str
    contiguity: str
    written: bool


@dataclass(frozen=True, slots=True)
class Alternative:
    """An evaluator that was not chosen, and why."""

    evaluator: str
    why_not: str


@dataclass(frozen=True, slots=True)
class Evaluator:
    """The evaluator chosen, with its reason.

    estimates   what those that could run the query are expected to cost
    replanning  what is measured while it runs, and when another one takes over; "": nothing is
    """

    name: str
    reason: str
    alternatives: tuple[Alternative, ...] = ()
    estimates: tuple[str, ...] = ()
    replanning: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """Everything `explain` says.

    sentences   the query in words, one sentence each
    window      in words
    partition   its variables; empty without PARTITION BY
    sharding    how its events are divided on Spark, and why
    knowledge   the knowledge bases, and the endpoints of SERVICE
    patterns    in the order of SEQ
    """

    query: str
    sentences: tuple[str, ...]
    streams: tuple[Stream, ...]
    window: str
    patterns: tuple[PatternPlan, ...]
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    evaluator: Evaluator
    partition: tuple[str, ...] = ()
    knowledge: tuple[KnowledgeBase, ...] = ()
    repetitions: tuple[Repetition, ...] = ()
    sharding: str = ""


def move_text(edge: Edge) -> str:
    """`; B`: how an edge is moved along; `ε` when no event is taken."""
    return f"{edge.operator} {edge.label}".strip() or "ε"
