"""The projected values of a few matches, computed match by match without columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from automata.values import Match
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator, column_name
from sparql_gpm.pattern import Expression, Variable
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.enrichment import Enricher


class FewValues:
    """Expressions over variables, the results of enrichments, and values of iterations."""

    def __init__(
        self, expressions: Sequence[Expression], compiled: Compiled, evaluator: ExpressionEvaluator, enricher: Enricher
    ) -> None:
        nodes: list[Expression] = [*map(Variable, enricher.variables), *compiled.outputs]
        known = {node: place for place, node in enumerate(nodes)}
        named = {name: place for place, name in enumerate([*enricher.variables, *map(column_name, compiled.outputs)])}
        places = [known.get(expression, -1) for expression in expressions]
        readers = [
            evaluator.value(expression, named) if place < 0 else itemgetter(place)
            for expression, place in zip(expressions, places, strict=True)
        ]
        self._enricher = enricher
        self._only_registers = not (enricher.variables[compiled.program.variables :] or compiled.outputs)
        self._read: Callable[[Sequence[int]], Sequence[int]] = lambda values: [read(values) for read in readers]
        if len(places) > 1 and min(places) >= 0:
            self._read = itemgetter(*places)

    def of(self, matches: Sequence[Match]) -> list[Sequence[int]] | None:
        """The values for each match, UNBOUND where an expression has none; None: columns must be used."""
        if self._only_registers:
            return [self._read(match.registers) for match in matches]
        rows = [list(match.registers) for match in matches]
        if not self._enricher.enrich_few(rows, matches):
            return None
        for values, match in zip(rows, matches, strict=True):
            values += match.outputs
        return [self._read(values) for values in rows]
