"""Conditions and aggregates over term ids, for evaluators that know nothing of RDF."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from arrays.wanted import check_wanted
from automata.plan.program import EVENT, MATCH, FoldValue, Reference
from automata.registers.guard import Guard
from automata.registers.iterated import register_of
from automata.runs.rows.conditions import Estimated, Test
from automata.values import Ids, Mask, Match
from sparql_gpm.algebra.analysis import takes_long
from sparql_gpm.background import Background
from sparql_gpm.bounds import Exceeded, MatchBounds, TooCostly, until
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.aggregates import estimate, fold
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.labels import PatternLabel
from sparql_gpm.matcher import Matcher, compile_pattern
from sparql_gpm.pattern import Exists
from sparql_gpm.shared import PatternPool
from spaseq.physical.evaluators import ConditionEvaluatorOfAnyForm
from spaseq.physical.program import Compiled
from spaseq.physical.register_guard import guard_of
from spaseq.runtime.stages.pattern_solver import label_of
from spaseq.runtime.state.kept_graphs import KeptGraphs

_FOLDS_MAX = 1 << 16
"""Aggregates remembered by their values."""
_LEFT_OUT_MAX = 1 << 12
"""Events remembered that have been reported."""


class CostlyCondition(Exception):
    """A condition of a step has taken more CPU time than it may, for some of the events that are evaluated now.

    labels  of the step's pattern; of all patterns for a condition of the match
    events  those; None: not known yet
    """

    def __init__(self, labels: Sequence[PatternLabel], reason: str) -> None:
        super().__init__(f"a condition of {' and '.join(each.pattern for each in labels)} has {reason}")
        self.labels, self.reason = labels, reason
        self.events: EventBatch | None = None


@dataclass(slots=True, eq=False)
class TermConditionEvaluator(ConditionEvaluatorOfAnyForm):
    """Conditions, guards and aggregates of one query over term ids, in columns and one combination at a time.

    matchers    symbol → the matcher of a step whose conditions read the graph of its event
    graphs      the graphs that they read
    """

    compiled: Compiled
    dictionary: Dictionary
    evaluator: ExpressionEvaluator
    matchers: Mapping[int, Matcher]
    graphs: KeptGraphs
    projected: Callable[[Sequence[Match]], Sequence[tuple[str, ...]]]
    pool: PatternPool | None = None
    _deadline: float = 0.0
    _costly: dict[int, bool] = field(default_factory=dict)
    _left_out: dict[tuple[int, int], None] = field(default_factory=dict)
    _folded: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)
    _generation: int = -1

    def begin(self) -> None:
        """The next events are evaluated: they have the CPU time of one."""
        self._deadline = 0.0

    def holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        if not self._is_bounded(condition):
            return self._holds(condition, columns, rows)
        with self._in_time(condition):
            return self._holds(condition, columns, rows)

    def _is_bounded(self, condition: int) -> bool:
        """True for a condition that may take long, where conditions have a bound."""
        if self.pool is None or not self.pool.bounds.conditions:
            return False
        if condition not in self._costly:
            self._costly[condition] = takes_long(self.compiled.conditions[condition])
        return self._costly[condition]

    @contextmanager
    def _in_time(self, condition: int) -> Iterator[None]:
        """Inside, a condition is evaluated; raises CostlyCondition once its time is over."""
        assert self.pool is not None
        bounds = self.pool.bounds
        self._deadline = self._deadline or thread_time() + (bounds.seconds or math.inf)
        try:
            with until(self._deadline, bounds.too_slow):
                yield
        except TooCostly as error:
            query, symbol = self.compiled.query, self.compiled.program.conditions[condition].symbol
            symbols = range(len(query.patterns)) if symbol == MATCH else (symbol,)
            raise CostlyCondition([label_of(query, each) for each in symbols], str(error)) from error

    def _holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        named = {self.compiled.name(reference): column for reference, column in columns.items() if reference != EVENT}
        expression = self.compiled.conditions[condition]
        if EVENT not in columns:
            held: Mask = self.evaluator.holds(expression, named, rows)
            return held
        batch, event_of_row = self.graphs.take(columns[EVENT])
        symbol = self.compiled.program.conditions[condition].symbol
        matcher, bounds = self.matchers[symbol], MatchBounds() if self.pool is None else self.pool.bounds
        over: dict[int, Exceeded] = {}
        aside = (
            None if self.pool is None else self.pool.supervision.looks_at(label_of(self.compiled.query, symbol), batch)
        )

        def exists(node: Exists, bindings: Mapping[str, Ids], count: int) -> Mask:
            return matcher.exists(
                batch, event_of_row, node, bindings, count, bounds, lambda each: over.setdefault(each.event, each)
            )

        seen: Mask = self.evaluator.holds(expression, named, rows, exists)
        if over:
            self._leave_out(symbol, np.unique(columns[EVENT]), batch, list(over.values()))
            seen &= ~np.isin(event_of_row, list(over))
        return seen if aside is None else seen & ~aside[event_of_row]

    def _leave_out(self, symbol: int, positions: Ids, batch: EventBatch, over: Sequence[Exceeded]) -> None:
        """Reports events of a batch, with these positions, that exceed a bound and have not been reported yet."""
        for each in over:
            key = symbol, int(positions[each.event])
            if self.pool is None or key in self._left_out:
                continue
            if len(self._left_out) >= _LEFT_OUT_MAX:
                self._left_out.pop(next(iter(self._left_out)))
            self._left_out[key] = None
            self.pool.left_out(label_of(self.compiled.query, symbol), batch, each)

    def test(self, condition: int) -> Test:
        references = self.compiled.program.conditions[condition].references
        iterated = [r for r in references if not isinstance(r, int)]
        places = {self.compiled.name(r): r for r in references if isinstance(r, int)}
        places |= {self.compiled.name(r): self.compiled.program.variables + n for n, r in enumerate(iterated)}
        test = self.evaluator.test(self.compiled.conditions[condition], places)
        if not self._is_bounded(condition):
            return test

        def in_time(values: Sequence[int]) -> bool:
            with self._in_time(condition):
                return test(values)

        return in_time

    def fold(self, value: FoldValue, offsets: Ids, ids: Ids) -> Ids:
        borders, values = offsets.tolist(), ids.tolist()
        folded = [self.fold_one(value, tuple(values[begin:end])) for begin, end in pairwise(borders)]
        return np.array(folded, dtype=np.int64)

    def fold_one(self, value: FoldValue, ids: tuple[int, ...]) -> int:
        check_wanted()
        if self._generation != self.dictionary.generation or len(self._folded) > _FOLDS_MAX:
            self._folded.clear()
            self._generation = self.dictionary.generation
        key = (value.fold, ids)
        if key not in self._folded:
            self._folded[key] = fold(self.compiled.folds[value.fold], ids, self.dictionary)
        return self._folded[key]

    def estimate(self, condition: int, value: FoldValue) -> Estimated | None:
        references = self.compiled.program.conditions[condition].references
        places = {self.compiled.name(r): r for r in references if isinstance(r, int)}
        return self.evaluator.estimate(self.compiled.conditions[condition], self.compiled.name(value), places)

    def fold_number(self, value: FoldValue, ids: Sequence[int]) -> float:
        return estimate(self.compiled.folds[value.fold], ids, self.dictionary)

    def texts(self, matches: Sequence[Match]) -> Sequence[tuple[str, ...]]:
        return self.projected(matches)

    def guard(self, condition: int) -> Guard | None:
        numbers = register_of(self.compiled.program)
        references = self.compiled.program.conditions[condition].references
        registers = {self.compiled.name(r): numbers[r] for r in references if r in numbers}
        return guard_of(self.compiled.conditions[condition], registers, self.dictionary)

    @property
    def numbers(self) -> NDArray[np.float64]:
        return self.dictionary.numbers


def condition_matchers(
    compiled: Compiled, dictionary: Dictionary, evaluator: ExpressionEvaluator, background: Background | None
) -> Mapping[int, Matcher]:
    """symbol → the matcher of each step with a condition that reads its event's graph, in the query's own variables."""
    reading = {condition.symbol for condition in compiled.program.conditions if condition.needs_event}
    patterns = {symbol: compiled.query.patterns[symbol] for symbol in sorted(reading)}
    return {
        symbol: compile_pattern(pattern.pattern, dictionary, evaluator, background, pattern.conditions)
        for symbol, pattern in patterns.items()
    }
