"""Order, slices and aggregates of subqueries, per frame (SPARQL 1.1, Sections 11, 15 and 18.5)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparql_gpm.columns import UNBOUND, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.aggregates import fold
from sparql_gpm.expressions.values import order_key
from sparql_gpm.numeric import integer_literal
from sparql_gpm.pattern import Aggregate
from sparql_gpm.relations.keys import first_rows
from sparql_gpm.relations.relation import Relation
from sparql_gpm.terms import Term, to_ntriples

_ORDER_MATTERS = frozenset({"SUM", "AVG", "SAMPLE", "GROUP_CONCAT"})
"""Aggregates whose result may depend on the order of the values."""


def ranks(ids: Ids, dictionary: Dictionary, key: Callable[[Term], Any]) -> Ids:
    """For each id the rank of its key among all keys; equal keys share it, UNBOUND comes first."""
    distinct, of_row = np.unique(ids, return_inverse=True)
    keys = ((key(dictionary.term(i)), place) for place, i in enumerate(distinct.tolist()) if i != UNBOUND)
    keyed = sorted(keys, key=lambda pair: pair[0])
    rank_of = np.zeros(len(distinct), dtype=np.int64)
    rank = 0
    for position, (value, place) in enumerate(keyed):
        if position == 0 or value != keyed[position - 1][0]:
            rank += 1
        rank_of[place] = rank
    return rank_of[of_row]


def order_rows(
    relation: Relation, keys: Sequence[tuple[Ids, bool]], ties: Sequence[str], dictionary: Dictionary
) -> Relation:
    """Rows by frame, then by the (ids, descending) keys, then by the N-Triples text of the `ties` variables.

    The last makes a slice independent of how the rows were found.
    """
    columns = [ranks(relation.column(v), dictionary, to_ntriples) for v in reversed(ties)]
    for ids, descending in reversed(keys):
        rank = ranks(ids, dictionary, order_key)
        columns.append(-rank if descending else rank)
    if relation.events is not None:
        columns.append(relation.events)
    return relation.take(np.lexsort(columns)) if columns else relation


def slice_rows(relation: Relation, offset: int, limit: int | None) -> Relation:
    """OFFSET and LIMIT within each frame, in the order of the rows."""
    position = np.arange(len(relation), dtype=np.int64)
    if relation.events is not None and len(relation):
        relation = relation.take(np.argsort(relation.events, kind="stable"))
        assert relation.events is not None
        position -= np.searchsorted(relation.events, relation.events)
    return relation.take((position >= offset) & (position < (np.inf if limit is None else offset + limit)))


def aggregate_column(
    aggregate: Aggregate,
    argument: Ids | None,
    rows: Relation,
    of_row: Ids,
    size: int,
    ordered: bool,
    dictionary: Dictionary,
) -> Ids:
    """The aggregate's value in each of `size` groups.

    argument    its argument in each row, UNBOUND for an error; None for COUNT(*)
    of_row      the group of each row
    ordered     the query demands an order of the rows
    """
    if aggregate.name == "COUNT":
        return _counts(aggregate, argument, rows, of_row, size, dictionary)
    assert argument is not None, aggregate
    if aggregate.name in _ORDER_MATTERS and not ordered:
        order = np.lexsort((ranks(argument, dictionary, to_ntriples), of_row))
    else:
        order = np.argsort(of_row, kind="stable")
    values = argument[order].tolist()
    bounds = [0, *np.cumsum(np.bincount(of_row, minlength=size)).tolist()]
    results = [fold(aggregate, values[begin:end], dictionary) for begin, end in itertools.pairwise(bounds)]
    return np.array(results, dtype=np.int64)


def _counts(
    aggregate: Aggregate, argument: Ids | None, rows: Relation, of_row: Ids, size: int, dictionary: Dictionary
) -> Ids:
    counted = of_row if argument is None else of_row[argument != UNBOUND]
    if aggregate.distinct:
        columns = list(rows.columns.values()) if argument is None else [argument[argument != UNBOUND]]
        counted = counted[first_rows([counted, *columns])]
    numbers, inverse = np.unique(np.bincount(counted, minlength=size), return_inverse=True)
    ids = np.array([dictionary.intern(integer_literal(n)) for n in numbers.tolist()], dtype=np.int64)
    return ids[inverse]
