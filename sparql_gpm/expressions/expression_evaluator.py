"""Expressions over columns of term ids.

Comparisons of numbers and the logic around them are array operations. Whatever else an expression holds is computed
once for each distinct tuple of arguments by the scalar evaluator, and remembered until the dictionary releases terms.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from arrays.comparison import ARITHMETIC, COMPARISONS, ERROR, TRUE, UNKNOWN
from sparql_gpm.columns import UNBOUND, Ids, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.compiled_expression import CompiledExpression, column_name, compile_expression
from sparql_gpm.expressions.row_conditions import Decided, Truth, estimate_of, picking, truth_of
from sparql_gpm.expressions.scalar import Solution, current_time, evaluate_or_none
from sparql_gpm.expressions.values import truth_of as truth_of_term
from sparql_gpm.expressions.vector import (
    CONNECTIVES,
    NEGATION,
    Bounded,
    Truths,
    calculate_numbers,
    compare_numbers,
)
from sparql_gpm.pattern import FALSE as FALSE_TERM
from sparql_gpm.pattern import TRUE as TRUE_TERM
from sparql_gpm.pattern import Call, Constant, Exists, Expression, Variable
from sparql_gpm.terms import Literal, Term

__all__ = ["ExistsResolver", "ExpressionEvaluator", "column_name"]

ExistsResolver = Callable[[Exists, Mapping[str, Ids], int], Mask]
"""Whether the pattern of an EXISTS has a solution, for each row of the columns; its `negated` is not looked at."""

_MEMO_MAX = 200_000
_COMPILED_MAX = 4_000
_FEW_ROWS = 16
"""Up to here a loop over the rows is faster than looking for distinct ones."""
_DENSE_FACTOR = 8
_VERY_FEW_ROWS = 2
"""Up to here the scalar path is faster than array operations."""


class ExpressionEvaluator:
    """Evaluates expressions over columns; not for several threads at once.

    A variable without a column is unbound. PREV, FIRST, LAST and aggregates are looked up in the columns under their
    `column_name`.
    """

    def __init__(self, dictionary: Dictionary, seed: int | None = None) -> None:
        self._dictionary = dictionary
        self._random = random.Random(seed)
        self._now = current_time()
        self._compiled: dict[Expression, CompiledExpression] = {}
        self._generation = dictionary.generation
        self._remembered = 0
        self._true = dictionary.pin(TRUE_TERM)
        self._false = dictionary.pin(FALSE_TERM)

    @property
    def now(self) -> Literal:
        """The value of NOW(), the same in every solution."""
        return self._now

    @now.setter
    def now(self, moment: Literal) -> None:
        self._now = moment
        self._forget()

    def evaluate(
        self, expression: Expression, columns: Mapping[str, Ids], rows: int, exists: ExistsResolver | None = None
    ) -> Ids:
        """int64[rows]: the value of the expression in each row, UNBOUND where it has none."""
        compiled, columns = self._prepare(expression, columns, rows, exists)
        return self._values(compiled, columns, rows)

    def holds(
        self, expression: Expression, columns: Mapping[str, Ids], rows: int, exists: ExistsResolver | None = None
    ) -> Mask:
        """bool[rows]: whether the effective boolean value is true; an error is not."""
        compiled, columns = self._prepare(expression, columns, rows, exists)
        held: Mask
        if rows <= _VERY_FEW_ROWS:
            held = self._slow_truths(compiled, columns, rows) == TRUE
        else:
            held = self._truths(compiled, columns, rows) == TRUE
        return held

    def test(self, expression: Expression, places: Mapping[str, int]) -> Callable[[Sequence[int]], bool]:
        """`holds` for one solution at a time, without EXISTS: a function of the ids at the places of the variables."""
        made: tuple[int, Truth] | None = None

        def held(values: Sequence[int]) -> bool:
            nonlocal made
            if made is None or made[0] != self._dictionary.generation or self._remembered > _MEMO_MAX:
                compiled, _ = self._prepare(expression, {}, 0, None)
                made = self._generation, truth_of(compiled, places, self._dictionary, self._known_truth)
            return made[1](values) == TRUE

        return held

    def value(self, expression: Expression, places: Mapping[str, int]) -> Callable[[Sequence[int]], int]:
        """`evaluate` for one solution at a time, as `test` is `holds` for one."""
        made: tuple[int, CompiledExpression, Callable[[Sequence[int]], tuple[int, ...]]] | None = None

        def valued(values: Sequence[int]) -> int:
            nonlocal made
            if made is None or made[0] != self._dictionary.generation or self._remembered > _MEMO_MAX:
                compiled, _ = self._prepare(expression, {}, 0, None)
                made = self._generation, compiled, picking(compiled.names, places)
            _, compiled, pick = made
            if compiled.volatile:
                return self._value(compiled, pick(values))
            return self._remember(compiled, pick(values), compiled.values, self._value)

        return valued

    def estimate(self, expression: Expression, name: str, places: Mapping[str, int]) -> Decided | None:
        """`test` where one variable is an aggregate that has only been estimated; see `estimate_of`."""
        compiled, _ = self._prepare(expression, {}, 0, None)
        return estimate_of(compiled, name, places, self._dictionary)

    def _known_truth(self, compiled: CompiledExpression, arguments: tuple[int, ...]) -> int:
        if compiled.volatile:
            return self._truth(compiled, arguments)
        return self._remember(compiled, arguments, compiled.truths, self._truth)

    def _prepare(
        self, expression: Expression, columns: Mapping[str, Ids], rows: int, exists: ExistsResolver | None
    ) -> tuple[CompiledExpression, Mapping[str, Ids]]:
        """The compiled expression, and the columns with one more for each EXISTS in it."""
        if self._generation != self._dictionary.generation or self._remembered > _MEMO_MAX:
            self._forget()
        if len(self._compiled) > _COMPILED_MAX:
            self._compiled.clear()
        compiled = self._compiled.get(expression)
        if compiled is None:
            compiled = self._compiled[expression] = compile_expression(expression, self._dictionary)
        if compiled.tests:
            assert exists is not None, "EXISTS without anything to look in"
            columns = dict(columns)
            for name, test in compiled.tests:
                columns[name] = np.where(exists(test, columns, rows) != test.negated, self._true, self._false)
        return compiled, columns

    def _forget(self) -> None:
        self._generation = self._dictionary.generation
        self._remembered = 0
        self._compiled.clear()

    def _values(self, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> Ids:
        match compiled.expression:
            case Variable(name):
                return np.asarray(_column(columns, name, rows), dtype=np.int64)
            case Constant():
                return np.full(rows, compiled.constant, dtype=np.int64)
            case Call(name, _) if compiled.is_logical:
                return np.array((self._false, self._true, UNBOUND), dtype=np.int64)[
                    self._truths(compiled, columns, rows)
                ]
        return self._slow(compiled, columns, rows, compiled.values, self._value)

    def _value(self, compiled: CompiledExpression, arguments: Sequence[int]) -> int:
        """The scalar path: ids in, id out."""
        dictionary = self._dictionary
        given = dict(zip(compiled.names, arguments, strict=True))

        def look_up(name: str) -> Term | None:
            identifier = given[name]
            return None if identifier == UNBOUND else dictionary.term(identifier)

        term = evaluate_or_none(compiled.expression, Solution(look_up, self._now, self._random))
        return UNBOUND if term is None else dictionary.intern(term)

    def _truth(self, compiled: CompiledExpression, arguments: Sequence[int]) -> int:
        identifier = self._value(compiled, arguments)
        return truth_of_term(None if identifier == UNBOUND else self._dictionary.term(identifier))

    def _slow(
        self,
        compiled: CompiledExpression,
        columns: Mapping[str, Ids],
        rows: int,
        memo: dict[tuple[int, ...], int],
        compute: Callable[[CompiledExpression, Sequence[int]], int],
    ) -> Ids:
        """`compute` for each row, once for each distinct tuple of arguments."""
        arguments = [_column(columns, name, rows) for name in compiled.names]
        if compiled.volatile:
            return np.array([compute(compiled, row) for row in _tuples(arguments, rows)], dtype=np.int64)
        if not arguments:
            return np.full(rows, self._remember(compiled, (), memo, compute) if rows else UNBOUND, dtype=np.int64)
        if rows <= _FEW_ROWS:
            found = [self._remember(compiled, row, memo, compute) for row in _tuples(arguments, rows)]
            return np.array(found, dtype=np.int64)
        first, of_row = distinct_rows(arguments)
        distinct = _tuples([column[first] for column in arguments], len(first))
        found = [self._remember(compiled, row, memo, compute) for row in distinct]
        return np.array(found, dtype=np.int64)[of_row]

    def _remember(
        self,
        compiled: CompiledExpression,
        arguments: tuple[int, ...],
        memo: dict[tuple[int, ...], int],
        compute: Callable[[CompiledExpression, Sequence[int]], int],
    ) -> int:
        known = memo.get(arguments)
        if known is None:
            if self._remembered > _MEMO_MAX:
                memo.clear()
            self._remembered += 1
            known = memo[arguments] = compute(compiled, arguments)
        return known

    def _truths(self, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> Truths:
        """int8[rows]: FALSE, TRUE or ERROR."""
        match compiled.expression:
            case Call("&&" | "||" as name, _):
                left, right = (self._truths(part, columns, rows) for part in compiled.parts)
                return CONNECTIVES[name][left, right]
            case Call("!", _):
                return NEGATION[self._truths(compiled.parts[0], columns, rows)]
            case Call("BOUND", (Variable(name),)):
                return np.asarray(_column(columns, name, rows) != UNBOUND, dtype=np.int8)
            case Call("SAMETERM", _) if compiled.is_simple:
                first, second = (self._values(part, columns, rows) for part in compiled.parts)
                return np.where((first == UNBOUND) | (second == UNBOUND), ERROR, first == second).astype(np.int8)
            case Call("IN" | "NOTIN" as name, _) if compiled.is_simple:
                return self._membership(name, compiled, columns, rows)
            case Call(name, _) if name in COMPARISONS and compiled.is_simple:
                return self._comparison(name, compiled, columns, rows)
        return self._slow_truths(compiled, columns, rows)

    def _slow_truths(self, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> Truths:
        return self._slow(compiled, columns, rows, compiled.truths, self._truth).astype(np.int8)

    def _membership(self, name: str, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> Truths:
        result = np.zeros(rows, dtype=np.int8)
        for choice in compiled.parts[0].parts:
            result = CONNECTIVES["||"][result, self._truths(choice, columns, rows)]
        return result if name == "IN" else NEGATION[result]

    def _comparison(self, name: str, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> Truths:
        left, right = (self._numbers(part, columns, rows) for part in compiled.parts)
        if left is None or right is None:
            return self._slow_truths(compiled, columns, rows)
        result = compare_numbers(name, left, right)
        unknown = np.flatnonzero(result == UNKNOWN)
        if len(unknown):
            rest = {variable: columns[variable][unknown] for variable in compiled.names if variable in columns}
            result[unknown] = self._slow(compiled, rest, len(unknown), compiled.truths, self._truth)
        return result

    def _numbers(self, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> Bounded | None:
        """The numbers of a side; None if it is more than arithmetic."""
        match compiled.expression:
            case Variable(name):
                return Bounded(self._dictionary.numbers[_column(columns, name, rows)])
            case Constant():
                return Bounded(np.full(rows, self._dictionary.numbers[compiled.constant]))
            case Call(name, (_, _)) if name in ARITHMETIC:
                left, right = (self._numbers(part, columns, rows) for part in compiled.parts)
                return None if left is None or right is None else calculate_numbers(name, left, right)
        return None


def distinct_rows(columns: Sequence[Ids]) -> tuple[Ids, Ids]:
    """The index of one row of each distinct kind, and for each row which of these it equals; at least one column."""
    of_row, size = _codes(columns[0])
    for column in columns[1:]:
        codes, more = _codes(column)
        of_row, size = _codes(of_row * more + codes)
    first = np.zeros(size, dtype=np.int64)
    first[of_row] = np.arange(len(of_row), dtype=np.int64)
    return first, of_row


def _codes(column: Ids) -> tuple[Ids, int]:
    """The values numbered from 0, and how many there are; linear where the values are dense enough, else sorting."""
    top = int(column.max(initial=0)) + 1
    if top > _DENSE_FACTOR * len(column):
        values, codes = np.unique(column, return_inverse=True)
        return codes, len(values)
    seen = np.zeros(top, dtype=np.bool_)
    seen[column] = True
    values = np.flatnonzero(seen)
    numbered = np.zeros(top, dtype=np.int64)
    numbered[values] = np.arange(len(values), dtype=np.int64)
    return numbered[column], len(values)


def _column(columns: Mapping[str, Ids], name: str, rows: int) -> Ids:
    column = columns.get(name)
    return np.zeros(rows, dtype=np.int64) if column is None else column


def _tuples(columns: Sequence[Ids], rows: int) -> Iterator[tuple[int, ...]]:
    if not columns:
        return iter([()] * rows)
    return zip(*(column.tolist() for column in columns), strict=True)
