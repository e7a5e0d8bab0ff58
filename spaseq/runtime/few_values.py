"""What a few matches project, as ids, match by match: no column is made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from automata.values import Match
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator, column_name
from sparql_gpm.pattern import Expression, Variable
from spaseq.physical.program import Compiled
from spaseq.runtime.enrichment import Enricher


class FewValues:
    """The values of some expressions over variables, what enrichments bring, and iterations."""

    def __init__(
        self, expressions: Sequence[Expression], compiled: Compiled, evaluator: ExpressionEvaluator, enricher: Enricher
    ) -> None:
        nodes: list[Expression] = [*map(Variable, enricher.variables), *compiled.outputs]
        known = {node: place for place, node in enumerate(nodes)}
        self._enricher = enricher
        self._bare = not (enricher.variables[compiled.program.variables :] or compiled.outputs)
        places = [known.get(expression, -1) for expression in expressions]
        named = {name: place for place, name in enumerate([*enricher.variables, *map(column_name, compiled.outputs)])}
        readers = [
            evaluator.value(expression, named) if place < 0 else itemgetter(place)
            for expression, place in zip(expressions, places, strict=True)
        ]
        self._read: Callable[[Sequence[int]], Sequence[int]] = lambda values: [read(values) for read in readers]
        if len(places) > 1 and min(places) >= 0:
            self._read = itemgetter(*places)

    def of(self, matches: Sequence[Match]) -> list[Sequence[int]] | None:
        """One row for each match, UNBOUND where an expression has no value; None: columns must be asked."""
        if self._bare:
            return [self._read(match.registers) for match in matches]
        rows = [list(match.registers) for match in matches]
        if not self._enricher.enrich_few(rows, matches):
            return None
        for values, match in zip(rows, matches, strict=True):
            values += match.outputs
        return [self._read(values) for values in rows]
