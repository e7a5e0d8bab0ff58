"""What the rows of a query can contain, known before the first of them.

CSV and tables need their columns at the start; a row only says what it happens to bind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import assert_never

from sparql_gpm.pattern import Pattern, Variable
from sparql_gpm.scope import in_scope
from spaseq.lang.ast import (
    AnyOrder,
    Choice,
    Conjunction,
    Expr,
    Negation,
    Optional,
    Query,
    Repeat,
    Step,
)
from spaseq.lang.ast import Sequence as StepSequence


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
    """The shape of a query's rows; `SELECT *` lists variables as they are first written, step by step."""
    steps = _distinct(_positive_steps(query.sequence))
    if query.columns is not None:
        variables = tuple(column.variable for column in query.columns)
    else:
        patterns = {define.name: define.pattern for define in query.defines}
        variables = _distinct(name for step in steps for name in _variables(patterns[step]))
    return ResultShape(query.name, variables, steps, query.template is not None, query.prefixes)


def union_of(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The distinct names of all parts, in the order in which they first come."""
    return _distinct(name for part in parts for name in part)


def _positive_steps(expression: Expr) -> Iterator[str]:
    match expression:
        case Step(name):
            yield name
        case StepSequence(items=inner) | AnyOrder(members=inner) | Conjunction(members=inner) | Choice(branches=inner):
            for item in inner:
                yield from _positive_steps(item)
        case Repeat(inner=item) | Optional(inner=item):
            yield from _positive_steps(item)
        case Negation():
            return
        case _:
            assert_never(expression)


def _variables(pattern: Pattern) -> Iterator[str]:
    """The variables in scope, in the order of the text."""
    scope = in_scope(pattern)
    yield from (name for name in _names(pattern) if name in scope)
    yield from sorted(scope)


def _names(value: object) -> Iterator[str]:
    if isinstance(value, Variable):
        yield value.name
    elif isinstance(value, tuple):
        for item in value:
            yield from _names(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _names(getattr(value, field.name))


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
