"""The description of a query that `spaseq explain` prints, as immutable values; renderers read nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StateKind = Literal["start", "step", "any-order", "accept"]
"""The kind of a state of the automaton."""
Format = Literal["text", "json", "dot", "mermaid", "svg"]
"""A form in which a description is printed."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A declared stream; `origin` is the source of its events when that is not a file, else ""."""

    name: str
    iri: str
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a step or of the match: its text, and in words the moment when it is decided."""

    text: str
    decided: str


@dataclass(frozen=True, slots=True)
class Computed:
    """A BIND beside the DEFINEs."""

    variable: str
    text: str


@dataclass(frozen=True, slots=True)
class PatternPlan:
    """A GPM, its variables in order, and the lines of its plan, whose indentation is part of them."""

    name: str
    streams: tuple[str, ...]
    variables: tuple[str, ...]
    plan: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class KnowledgeUse:
    """A part of a GPM over a knowledge base, joined `when`: with "each event", "each match" or "never"; and why."""

    step: str
    variables: tuple[str, ...]
    when: str
    why: str


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """A knowledge base or endpoint that the query names; `how` it is queried, in words."""

    iri: str
    how: str
    uses: tuple[KnowledgeUse, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A state of the automaton; `id` is unique, `label` is what has been matched there."""

    id: int
    label: str
    kind: StateKind


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of the automaton.

    label       the step matched, or the members of a conjunction; "" for an edge without an event
    operator    its contiguity: `,` `;` `:`, or "" where nothing precedes
    notes       in words: next iteration, negation checked, optional step left out, reported when …
    """

    source: int
    target: int
    label: str
    operator: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repetition:
    """The contiguity between the iterations, in words; `written` is False when it is the default."""

    text: str
    contiguity: str
    written: bool


@dataclass(frozen=True, slots=True)
class Alternative:
    """An evaluator that was not chosen, and the reason."""

    evaluator: str
    why_not: str


@dataclass(frozen=True, slots=True)
class Evaluator:
    """The evaluator chosen, with its reason.

    estimates   the expected costs of those that could run the query
    replanning  what is measured at run time, and when another evaluator replaces it; "": nothing is
    form        columns, row at a time or compiled kernels, with the reason in `form_reason`
    on_short_input  the evaluator and the form where the input is short; "": the same
    """

    name: str
    reason: str
    alternatives: tuple[Alternative, ...] = ()
    estimates: tuple[str, ...] = ()
    replanning: str = ""
    form: str = ""
    form_reason: str = ""
    on_short_input: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """All that `explain` prints.

    sentences   the query in words, one sentence each
    window      in words
    partition   its variables; empty without PARTITION BY
    using       the events of a partition are those in which the pattern of USING, the last one, finds its values
    sharding    the distribution of its events on Spark, and the reason
    knowledge   the knowledge bases, and the endpoints of SERVICE
    patterns    in the order of SEQ
    conditions, computed    the FILTERs and BINDs beside the DEFINEs
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
    conditions: tuple[Condition, ...] = ()
    computed: tuple[Computed, ...] = ()
    using: bool = False


def move_text(edge: Edge) -> str:
    """The operator and step of an edge, such as `; B`; `ε` for an edge without an event."""
    return f"{edge.operator} {edge.label}".strip() or "ε"
