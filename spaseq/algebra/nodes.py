"""The meaning of a query, as immutable values: no text, no defaults left open, no choice of evaluator."""

from __future__ import annotations

from dataclasses import dataclass, field

from automata.plan.expression import Expression as SequenceExpression
from automata.plan.program import Selector, Skip, Window
from sparql_gpm.pattern import Aggregate, Expression, Pattern, Variable
from spaseq.lang.ast import Query, TemplateTriple


@dataclass(frozen=True, slots=True)
class GraphPattern:
    """A GPM that the sequence uses, or that of USING.

    streams     positions of its streams in the query's FROM clauses
    pattern     with the top-level FILTERs that belong to it (specification 3.1)
    variables   of its solutions: those of the partition, and those in scope, in the order of the text
    certain     those that every solution binds
    conditions  the other top-level FILTERs: conditions of the step
    """

    name: str
    streams: tuple[int, ...]
    pattern: Pattern
    variables: tuple[str, ...]
    certain: frozenset[str]
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Using:
    """`PARTITION BY … USING`.

    symbol      the index of its GPM, which no step is: the last one; its pattern binds variables as they are written
    variables   of PARTITION BY as they are written; those of the partition are `TemporalQuery.partition`
    """

    symbol: int
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Enrichment:
    """A pattern over a knowledge base that is joined with matches instead of with the events of a step.

    step        the index of the step's GPM
    knowledge   the IRI of the knowledge base
    pattern     has at most one solution for each value of its keys
    keys        variables that every match with the step binds, or an enrichment before this one
    variables   that it binds; unbound where it has no solution
    skippable   a match may be without the step: then they are unbound
    """

    step: int
    knowledge: str
    pattern: Pattern
    keys: tuple[str, ...]
    variables: tuple[str, ...]
    skippable: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A projected column; `expression` is a bare variable or a computed value."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class MatchCondition:
    """A FILTER beside the DEFINEs; `at_end`: it is decided when the match is complete, not before."""

    expression: Expression
    at_end: bool


@dataclass(frozen=True, slots=True)
class OverMatches:
    """OVER MATCHES: a row for each group of matches (specification 3.4).

    keys        the variables of GROUP BY
    having      the condition of HAVING, which sees the columns of SELECT; or None
    aggregates  the outermost aggregates of SELECT or the template, then of HAVING, each once, as written
    """

    keys: tuple[str, ...]
    having: Expression | None
    aggregates: tuple[Aggregate, ...]

    def per_match(self) -> tuple[Expression, ...]:
        """The values of each match: the variables of GROUP BY, then the arguments of the aggregates."""
        arguments = (aggregate.argument for aggregate in self.aggregates if aggregate.argument is not None)
        return (*map(Variable, self.keys), *dict.fromkeys(arguments))

    @property
    def needs_order(self) -> bool:
        """True if the order of the matches of a group decides a value."""
        return any(aggregate.name in ("SAMPLE", "GROUP_CONCAT") for aggregate in self.aggregates)


@dataclass(frozen=True, slots=True)
class TemporalQuery:
    """A query.

    streams     (name, IRI) in FROM order
    patterns    the GPMs in the order of their first appearance in SEQ; symbols of `sequence` are indices here
    variables   those of the partition, then all variables of GPMs in SEQ, in order of appearance; those of enrichments
                are not among them
    partition   of PARTITION BY; with USING variables of their own
    using       that of PARTITION BY, or None
    skip_to     the step of SKIP TO FIRST and SKIP TO LAST
    filters     conditions of the match; the variables of `binds` are replaced by their expressions
    binds       values computed of a complete match, in order
    columns     SELECT's, those of `*` in the order of names; empty for CONSTRUCT
    template    CONSTRUCT's, else None
    knowledge   IRIs of the KBs that `GRAPH ?g` ranges over and that GPMs name
    parsed      the query as written, for messages and the headings of output
    digest      CONSTRUCT: the SHA-256 of the query's canonical text, which the names of its graphs depend on; else b""
    enrichments what `spaseq.optimise` has removed from GPMs, in join order
    over        OVER MATCHES, or None: a row for each match
    """

    name: str
    streams: tuple[tuple[str, str], ...]
    patterns: tuple[GraphPattern, ...]
    sequence: SequenceExpression
    variables: tuple[str, ...]
    window: Window
    partition: tuple[str, ...]
    using: Using | None
    selector: Selector
    skip: Skip
    skip_to: str | None
    distinct: bool
    limit: int | None
    filters: tuple[MatchCondition, ...]
    binds: tuple[Column, ...]
    columns: tuple[Column, ...]
    template: tuple[TemplateTriple, ...] | None
    register: str | None
    knowledge: tuple[str, ...]
    parsed: Query = field(compare=False, repr=False)
    digest: bytes = field(repr=False)
    enrichments: tuple[Enrichment, ...] = ()
    over: OverMatches | None = None

    @property
    def orders_solutions(self) -> bool:
        """True if the solutions of a match, not only what they have in common, decide names or order of the output."""
        if self.over is None:
            return self.template is not None
        return self.over.needs_order or self.skip is not Skip.NO_SKIP

    def output_expressions(self) -> tuple[Expression, ...]:
        """The expressions over a match: of BINDs, and of the columns and objects of the template, or of groups."""
        binds = tuple(bind.expression for bind in self.binds)
        return (*binds, *(self.shown_expressions() if self.over is None else self.over.per_match()))

    def shown_expressions(self) -> tuple[Expression, ...]:
        """The expressions of SELECT's columns or of the objects of CONSTRUCT's template."""
        objects = (triple.object for triple in self.template or () if triple.object is not None)
        return (*(column.expression for column in self.columns), *objects)


AnyQuery = Query | TemporalQuery
"""A parsed query or its meaning, which a caller who needs it early has built once."""
