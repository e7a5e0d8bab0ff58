"""The syntax tree of a SPAseq query: what the text says, in immutable values (specification 2).

Every node that an error may point at carries the span of its text. What stands inside a GPM has
already been turned into `sparql_gpm.pattern` values. Nothing here has been given a meaning yet:
defaults that depend on context (the contiguity of a repetition) stay `None`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sparql_gpm.pattern import Expression, Pattern, Triple


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of code points in the query text."""

    start: int
    end: int


class Contiguity(Enum):
    """The operators of a sequence."""

    STRICT = ","
    NEXT = ";"
    ANY = ":"


class Selector(Enum):
    """CEL's selection strategies over whole matches."""

    ALL = "ALL"
    STRICT = "STRICT"
    NEXT = "NEXT"
    LAST = "LAST"
    MAX = "MAX"


class Skip(Enum):
    """AFTER MATCH."""

    NO_SKIP = "NO SKIP"
    TO_NEXT = "SKIP TO NEXT EVENT"
    PAST_LAST = "SKIP PAST LAST EVENT"
    CONSUME_ALL = "CONSUME ALL"


# --- sequence expressions -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A GPM by its name."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Sequence:
    """`first op second op …`, in parentheses or at the top.

    items           at least one
    operators       one fewer; operators[i] is written before items[i + 1]
    operator_spans  where each operator stands; () in a tree that was not read from text
    """

    items: tuple[Expr, ...]
    operators: tuple[Contiguity, ...]
    span: Span
    operator_spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """`left | right | …`: two or more branches."""

    branches: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Conjunction:
    """`a & b & …`: two or more members at the same time; each a Step, or Choice/Conjunction of such."""

    members: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """`ALL(a, SEQ(b : c), …)`."""

    members: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Repeat:
    """`inner+` is {1,}; `inner*` and `{0,m}` are `Optional(Repeat({1,…}))` already.

    at_most     None: unbounded
    contiguity  between iterations, None where it was not written
    span        of the quantifier itself
    """

    inner: Expr
    at_least: int
    at_most: int | None
    contiguity: Contiguity | None
    span: Span


@dataclass(frozen=True, slots=True)
class Optional:
    """`inner?`; the span is that of the quantifier."""

    inner: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Negation:
    """`inner!`; the span is that of the quantifier."""

    inner: Expr
    span: Span


Expr = Step | Sequence | Choice | Conjunction | AnyOrder | Repeat | Optional | Negation


# --- the rest of a query --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Condition:
    """A top-level FILTER of a GPM; which of them are conditions of the step is the algebra's to say."""

    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Define:
    """`DEFINE GPM name ON streams { … }`.

    pattern     the group without its top-level FILTERs
    filters     those, in the order written
    body        the span of what stands between the braces
    """

    name: str
    streams: tuple[str, ...]
    pattern: Pattern
    filters: tuple[Condition, ...]
    span: Span
    body: Span


@dataclass(frozen=True, slots=True)
class Stream:
    """`FROM STREAM name <iri>`."""

    name: str
    iri: str
    span: Span


class Unit(Enum):
    """The unit of a window; the value is in nanoseconds, 0 for events."""

    MILLISECOND = 1_000_000
    SECOND = 1_000_000_000
    MINUTE = 60_000_000_000
    HOUR = 3_600_000_000_000
    DAY = 86_400_000_000_000
    EVENT = 0


@dataclass(frozen=True, slots=True)
class Window:
    """WITHIN.

    size    in nanoseconds, or in events when `in_events`
    start   STARTING AT: nanoseconds since the epoch, or a position; None where not written
    """

    size: int
    in_events: bool
    sliding: bool
    start: int | None
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Projection:
    """One column of SELECT: a variable, or `(expression AS ?variable)`."""

    variable: str
    expression: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class TemplateTriple:
    """A triple of a CONSTRUCT template; its object may be an aggregate or an iteration's value.

    A blank node of the template is a `Variable` whose name starts with `_:`.
    """

    pattern: Triple
    object: Expression | None


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    name            the file's stem, or "query"
    columns         SELECT's columns; None is `SELECT *`; () for CONSTRUCT
    template        CONSTRUCT's triples; None for SELECT
    register        the IRI of REGISTER STREAM, or None
    knowledge       the KB IRIs of FROM NAMED, in order
    warnings        what parsing found worth saying, as `spaseq.errors.Problem`s
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
    streams: tuple[Stream, ...]
    knowledge: tuple[str, ...]
    sequence: Expr
    defines: tuple[Define, ...]
    skip: Skip
    limit: int | None
    prefixes: tuple[tuple[str, str], ...]
    base: str | None
    warnings: tuple[object, ...]
