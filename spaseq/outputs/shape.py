"""What the rows of a query can contain, known before the first of them.

CSV and tables need their columns at the start; a row only says what it happens to bind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from automata.plan.expression import symbols
from spaseq.algebra.build import build
from spaseq.lang.ast import Query


@dataclass(frozen=True, slots=True)
class ResultShape:
    """The columns that the rows of one query can fill.

    variables   projected, in order; empty for CONSTRUCT
    steps       the names of the positive steps, in the order of SEQ
    constructs  whether rows carry a graph in place of bindings
    prefixes    of the query, for short names of IRIs
    """

    query: str
    variables: tuple[str, ...]
    steps: tuple[str, ...]
    constructs: bool
    prefixes: tuple[tuple[str, str], ...] = ()


def result_shape(query: Query) -> ResultShape:
    """The shape of a query's rows."""
    constructs = query.template is not None
    variables = () if constructs else tuple(column.name for column in build(query).columns)
    return ResultShape(query.name, variables, symbols(query.sequence, negated=False), constructs, query.prefixes)


def union_of(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The distinct names of all parts, in the order in which they first come."""
    return tuple(dict.fromkeys(name for part in parts for name in part))
