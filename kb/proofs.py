"""Proofs from all the solutions of a pattern."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparql_gpm.columns import UNBOUND
from sparql_gpm.relations.relation import Relation


def one_each(solutions: Relation, keys: Sequence[str]) -> bool:
    """True if each solution binds the keys, and no two different ones agree in them; O(n log n)."""
    if not keys:
        return len(solutions.distinct()) <= 1
    if not all(bool(np.all(solutions.column(key) != UNBOUND)) for key in keys):
        return False
    names = tuple(keys)
    return solutions.index(names, False).unique or solutions.distinct().index(names, False).unique


def covers(solutions: Relation, given: Relation, keys: Sequence[str]) -> bool:
    """True if each row of `given` agrees in the keys, which it binds, with a solution; O(n log n)."""
    if not len(given):
        return True
    if not keys or not len(solutions):
        return len(solutions) > 0
    names = tuple(keys)
    wanted = given.distinct(names)
    assert all(wanted.binds(name) for name in names), names
    _, counts = solutions.index(names, False).find(wanted.key_columns(names, False))
    return bool(np.all(counts > 0))
