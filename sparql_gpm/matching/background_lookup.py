"""Look-ups of keys in a knowledge base outside of any event, for late enrichment of matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sparql_gpm.columns import EventBatch, Ids, Mask
from sparql_gpm.matching.background_operators import GraphOperator
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.compile import Compiler
from sparql_gpm.matching.frames import Frames
from sparql_gpm.pattern import Graph, Pattern
from sparql_gpm.relations.join import join
from sparql_gpm.relations.relation import Relation
from sparql_gpm.relations.rows_by_key import RowsByKey
from sparql_gpm.terms import IRI

_ROW = "\0row"


class BackgroundLookup:
    """A pattern over a knowledge base with at most one solution for each value of its keys.

    Raises BackgroundError for a pattern that cannot be evaluated there.
    """

    def __init__(
        self, name: str, pattern: Pattern, keys: Sequence[str], variables: Sequence[str], compiler: Compiler
    ) -> None:
        self._operator = compiler.compile(Graph(IRI(name), pattern))
        self._keys = tuple(keys)
        self._variables = tuple(variables)
        self._nowhere = BatchView(EventBatch.empty())
        self._dictionary = compiler.dictionary
        self._generation = -1
        self._relation: Relation | None = None
        self._rows: RowsByKey | None = None

    def by_key(self) -> RowsByKey | None:
        """The values of the variables by those of the keys, until something changes; None: use `columns`."""
        if not isinstance(self._operator, GraphOperator):
            return None
        relation = self._operator.known.get()
        if relation is not self._relation or self._generation != self._dictionary.generation:
            self._relation, self._generation = relation, self._dictionary.generation
            names = relation.columns.keys()
            usable = names >= {*self._keys, *self._variables} and all(relation.binds(name) for name in names)
            self._rows = RowsByKey(relation, self._keys, self._variables) if usable else None
        return self._rows

    def columns(self, values: Mapping[str, Ids], rows: int, wanted: Mask | None = None) -> Mapping[str, Ids]:
        """The variables' values in each row, UNBOUND where there is no solution.

        values  columns with those of the keys, without UNBOUND in the rows wanted
        wanted  the rows to look up, None for all; the others stay UNBOUND
        """
        places = np.arange(rows, dtype=np.int64) if wanted is None else np.flatnonzero(wanted)
        given = {key: values[key][places] for key in self._keys}
        probe = Relation(len(places), None, given, frozenset(self._keys))
        answer = self._operator.evaluate(Frames(self._nowhere, probe=probe))
        pairs = join(probe.extend(_ROW, places), answer)
        found = {variable: np.zeros(rows, dtype=np.int64) for variable in self._variables}
        for variable, column in found.items():
            column[pairs.column(_ROW)] = pairs.column(variable)
        return found
