"""The clauses of a query as written: words with their spans, before names are resolved or values checked."""

from __future__ import annotations

from dataclasses import dataclass

from automata.plan.expression import Sequence, Span
from automata.plan.program import Skip
from sparql_gpm.syntax.tokens import Token, Tree


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of the text."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of SPARQL with its tokens, and its tree; None for one with an error, which has been reported."""

    span: Span
    tokens: tuple[Token, ...]
    tree: Tree | None


@dataclass(frozen=True, slots=True)
class Declaration:
    """`PREFIX prefix: <iri>`, the prefix with its colon; `BASE <iri>` where `prefix` is None."""

    prefix: Word | None
    iri: Word


@dataclass(frozen=True, slots=True)
class RegisterClause:
    """`REGISTER STREAM iri AS`."""

    keyword: Word
    iri: Word


@dataclass(frozen=True, slots=True)
class ColumnDraft:
    """A projected variable, or the expression that it names."""

    variable: Word
    expression: Piece | None


@dataclass(frozen=True, slots=True)
class FormClause:
    """SELECT with its columns, None for `*`; or CONSTRUCT with its template.

    over    the first word of OVER MATCHES
    star    the `*` of SELECT
    """

    selector: Word | None
    over: Word | None
    distinct: bool
    columns: tuple[ColumnDraft, ...] | None
    template: Piece | None = None
    star: Word | None = None


@dataclass(frozen=True, slots=True)
class StartingDraft:
    """`STARTING AT value^^datatype`."""

    keyword: Word
    value: Word
    datatype: Word | None


@dataclass(frozen=True, slots=True)
class EveryDraft:
    """`EVERY size unit`."""

    keyword: Word
    size: Word
    unit: Word


@dataclass(frozen=True, slots=True)
class WithinClause:
    """WITHIN; `mode` is TUMBLING, SLIDING or EVERY with its hop."""

    size: Word
    unit: Word
    mode: Word | EveryDraft | None
    starting: StartingDraft | None


@dataclass(frozen=True, slots=True)
class PartitionClause:
    """`PARTITION BY variables USING { body }`; None: without USING."""

    variables: tuple[Word, ...]
    using: Piece | None


@dataclass(frozen=True, slots=True)
class StreamClause:
    """`FROM STREAM name iri`."""

    name: Word
    iri: Word


@dataclass(frozen=True, slots=True)
class KnowledgeClause:
    """`FROM NAMED iri`."""

    iri: Word


@dataclass(frozen=True, slots=True)
class SequenceClause:
    """`SEQ( … )`; the span of the sequence begins at the keyword."""

    sequence: Sequence[str]


@dataclass(frozen=True, slots=True)
class EventVariable:
    """`AS ?graph` or `AT ?time`."""

    keyword: Word
    variable: Word


@dataclass(frozen=True, slots=True)
class DefineClause:
    """`DEFINE GPM name ON streams AS ?graph AT ?time { body }`."""

    name: Word
    streams: tuple[Word, ...]
    event: tuple[EventVariable, ...]
    body: Piece


@dataclass(frozen=True, slots=True)
class FilterClause:
    """`FILTER constraint` beside the DEFINEs."""

    constraint: Piece


@dataclass(frozen=True, slots=True)
class BindClause:
    """`BIND (expression AS ?variable)` beside the DEFINEs."""

    expression: Piece
    variable: Word


@dataclass(frozen=True, slots=True)
class GroupClause:
    """GROUP BY."""

    keyword: Word
    variables: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class HavingClause:
    """`HAVING constraint`."""

    keyword: Word
    constraint: Piece


@dataclass(frozen=True, slots=True)
class AfterClause:
    """AFTER MATCH; `to` is the Name of SKIP TO FIRST and SKIP TO LAST."""

    skip: Skip
    to: Word | None


@dataclass(frozen=True, slots=True)
class LimitClause:
    """LIMIT."""

    count: Word


@dataclass(frozen=True, slots=True)
class UnreadClause:
    """WHERE, a brace, or a clause with a syntax error; the Names in it are not reported as missing elsewhere."""

    names: frozenset[str] = frozenset()


Clause = (
    Declaration | RegisterClause | FormClause | WithinClause | PartitionClause | StreamClause
    | KnowledgeClause | SequenceClause
    | DefineClause | FilterClause | BindClause | GroupClause | HavingClause | AfterClause | LimitClause
    | UnreadClause
)  # fmt: skip
"""A clause of a query."""
