"""The clauses of a query as they were read: words with their places, nothing resolved or checked yet."""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.lang.ast import Selector, Sequence, Skip, Span


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of the text."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class BaseClause:
    """`BASE <iri>`."""

    iri: Word


@dataclass(frozen=True, slots=True)
class PrefixClause:
    """`PREFIX prefix: <iri>`; the prefix as written, with its colon."""

    prefix: Word
    iri: Word


@dataclass(frozen=True, slots=True)
class RegisterClause:
    """`REGISTER STREAM iri AS`."""

    keyword: Span
    iri: Word


@dataclass(frozen=True, slots=True)
class ColumnDraft:
    """A projected variable, or the expression that it names."""

    variable: Word
    expression: Word | None


@dataclass(frozen=True, slots=True)
class SelectClause:
    """SELECT; columns None is `*`."""

    keyword: Span
    selector: Selector
    distinct: bool
    columns: tuple[ColumnDraft, ...] | None


@dataclass(frozen=True, slots=True)
class ConstructClause:
    """CONSTRUCT; the template is what stands between its braces."""

    keyword: Span
    selector: Selector
    template: Word


@dataclass(frozen=True, slots=True)
class LiteralDraft:
    """The literal of STARTING AT; `datatype` None where not written."""

    value: Word
    datatype: Word | None


@dataclass(frozen=True, slots=True)
class StartingDraft:
    """`STARTING AT literal`."""

    keyword: Span
    literal: LiteralDraft


@dataclass(frozen=True, slots=True)
class WithinClause:
    """WITHIN."""

    size: Word
    unit: Word
    mode: Word | None
    starting: StartingDraft | None


@dataclass(frozen=True, slots=True)
class PartitionClause:
    """PARTITION BY."""

    variables: tuple[Word, ...]


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

    sequence: Sequence


@dataclass(frozen=True, slots=True)
class DefineClause:
    """`DEFINE GPM name ON streams { body }`."""

    keyword: Span
    name: Word
    streams: tuple[Word, ...]
    body: Word


@dataclass(frozen=True, slots=True)
class AfterClause:
    """AFTER MATCH."""

    skip: Skip


@dataclass(frozen=True, slots=True)
class LimitClause:
    """LIMIT."""

    count: Word


@dataclass(frozen=True, slots=True)
class PlainClause:
    """WHERE or a brace."""


@dataclass(frozen=True, slots=True)
class UnreadClause:
    """A clause with a syntax error, and the Names in it: whatever they stand for is not to be missed elsewhere."""

    names: frozenset[str]


Clause = (
    BaseClause | PrefixClause | RegisterClause | SelectClause | ConstructClause | WithinClause | PartitionClause
    | StreamClause | KnowledgeClause | SequenceClause | DefineClause | AfterClause | LimitClause | PlainClause
    | UnreadClause
)  # fmt: skip
