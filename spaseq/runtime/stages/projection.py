"""The projection: from matches to rows, with DISTINCT, LIMIT and the graphs of CONSTRUCT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from arrays.wanted import check_wanted
from automata.matches.match_table import MatchTable
from automata.values import Ids, Mask, Match
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from spaseq.outputs import row_table
from spaseq.outputs.row_table import Rows, RowTable
from spaseq.outputs.rows import Row, StepEvents
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.construct import GraphTemplate
from spaseq.runtime.stages.enrichment import Enricher
from spaseq.runtime.stages.match_order import same_events
from spaseq.runtime.stages.match_values import FEW_MATCHES, MatchValues, TermTexts
from spaseq.runtime.state import layouts
from spaseq.runtime.state.graph_names import GraphNames


class Projector:
    """Rows of one query, in report order; `name` gives the names of CONSTRUCT's graphs.

    removed     the matches that gave no row, by cause: `distinct`, `limit-rows`
    """

    def __init__(
        self,
        compiled: Compiled,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
        enricher: Enricher,
        name: Callable[[Match], str],
    ) -> None:
        self._query = query = compiled.query
        self._dictionary = dictionary
        self._name = name
        self._template = None if query.template is None else GraphTemplate(query.template, dictionary)
        if self._template is None:
            self._expressions = {column.name: column.expression for column in query.columns}
        else:
            self._expressions = self._template.expressions()
        self._values = MatchValues(self._expressions, compiled, evaluator, enricher)
        self._text = TermTexts(dictionary).of
        self._steps = [pattern.name for pattern in query.patterns]
        self.removed: Counter[str] = Counter()
        self._reported: dict[tuple[int, int], int] = {}
        self._projected: dict[tuple[int, int], set[tuple[str, ...]]] = {}

    def rows(self, matches: Sequence[Match], names: GraphNames) -> Iterator[Rows]:
        """The rows of matches in report order, in pieces; many matches of a plain SELECT give tables.

        Matches with the same events are in one piece.
        """
        begin = 0
        while begin < len(matches):
            end = min(begin + row_table.ROWS_MAX, len(matches))
            while end < len(matches) and same_events(matches[end]) == same_events(matches[end - 1]):
                end += 1
            if isinstance(matches, MatchTable):
                yield self._piece(matches.part(begin, end), names)
            else:
                yield self._piece(matches if end - begin == len(matches) else matches[begin:end], names)
            begin = end

    def _piece(self, matches: Sequence[Match], names: GraphNames) -> Rows:
        filters = self._query.distinct or self._query.limit is not None
        plain = self._template is None and not filters and len(matches) > FEW_MATCHES
        if plain and isinstance(matches, MatchTable):
            return self._table(matches, names)
        matches = list(matches)
        values, numbers = self._values.ids(matches), range(len(matches))
        rows = []
        alone = [((), numbers)] if len(matches) == 1 else None
        for _, group in alone or groupby(numbers, key=lambda number: same_events(matches[number])):
            check_wanted()
            alike = list(group)
            events = self.step_events(matches[alike[0]].entries, names)
            for number in self._by_text(alike, values, matches) if len(alike) > 1 else alike:
                if not filters or self._admit(matches[number], values[number]):
                    rows.append(self._row(matches[number], values[number], events))
        return rows

    def _table(self, matches: MatchTable, names: GraphNames) -> RowTable:
        values = self._values.columns(matches)
        tied = matches.like_previous()
        if tied.any():
            order = self._untied(values, tied)
            values, matches = {name: ids[order] for name, ids in values.items()}, matches.take(order)
        return RowTable(self._query.name, self._steps, values, matches, *names.of_entries(matches), self._dictionary)

    def texts(self, matches: Sequence[Match]) -> list[tuple[str, ...]]:
        """The projected values of each match as N-Triples texts, unbound first; for CONSTRUCT, then its name."""
        values = [self._text(ids) for ids in self._values.ids(matches)]
        if self._template is None:
            return values
        return [(*own, self._name(match)) for own, match in zip(values, matches, strict=True)]

    def forget(self, before: int) -> None:
        """Drops the state of matches whose last event lies before a position."""
        for memory in (self._reported, self._projected):
            for key in [key for key in memory if key[1] < before]:
                del memory[key]

    def snapshot(self) -> dict[str, Any]:
        """The state of DISTINCT and LIMIT, for `spaseq.runtime.state.snapshot`."""
        return layouts.PROJECTOR.written(
            reported=[[*trigger, count] for trigger, count in self._reported.items()],
            projected=[[*trigger, list(seen)] for trigger, seen in self._projected.items()],
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from a snapshot."""
        state = layouts.PROJECTOR.read(state)
        self._reported = {(partition, last): count for partition, last, count in state["reported"]}
        self._projected = {(partition, last): set(map(tuple, seen)) for partition, last, seen in state["projected"]}

    def _untied(self, values: Mapping[str, Ids], tied: Mask) -> Ids:
        """The report order, in which matches of the same events are ordered by the texts of their values."""
        ranks = [self._ranks(ids) for ids in values.values() if (tied[1:] & (ids[1:] != ids[:-1])).any()]
        return np.lexsort((*ranks[::-1], np.cumsum(~tied)))

    def _ranks(self, ids: Ids) -> Ids:
        """Numbers in the order of the N-Triples texts of the ids."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        texts = self._text(distinct.tolist())
        ranks = np.empty(len(distinct), dtype=np.int64)
        ranks[sorted(range(len(distinct)), key=texts.__getitem__)] = np.arange(len(distinct))
        return ranks[inverse]

    def _by_text(self, numbers: list[int], values: Sequence[Sequence[int]], matches: Sequence[Match]) -> list[int]:
        """Some matches in the order of their texts, then of their names; only values that differ are compared."""
        tied = [values[number] for number in numbers]
        differing = [column for column in zip(*tied, strict=True) if column.count(column[0]) < len(column)]
        texts = [self._text(column) for column in differing]
        if self._template is not None:
            texts.append(tuple([self._name(matches[number]) for number in numbers]))
        if not texts:
            return numbers
        order = sorted(range(len(tied)), key=list(zip(*texts, strict=True)).__getitem__)
        return [numbers[place] for place in order]

    def _admit(self, match: Match, ids: Sequence[int]) -> bool:
        """DISTINCT and LIMIT, per triggering event and partition (specification 3.4)."""
        trigger = match.partition, match.last
        if self._query.distinct:
            seen, text = self._projected.setdefault(trigger, set()), self._text(ids)
            if text in seen:
                self.removed["distinct"] += 1
                return False
            seen.add(text)
        if self._query.limit is not None:
            count = self._reported.get(trigger, 0)
            self._reported[trigger] = count + 1
            self.removed["limit-rows"] += count >= self._query.limit
            return count < self._query.limit
        return True

    def _row(self, match: Match, ids: Sequence[int], events: StepEvents) -> Row:
        if self._template is None:
            bound = zip(self._expressions, self._dictionary.terms(ids), strict=True)
            pairs = tuple([(name, term) for name, term in bound if term is not None])
            return Row(self._query.name, match.time, match.start, pairs, events)
        graph = self._name(match)
        triples = self._template.triples(dict(zip(self._expressions, ids, strict=True)), graph)
        return Row(self._query.name, match.time, match.start, (), events, graph, triples, match.last)

    def step_events(self, entries: Sequence[tuple[int, int, int]], names: GraphNames) -> StepEvents:
        """The graph names of the events of `Match.entries`, by step."""
        by_step: dict[int, list[str]] = {}
        found = names.of([position for _, position, _ in entries])
        for (symbol, _, _), name in zip(entries, found, strict=True):
            if symbol in by_step:
                by_step[symbol].append(name)
            else:
                by_step[symbol] = [name]
        return tuple([(self._steps[symbol], tuple(by_step[symbol])) for symbol in sorted(by_step)])
