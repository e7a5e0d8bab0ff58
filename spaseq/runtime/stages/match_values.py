"""The values of expressions over matches, as term ids: in columns, or match by match where they are few."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from automata.matches.match_table import MatchTable
from automata.values import UNBOUND, Ids, Match
from sparql_gpm.algebra.scope import expression_variables
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator, column_name
from sparql_gpm.pattern import Expression, Variable
from sparql_gpm.terms import to_ntriples
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.enrichment import Enricher

FEW_MATCHES = 16
"""Up to so many matches are looked at match by match, not in columns."""
_TEXTS_MAX = 10_000
"""Terms whose texts are cached; when there are more, the cache is cleared."""


class MatchValues:
    """The values of some expressions, under their names; they see BINDs beside the DEFINEs, enrichments, and each other
    in the order written."""

    def __init__(
        self,
        expressions: Mapping[str, Expression],
        compiled: Compiled,
        evaluator: ExpressionEvaluator,
        enricher: Enricher,
    ) -> None:
        first = {name: each for name, each in expressions.items() if each != Variable(name)}
        if first.keys().isdisjoint(frozenset[str]().union(*map(expression_variables, expressions.values()))):
            first = {}
        self._computed = {bind.name: bind.expression for bind in compiled.query.binds} | first
        self._expressions = dict(expressions) | {name: Variable(name) for name in first}
        self._compiled = compiled
        self._evaluator = evaluator
        self._enricher = enricher
        self._few = _FewValues([*self._expressions.values()], self._computed, compiled, evaluator, enricher)

    def ids(self, matches: Sequence[Match]) -> Sequence[Sequence[int]]:
        """The ids of the values of each match."""
        if len(matches) <= FEW_MATCHES:
            few = self._few.of(matches)
            if few is not None:
                return few
        return _by_match(self.columns(matches), len(matches))

    def columns(self, matches: Sequence[Match]) -> dict[str, Ids]:
        """The ids of each value."""
        if isinstance(matches, MatchTable):
            registers, outputs = matches.registers, matches.outputs
        else:
            registers, outputs = _as_columns([m.registers for m in matches]), _as_columns([m.outputs for m in matches])
        query = self._compiled.query
        columns: dict[str, Ids] = {
            name: np.ascontiguousarray(registers[:, number]) for number, name in enumerate(query.variables)
        }
        for number, node in enumerate(self._compiled.outputs):
            columns[column_name(node)] = np.ascontiguousarray(outputs[:, number])
        columns = dict(self._enricher.enriched(columns, matches))
        for name, expression in self._computed.items():
            columns[name] = self._evaluator.evaluate(expression, columns, len(matches))
        return {
            name: self._evaluator.evaluate(expression, columns, len(matches))
            for name, expression in self._expressions.items()
        }


class TermTexts:
    """The N-Triples texts of term ids."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._known: dict[int, str] = {}
        self._generation = dictionary.generation

    def of(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The texts of some ids, "" for unbound."""
        known = self._known
        if self._generation != self._dictionary.generation or len(known) > _TEXTS_MAX:
            known.clear()
            self._generation = self._dictionary.generation
        for i in ids:
            if i not in known:
                known[i] = "" if i == UNBOUND else to_ntriples(self._dictionary.term(i))
        return tuple([known[i] for i in ids])


class _FewValues:
    """The projected values of a few matches, computed match by match without columns."""

    def __init__(
        self,
        expressions: Sequence[Expression],
        computed: Mapping[str, Expression],
        compiled: Compiled,
        evaluator: ExpressionEvaluator,
        enricher: Enricher,
    ) -> None:
        nodes: list[Expression] = [*map(Variable, enricher.variables), *compiled.outputs]
        named = {name: place for place, name in enumerate([*enricher.variables, *map(column_name, compiled.outputs)])}
        self._computed = []
        for name, expression in computed.items():
            self._computed.append(evaluator.value(expression, dict(named)))
            named[name] = len(named)
            nodes.append(Variable(name))
        known = {node: place for place, node in enumerate(nodes)}
        places = [known.get(expression, -1) for expression in expressions]
        readers = [
            evaluator.value(expression, named) if place < 0 else itemgetter(place)
            for expression, place in zip(expressions, places, strict=True)
        ]
        self._enricher = enricher
        self._only_registers = not (enricher.variables[compiled.program.variables :] or compiled.outputs or computed)
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
            for compute in self._computed:
                values.append(compute(values))
        return [self._read(values) for values in rows]


def _as_columns(values: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    """int64[matches, values]."""
    return np.array(values, dtype=np.int64).reshape(len(values), -1)


def _by_match(values: Mapping[str, Ids], count: int) -> list[list[int]]:
    """Columns of so many values as a list for each match."""
    if not values:
        return [[] for _ in range(count)]
    rows: list[list[int]] = np.column_stack(list(values.values())).tolist()
    return rows
