"""The syntax tree of a SPAseq query, as immutable values (specification 2).

Every node that an error may point at carries the span of its text. The sequence is an `automata.plan.expression`, the
content of a GPM a `sparql_gpm.pattern`. Defaults that depend on context (the contiguity of a repetition) stay `None`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from automata.plan.expression import Node, Span
from automata.plan.program import Selector, Skip, Window
from sparql_gpm.pattern import EventData, Expression, Pattern, TermParts, Triple
from spaseq.errors import Problem

Expr = Node[str]
"""A sequence expression over the names of steps."""


@dataclass(frozen=True, slots=True)
class TopLevelFilter:
    """A FILTER at the top of a GPM or beside the DEFINEs, or HAVING.

    In a GPM it is a part of the pattern or a condition of the step, as `spaseq.algebra` decides; beside the DEFINEs a
    condition of the match; HAVING one of a group of matches.
    """

    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Define:
    """`DEFINE GPM name ON streams AS ?graph AT ?time { … }`.

    event       the variables of AS and AT
    pattern     the group without its top-level FILTERs; it begins with `event` if that has variables
    filters     those, in the order written
    body        the span of the text between the braces
    """

    name: str
    streams: tuple[str, ...]
    event: EventData
    pattern: Pattern
    filters: tuple[TopLevelFilter, ...]
    body: Span


@dataclass(frozen=True, slots=True)
class Using:
    """`USING { … }`: the pattern with its FILTERs, and the span of the text between the braces."""

    pattern: Pattern
    body: Span


@dataclass(frozen=True, slots=True)
class Stream:
    """`FROM STREAM name <iri>`."""

    name: str
    iri: str


class Unit(Enum):
    """The unit of a window; the value is in nanoseconds, 0 for events."""

    MILLISECOND = 1_000_000
    SECOND = 1_000_000_000
    MINUTE = 60_000_000_000
    HOUR = 3_600_000_000_000
    DAY = 86_400_000_000_000
    EVENT = 0


@dataclass(frozen=True, slots=True)
class Projection:
    """A column of SELECT, a variable or `(expression AS ?variable)`, or a BIND beside the DEFINEs."""

    variable: str
    expression: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class TemplateTriple:
    """A triple of a CONSTRUCT template, whose object may be an aggregate or an iteration's value; or a triple term.

    A blank node of the template is a `Variable` whose name starts with `_:`, and so is a triple term with variables.
    """

    pattern: Triple | TermParts
    object: Expression | None


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    name            the file's stem, or "query"
    columns         SELECT's columns; None is `SELECT *`; () for CONSTRUCT
    template        CONSTRUCT's triples; None for SELECT
    register        the IRI of REGISTER STREAM, or None
    partition       the variables of PARTITION BY
    using           its pattern, or None
    knowledge       the KB IRIs of FROM NAMED, in order
    base            of BASE, or None
    skip_to         the Name of SKIP TO FIRST and SKIP TO LAST
    filters, binds  those beside the DEFINEs, in order
    over_matches    OVER MATCHES: a row for each group of matches
    group, having   of GROUP BY, each variable once; of HAVING, or None
    """

    name: str
    text: str
    selector: Selector
    distinct: bool
    columns: tuple[Projection, ...] | None
    template: tuple[TemplateTriple, ...] | None
    register: str | None
    window: Window
    partition: tuple[str, ...]
    using: Using | None
    streams: tuple[Stream, ...]
    knowledge: tuple[str, ...]
    sequence: Expr
    defines: tuple[Define, ...]
    filters: tuple[TopLevelFilter, ...]
    binds: tuple[Projection, ...]
    over_matches: bool
    group: tuple[str, ...]
    having: TopLevelFilter | None
    skip: Skip
    skip_to: str | None
    limit: int | None
    prefixes: tuple[tuple[str, str], ...]
    base: str | None
    warnings: tuple[Problem, ...]
