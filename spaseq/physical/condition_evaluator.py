"""The evaluator's window to RDF: conditions and aggregates over columns of term ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from automata.plan.program import EVENT, FoldValue, Reference
from automata.registers.guard import Guard
from automata.registers.iterated import register_of
from automata.runs.rows.conditions import Estimated, Test
from automata.values import Ids, Mask, Match
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.aggregates import estimate, fold
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator, column_name
from sparql_gpm.matcher import Matcher
from sparql_gpm.pattern import Exists, Variable
from spaseq.physical.program import Compiled
from spaseq.physical.register_guard import guard_of

_FOLDS_MAX = 1 << 16
"""Aggregates remembered by their values."""


class KeptGraphs:
    """The graphs of events that conditions with EXISTS may still look at, by position in the merged order.

    batches     slices of events, each with the position of its first event
    """

    def __init__(self) -> None:
        self.batches: list[tuple[int, EventBatch]] = []

    def add(self, position: int, batch: EventBatch) -> None:
        """The next slice, whose first event has this position."""
        self.batches.append((position, batch))

    def forget(self, before: int) -> None:
        """Drop slices that end before this position."""
        self.batches = [(first, batch) for first, batch in self.batches if first + len(batch) > before]

    def since(self, position: int) -> list[tuple[int, EventBatch]]:
        """The slices from a position on: what `forget(position)` must leave."""
        cuts = [(max(0, position - first), first, batch) for first, batch in self.batches]
        return [
            (first + begin, batch.take(np.arange(begin, len(batch), dtype=np.int64)) if begin else batch)
            for begin, first, batch in cuts
            if begin < len(batch)
        ]

    def take(self, positions: Ids) -> tuple[EventBatch, Ids]:
        """The events at these positions, each once, and for each position the event's index among them."""
        distinct, inverse = np.unique(positions, return_inverse=True)
        parts = []
        for first, batch in self.batches:
            begin, end = np.searchsorted(distinct, (first, first + len(batch)))
            if begin < end:
                parts.append(batch.take(distinct[begin:end] - first))
        return EventBatch.concatenate(parts or [EventBatch.empty()]), inverse.astype(np.int64).ravel()

    def live_ids(self) -> list[Ids]:
        """Columns of all ids in the graphs."""
        return [ids for _, b in self.batches for ids in (b.subjects, b.predicates, b.objects)]


class TermConditionEvaluator:
    """Answers an evaluator's questions about one query; see `automata.plan.program.Host`."""

    def __init__(
        self,
        compiled: Compiled,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
        matchers: Mapping[int, Matcher],
    ) -> None:
        self._compiled = compiled
        self._dictionary = dictionary
        self._evaluator = evaluator
        self._matchers = matchers
        self._folded: dict[tuple[int, tuple[int, ...]], int] = {}
        self._generation = dictionary.generation
        self.graphs = KeptGraphs()
        self.project: Callable[[Sequence[Match]], Sequence[tuple[str, ...]]] | None = None

    def texts(self, matches: Sequence[Match]) -> Sequence[tuple[str, ...]]:
        """See `automata.plan.program.Host`; `project` is set by whoever projects."""
        assert self.project is not None
        return self.project(matches)

    def holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        """See `automata.plan.program.Host`."""
        named = {self._name(reference): column for reference, column in columns.items() if reference != EVENT}
        expression = self._compiled.conditions[condition]
        if EVENT not in columns:
            held: Mask = self._evaluator.holds(expression, named, rows)
            return held
        batch, event_of_row = self.graphs.take(columns[EVENT])
        matcher = self._matchers[self._compiled.program.conditions[condition].symbol]

        def exists(node: Exists, bindings: Mapping[str, Ids], count: int) -> Mask:
            return matcher.exists(batch, event_of_row, node, bindings, count)

        seen: Mask = self._evaluator.holds(expression, named, rows, exists)
        return seen

    def test(self, condition: int) -> Test:
        """See `automata.runs.rows.conditions.TestHost`."""
        references = self._compiled.program.conditions[condition].references
        iterated = [r for r in references if not isinstance(r, int)]
        places = {self._name(r): r for r in references if isinstance(r, int)}
        places |= {self._name(r): self._compiled.program.variables + n for n, r in enumerate(iterated)}
        return self._evaluator.test(self._compiled.conditions[condition], places)

    def fold(self, value: FoldValue, offsets: Ids, ids: Ids) -> Ids:
        """See `automata.plan.program.Host`."""
        borders, values = offsets.tolist(), ids.tolist()
        folded = [self.fold_one(value, tuple(values[begin:end])) for begin, end in pairwise(borders)]
        return np.array(folded, dtype=np.int64)

    def fold_one(self, value: FoldValue, ids: tuple[int, ...]) -> int:
        """See `automata.runs.rows.conditions.TestHost`."""
        if self._generation != self._dictionary.generation or len(self._folded) > _FOLDS_MAX:
            self._folded.clear()
            self._generation = self._dictionary.generation
        key = (value.fold, ids)
        if key not in self._folded:
            self._folded[key] = fold(self._compiled.folds[value.fold], ids, self._dictionary)
        return self._folded[key]

    def estimate(self, condition: int, value: FoldValue) -> Estimated | None:
        """See `automata.runs.rows.conditions.TestHost`."""
        references = self._compiled.program.conditions[condition].references
        places = {self._name(r): r for r in references if isinstance(r, int)}
        return self._evaluator.estimate(self._compiled.conditions[condition], self._name(value), places)

    def fold_number(self, value: FoldValue, ids: Sequence[int]) -> float:
        """See `automata.runs.rows.conditions.TestHost`."""
        return estimate(self._compiled.folds[value.fold], ids, self._dictionary)

    def guard(self, condition: int) -> Guard | None:
        """See `automata.registers.guard.GuardHost`."""
        numbers = register_of(self._compiled.program)
        references = self._compiled.program.conditions[condition].references
        registers = {self._name(r): numbers[r] for r in references if r in numbers}
        return guard_of(self._compiled.conditions[condition], registers, self._dictionary)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """See `automata.registers.guard.GuardHost`."""
        return self._dictionary.numbers

    def _name(self, reference: Reference) -> str:
        node = self._compiled.nodes[reference]
        return node.name if isinstance(node, Variable) else column_name(node)
