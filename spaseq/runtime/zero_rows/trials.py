"""The number of matches of a query, and of variants of it, over events that the query has seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automata.plan.program import TooManyRuns
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.slices.events import Events, SymbolSolutions
from automata.values import Match
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from spaseq.algebra.nodes import TemporalQuery
from spaseq.physical.program import compile_program
from spaseq.runtime.stages.conditions import TermConditionEvaluator
from spaseq.runtime.state.kept_graphs import KeptGraphs
from spaseq.runtime.zero_rows.observed import Part
from spaseq.runtime.zero_rows.variants import Variant

MATCHES_MAX = 1_000
"""Matches of a variant from which on it is not counted further."""
_RUNS_MAX = 50_000
_STEP_EVENTS = 512
"""Events that are evaluated before the matches are counted."""


class Trials:
    """Counts matches over parts of the merged order; what was counted is not counted again."""

    def __init__(
        self, query: TemporalQuery, parts: Sequence[Part], dictionary: Dictionary, evaluator: ExpressionEvaluator
    ) -> None:
        self._variables = query.variables
        self._dictionary = dictionary
        self._evaluator = evaluator
        self._pieces = _pieces(parts, len(query.patterns))

    def matches(self, variant: Variant) -> int | None:
        """The number of matches, at most about MATCHES_MAX; None: there are too many partial ones to tell."""
        compiled = compile_program(variant.query, _RUNS_MAX)
        conditions = TermConditionEvaluator(
            compiled, self._dictionary, self._evaluator, {}, KeptGraphs(), lambda found: [_no_values(m) for m in found]
        )
        running, count = RunEvaluator(compiled.plan, conditions), 0
        try:
            for piece in self._pieces:
                count += len(running.on_batch(piece.events, self._tables(variant, piece)))
                if count >= MATCHES_MAX:
                    return count
            return count + len(running.finish())
        except TooManyRuns:
            return count or None

    def precede(self, some: Sequence[int], others: Sequence[int]) -> bool:
        """True if no event of some symbols comes after the first one of others."""
        position, first = 0, None
        for piece in self._pieces:
            early = [piece.solutions[symbol].events[:1] for symbol in others] if first is None else []
            first = min((position + int(each[0]) for each in early if len(each)), default=first)
            late = [int(piece.solutions[symbol].events[-1]) for symbol in some if len(piece.solutions[symbol].events)]
            if first is not None and any(position + each > first for each in late):
                return False
            position += len(piece.events)
        return True

    def _tables(self, variant: Variant, piece: Part) -> dict[int, SymbolSolutions]:
        """By symbol of the variant, its solutions."""
        known = {name: number for number, name in enumerate(self._variables)}
        tables = {}
        numbers = {name: number for number, name in enumerate(variant.query.variables)}
        for symbol, origin in enumerate(variant.origins):
            seen, names = piece.solutions[origin], variant.renamed.get(symbol, {})
            scope = variant.query.patterns[symbol].variables
            values = {numbers[name]: seen.values[known[names.get(name, name)]] for name in scope}
            tables[symbol] = SymbolSolutions(seen.events, values)
        return tables


def _no_values(match: Match) -> tuple[str, ...]:
    return ()


def _pieces(parts: Sequence[Part], symbol_count: int) -> list[Part]:
    """The events of all parts, cut between two times."""
    if not parts:
        return []
    times = np.concatenate([part.events.times for part in parts])
    streams = np.concatenate([part.events.streams for part in parts])
    begins = np.cumsum([0, *(len(part.events) for part in parts)])
    tables = {}
    for symbol in range(symbol_count):
        own = [part.solutions[symbol] for part in parts]
        events = np.concatenate([table.events + begin for table, begin in zip(own, begins, strict=False)])
        columns = {v: np.concatenate([table.values[v] for table in own]) for v in own[0].values}
        tables[symbol] = SymbolSolutions(events, columns)
    whole = Part(Events(times, streams), tables)
    changes = np.flatnonzero(times[1:] != times[:-1]) + 1
    wanted = np.arange(_STEP_EVENTS, len(times), _STEP_EVENTS)
    cuts = [0, *np.unique(changes[np.searchsorted(changes, wanted).clip(max=max(len(changes) - 1, 0))]).tolist()]
    cuts = cuts if len(changes) else [0]
    return [whole.between(begin, end) for begin, end in zip(cuts, [*cuts[1:], len(times)], strict=True)]
