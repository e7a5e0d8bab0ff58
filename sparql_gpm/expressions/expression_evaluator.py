"""Evaluation of expressions over columns of term ids.

Comparisons of numbers and the logic around them are array operations. Every other expression is computed once for each
distinct tuple of arguments by the scalar evaluator, and cached until the dictionary releases terms.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from arrays.comparison import ARITHMETIC, COMPARISONS, ERROR, TRUE, UNKNOWN
from sparql_gpm.bounds import check_time
from sparql_gpm.columns import UNBOUND, Ids, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions import vector
from sparql_gpm.expressions.compiled_expression import CompiledExpression, column_name, compile_expression
from sparql_gpm.expressions.row_conditions import Estimated, RowTruth, row_estimate, row_reader, row_truth
from sparql_gpm.expressions.scalar import Solution, current_time, evaluate_or_none
from sparql_gpm.expressions.values import truth_of, value_key
from sparql_gpm.pattern import FALSE as FALSE_TERM
from sparql_gpm.pattern import TRUE as TRUE_TERM
from sparql_gpm.pattern import Call, Constant, Exists, Expression, Variable
from sparql_gpm.terms import Literal, Term

__all__ = ["ExistsResolver", "ExpressionEvaluator", "column_name"]

ExistsResolver = Callable[[Exists, Mapping[str, Ids], int], Mask]
"""The rows of the columns for which the pattern of an EXISTS has a solution, whether it is negated or not."""

_CACHED_MAX = 200_000
"""Results of expressions that are cached."""
_COMPILED_MAX = 4_000
_FEW_ROWS = 16
"""Up to here a loop over the rows is faster than finding the distinct ones."""
_DENSE_FACTOR = 8
_VERY_FEW_ROWS = 2
"""Up to here the scalar path is faster than array operations."""


class ExpressionEvaluator:
    """Evaluates expressions over columns; not for several threads at once.

    A variable without a column is unbound. PREV, FIRST, LAST and aggregates are looked up in the columns under their
    `column_name`.

    now     the value of NOW(), the same in every solution; None: the present time
    """

    def __init__(self, dictionary: Dictionary, seed: int | None = None, now: Literal | None = None) -> None:
        self._dictionary = dictionary
        self._random = random.Random(seed)
        self._now = now or current_time()
        self._compiled: dict[Expression, CompiledExpression] = {}
        self._generation = dictionary.generation
        self._cached = 0
        self._true = dictionary.pin(TRUE_TERM)
        self._false = dictionary.pin(FALSE_TERM)

    def evaluate(
        self, expression: Expression, columns: Mapping[str, Ids], rows: int, exists: ExistsResolver | None = None
    ) -> Ids:
        """int64[rows]: the value of the expression in each row, UNBOUND where it has none."""
        compiled, columns = self._with_exists(expression, columns, rows, exists)
        return self._values(compiled, columns, rows)

    def holds(
        self, expression: Expression, columns: Mapping[str, Ids], rows: int, exists: ExistsResolver | None = None
    ) -> Mask:
        """bool[rows]: the effective boolean value is true; an error is not."""
        compiled, columns = self._with_exists(expression, columns, rows, exists)
        truths = self._scalar_truths if rows <= _VERY_FEW_ROWS else self._truths
        held: Mask = truths(compiled, columns, rows) == TRUE
        return held

    def test(self, expression: Expression, places: Mapping[str, int]) -> Callable[[Sequence[int]], bool]:
        """`holds` for one solution at a time, without EXISTS: a function of the ids at the places of the variables."""
        made: tuple[int, RowTruth] | None = None

        def held(values: Sequence[int]) -> bool:
            nonlocal made
            if made is None or self._is_stale(made[0]):
                compiled = self._compile(expression)
                made = self._generation, row_truth(compiled, places, self._dictionary, self._cached_truth)
            return made[1](values) == TRUE

        return held

    def value(self, expression: Expression, places: Mapping[str, int]) -> Callable[[Sequence[int]], int]:
        """`evaluate` for one solution at a time, as `test` is `holds` for one."""
        made: tuple[int, CompiledExpression, Callable[[Sequence[int]], tuple[int, ...]]] | None = None

        def valued(values: Sequence[int]) -> int:
            nonlocal made
            if made is None or self._is_stale(made[0]):
                compiled = self._compile(expression)
                made = self._generation, compiled, row_reader(compiled.names, places)
            _, compiled, read = made
            return self._lookup(compiled, read(values), False)

        return valued

    def value_classes(self, ids: Ids) -> Ids:
        """A column that is equal in rows whose terms `=` may hold for; one step for each distinct term."""
        distinct, of_row = np.unique(ids, return_inverse=True)
        known: dict[object, int] = {}
        classes = [known.setdefault(value_key(self._dictionary.term(i)), i) if i else i for i in distinct.tolist()]
        return np.array(classes, dtype=np.int64)[of_row]

    def estimate(self, expression: Expression, name: str, places: Mapping[str, int]) -> Estimated | None:
        """`test` where one variable is an aggregate that is only estimated; see `row_estimate`."""
        return row_estimate(self._compile(expression), name, places, self._dictionary)

    def _cached_truth(self, compiled: CompiledExpression, arguments: tuple[int, ...]) -> int:
        return self._lookup(compiled, arguments, True)

    def _is_stale(self, generation: int) -> bool:
        return generation != self._dictionary.generation or self._cached > _CACHED_MAX

    def _compile(self, expression: Expression) -> CompiledExpression:
        if self._is_stale(self._generation) or len(self._compiled) > _COMPILED_MAX:
            self._generation = self._dictionary.generation
            self._cached = 0
            self._compiled.clear()
        compiled = self._compiled.get(expression)
        if compiled is None:
            compiled = self._compiled[expression] = compile_expression(expression, self._dictionary)
        return compiled

    def _with_exists(
        self, expression: Expression, columns: Mapping[str, Ids], rows: int, exists: ExistsResolver | None
    ) -> tuple[CompiledExpression, Mapping[str, Ids]]:
        """The compiled expression, and the columns with one more for each EXISTS in it."""
        compiled = self._compile(expression)
        if compiled.tests:
            assert exists is not None, "EXISTS without anything to look in"
            columns = dict(columns)
            for name, test in compiled.tests:
                columns[name] = np.where(exists(test, columns, rows) != test.negated, self._true, self._false)
        return compiled, columns

    def _values(self, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> Ids:
        match compiled.expression:
            case Variable(name):
                return np.asarray(_column(columns, name, rows), dtype=np.int64)
            case Constant():
                return np.full(rows, compiled.constant, dtype=np.int64)
            case Call() if compiled.is_logical:
                by_truth = np.array((self._false, self._true, UNBOUND), dtype=np.int64)
                return by_truth[self._truths(compiled, columns, rows)]
        return self._scalar(compiled, columns, rows, truths=False)

    def _value(self, compiled: CompiledExpression, arguments: Sequence[int]) -> int:
        """The scalar path: ids in, id out. Raises TooCostly."""
        check_time()
        dictionary = self._dictionary
        given = dict(zip(compiled.names, arguments, strict=True))

        def term_of(name: str) -> Term | None:
            identifier = given[name]
            return None if identifier == UNBOUND else dictionary.term(identifier)

        term = evaluate_or_none(compiled.expression, Solution(term_of, self._now, self._random))
        return UNBOUND if term is None else dictionary.intern(term)

    def _truth(self, compiled: CompiledExpression, arguments: Sequence[int]) -> int:
        identifier = self._value(compiled, arguments)
        return truth_of(None if identifier == UNBOUND else self._dictionary.term(identifier))

    def _scalar(self, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int, truths: bool) -> Ids:
        """The value, or the truth, in each row; computed once for each distinct tuple of arguments."""
        arguments = [_column(columns, name, rows) for name in compiled.names]
        if arguments and rows > _FEW_ROWS and not compiled.volatile:
            first, of_row = distinct_rows(arguments)
            distinct = [column[first] for column in arguments]
            return self._each(compiled, distinct, len(first), truths)[of_row]
        if not arguments and not compiled.volatile and rows:
            return np.full(rows, self._lookup(compiled, (), truths), dtype=np.int64)
        return self._each(compiled, arguments, rows, truths)

    def _each(self, compiled: CompiledExpression, arguments: Sequence[Ids], rows: int, truths: bool) -> Ids:
        found = [self._lookup(compiled, row, truths) for row in _tuples(arguments, rows)]
        return np.array(found, dtype=np.int64)

    def _lookup(self, compiled: CompiledExpression, arguments: tuple[int, ...], truths: bool) -> int:
        cache = compiled.truths if truths else compiled.values
        known = cache.get(arguments)
        if known is None:
            known = self._truth(compiled, arguments) if truths else self._value(compiled, arguments)
            if not compiled.volatile:
                if self._cached > _CACHED_MAX:
                    cache.clear()
                self._cached += 1
                cache[arguments] = known
        return known

    def _truths(self, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> vector.Truths:
        """int8[rows]: FALSE, TRUE or ERROR."""
        match compiled.expression:
            case Call("&&" | "||" as name, _):
                left, right = (self._truths(part, columns, rows) for part in compiled.parts)
                return vector.CONNECTIVES[name][left, right]
            case Call("!", _):
                return vector.NEGATION[self._truths(compiled.parts[0], columns, rows)]
            case Call("BOUND", (Variable(name),)):
                return np.asarray(_column(columns, name, rows) != UNBOUND, dtype=np.int8)
            case Call("SAMETERM", _) if compiled.parts:
                first, second = (self._values(part, columns, rows) for part in compiled.parts)
                return np.where((first == UNBOUND) | (second == UNBOUND), ERROR, first == second).astype(np.int8)
            case Call("IN" | "NOTIN" as name, _) if compiled.parts:
                return self._membership(name, compiled, columns, rows)
            case Call(name, _) if name in COMPARISONS and compiled.parts:
                return self._comparison(name, compiled, columns, rows)
        return self._scalar_truths(compiled, columns, rows)

    def _scalar_truths(self, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> vector.Truths:
        return self._scalar(compiled, columns, rows, truths=True).astype(np.int8)

    def _membership(
        self, name: str, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int
    ) -> vector.Truths:
        result: vector.Truths = np.zeros(rows, dtype=np.int8)
        for choice in compiled.parts:
            result = vector.CONNECTIVES["||"][result, self._truths(choice, columns, rows)]
        return result if name == "IN" else vector.NEGATION[result]

    def _comparison(
        self, name: str, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int
    ) -> vector.Truths:
        left, right = (self._numbers(part, columns, rows) for part in compiled.parts)
        if left is None or right is None:
            return self._scalar_truths(compiled, columns, rows)
        result = vector.compare_numbers(name, left, right)
        unknown = np.flatnonzero(result == UNKNOWN)
        if len(unknown):
            rest = {variable: columns[variable][unknown] for variable in compiled.names if variable in columns}
            result[unknown] = self._scalar_truths(compiled, rest, len(unknown))
        return result

    def _numbers(self, compiled: CompiledExpression, columns: Mapping[str, Ids], rows: int) -> vector.Bounded | None:
        """The numbers of one side; None if it is more than arithmetic."""
        numbers = self._dictionary.numbers
        match compiled.expression:
            case Variable(name):
                return vector.Bounded(numbers[_column(columns, name, rows)])
            case Constant():
                return vector.Bounded(np.full(rows, numbers[compiled.constant]))
            case Call(name, (_, _)) if name in ARITHMETIC:
                left, right = (self._numbers(part, columns, rows) for part in compiled.parts)
                return None if left is None or right is None else vector.calculate_numbers(name, left, right)
        return None


def distinct_rows(columns: Sequence[Ids]) -> tuple[Ids, Ids]:
    """The index of one row of each distinct kind, and for each row the kind that it equals; at least one column."""
    of_row, size = _codes(columns[0])
    for column in columns[1:]:
        codes, more = _codes(column)
        of_row, size = _codes(of_row * more + codes)
    first = np.zeros(size, dtype=np.int64)
    first[of_row] = np.arange(len(of_row), dtype=np.int64)
    return first, of_row


def _codes(column: Ids) -> tuple[Ids, int]:
    """The values numbered from 0, and their number; linear where the values are dense enough, else by sorting."""
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
