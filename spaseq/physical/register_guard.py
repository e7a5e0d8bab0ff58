"""Conditions of steps as guards: comparisons and arithmetic of numbers, and the logic around them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from automata.registers.guard import Guard, Op
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import column_name
from sparql_gpm.pattern import Call, Constant, Expression, Iteration, Variable

_COMPARISONS = {
    "<": Op.LESS, "<=": Op.AT_MOST, ">": Op.GREATER, ">=": Op.AT_LEAST, "=": Op.EQUAL, "!=": Op.UNEQUAL,
}  # fmt: skip
_ARITHMETIC = {"+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "/": Op.DIVIDE}
_LOGIC = {"&&": Op.AND, "||": Op.OR}


class _NoGuard(Exception):
    """The expression is more than a guard can be."""


def guard_of(expression: Expression, variables: Mapping[str, int], dictionary: Dictionary) -> Guard | None:
    """The condition as a guard over the registers of variables; None if it is more than comparisons of numbers."""
    writer = _Writer(variables, dictionary)
    try:
        writer.truth(expression)
    except _NoGuard:
        return None
    return Guard(tuple(writer.code), tuple(writer.constants))


class _Writer:
    def __init__(self, variables: Mapping[str, int], dictionary: Dictionary) -> None:
        self._variables = variables
        self._dictionary = dictionary
        self.code: list[tuple[Op, int]] = []
        self.constants: list[float] = []

    def truth(self, expression: Expression) -> None:
        match expression:
            case Call("&&" | "||" as name, (left, right)):
                self.truth(left)
                self.truth(right)
                self.code.append((_LOGIC[name], 0))
            case Call("!", (inner,)):
                self.truth(inner)
                self.code.append((Op.NOT, 0))
            case Call("BOUND", (Variable() | Iteration() as node,)):
                self.code.append((Op.BOUND, self._register(node)))
            case Call("IN" | "NOTIN" as name, (value, *choices)) if choices:
                self._membership(value, choices)
                if name == "NOTIN":
                    self.code.append((Op.NOT, 0))
            case Call(name, (left, right)) if name in _COMPARISONS:
                self._compare(name, left, right)
            case _:
                raise _NoGuard

    def _membership(self, value: Expression, choices: list[Expression]) -> None:
        for number, choice in enumerate(choices):
            self._compare("=", value, choice)
            if number:
                self.code.append((Op.OR, 0))

    def _compare(self, name: str, left: Expression, right: Expression) -> None:
        self._number(left)
        self._number(right)
        self.code.append((_COMPARISONS[name], 0))

    def _number(self, expression: Expression) -> None:
        match expression:
            case Variable() | Iteration():
                self.code.append((Op.REGISTER, self._register(expression)))
            case Constant(term):
                value = self._dictionary.number(self._dictionary.pin(term))
                if np.isnan(value):
                    raise _NoGuard
                self.code.append((Op.CONSTANT, len(self.constants)))
                self.constants.append(value)
            case Call(name, (left, right)) if name in _ARITHMETIC:
                self._number(left)
                self._number(right)
                self.code.append((_ARITHMETIC[name], 0))
            case _:
                raise _NoGuard

    def _register(self, node: Variable | Iteration) -> int:
        """Raises for a variable that no step binds: it has no register."""
        name = node.name if isinstance(node, Variable) else column_name(node)
        if name not in self._variables:
            raise _NoGuard
        return self._variables[name]
