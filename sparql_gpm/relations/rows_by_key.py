"""A relation looked up one key at a time, for joins row at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparql_gpm.columns import Ids
from sparql_gpm.relations.relation import Relation

SolutionTuple = tuple[int, ...]

_KEYS_MAX = 100_000
"""Keys whose rows are cached."""
_WHOLE_MAX = 10_000
"""A relation with no more rows is read at once, so that no first look-up is slow."""


class RowsByKey:
    """The values of some variables in the rows that have given values of others.

    relation    without frames, all variables bound in every row; its ids must stay valid
    """

    def __init__(self, relation: Relation, keys: Sequence[str], variables: Sequence[str]) -> None:
        self._relation = relation
        self._keys = tuple(keys)
        self._variables = tuple(variables)
        self._known: dict[SolutionTuple, list[SolutionTuple]] = {}
        self._whole = len(relation) <= _WHOLE_MAX
        if self._whole:
            rows = np.arange(len(relation), dtype=np.int64)
            for key, row in zip(self._tuples(self._keys, rows), self._tuples(self._variables, rows), strict=True):
                self._known.setdefault(key, []).append(row)

    def of(self, key: SolutionTuple) -> list[SolutionTuple]:
        """The rows for these values of the keys."""
        known = self._known.get(key)
        if known is None and self._whole:
            return []
        if known is None:
            if len(self._known) >= _KEYS_MAX:
                self._known.clear()
            known = self._known[key] = self._found(key)
        return known

    def _found(self, key: SolutionTuple) -> list[SolutionTuple]:
        relation = self._relation
        rows = np.arange(len(relation), dtype=np.int64)
        if self._keys and len(relation):
            index = relation.index(self._keys, with_events=False)
            starts, counts = index.find([np.array([value], dtype=np.int64) for value in key])
            rows = np.arange(int(starts[0]), int(starts[0] + counts[0]), dtype=np.int64)
            rows = rows if index.order is None else index.order[rows]
        return self._tuples(self._variables, rows)

    def _tuples(self, variables: Sequence[str], rows: Ids) -> list[SolutionTuple]:
        columns = [self._relation.columns[name][rows].tolist() for name in variables]
        return list(zip(*columns, strict=True)) if columns else [()] * len(rows)
