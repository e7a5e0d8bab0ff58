"""What a few matches project, as ids, match by match: no column is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from automata.program import Match
from sparql_gpm.expressions.evaluator import Evaluator, column_name
from sparql_gpm.pattern import Expression, Variable
from spaseq.physical.program import Compiled
from spaseq.runtime.enrichment import Enricher


class FewValues:
    """The values of some expressions over variables, what enrichments bring, and iterations."""

    def __init__(
        self, expressions: Sequence[Expression], compiled: Compiled, evaluator: Evaluator, enricher: Enricher
    ) -> None:
        nodes: list[Expression] = [*map(Variable, enricher.variables), *compiled.outputs]
        known = {node: place for place, node in enumerate(nodes)}
        self._enricher = enricher
        self._places = [known.get(expression, -1) for expression in expressions]
        self._plain = min(self._places, default=0) >= 0
        named = {name: place for place, name in enumerate([*enricher.variables, *map(column_name, compiled.outputs)])}
        self._readers = [
            evaluator.value(expression, named) if place < 0 else itemgetter(place)
            for expression, place in zip(expressions, self._places, strict=True)
        ]

    def of(self, matches: Sequence[Match]) -> list[list[int]] | None:
        """One row for each match, UNBOUND where an expression has no value; None: columns must be asked."""
        rows = [list(match.registers) for match in matches]
        if not self._enricher.enrich_few(rows, matches):
            return None
        for values, match in zip(rows, matches, strict=True):
            values += match.outputs
        if self._plain:
            return [[values[place] for place in self._places] for values in rows]
        return [[read(values) for read in self._readers] for values in rows]
