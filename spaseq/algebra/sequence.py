"""From the syntax of SEQ to a temporal expression: parentheses vanish, default contiguity is filled in."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import assert_never

from automata.plan.expression import Absent, AnyOrder, Chain, Contiguity, Either, Expression, Iterate, Maybe, Take
from spaseq.lang import ast

_CONTIGUITY = {
    ast.Contiguity.STRICT: Contiguity.STRICT,
    ast.Contiguity.NEXT: Contiguity.NEXT,
    ast.Contiguity.ANY: Contiguity.ANY,
}


def temporal_expression(sequence: ast.Expr, symbols: Mapping[str, int]) -> Expression:
    """The expression of a whole SEQ; `symbols` numbers the step names."""
    return _build(sequence, symbols, opens=True)


def step_names(node: ast.Expr) -> tuple[str, ...]:
    """The names in a sequence, each once, in the order of first appearance."""
    return tuple(dict.fromkeys(_names(node)))


def positive_names(node: ast.Expr) -> tuple[str, ...]:
    """The same without those that stand only inside `!`."""
    return tuple(dict.fromkeys(_names(node, negated=False)))


def repetitions(node: ast.Expr) -> tuple[tuple[ast.Repeat, Contiguity], ...]:
    """Every repetition with the contiguity in force between its iterations, in the order of the text."""
    return tuple(_repetitions(node, opens=True))


def _build(node: ast.Expr, symbols: Mapping[str, int], opens: bool) -> Expression:
    match node:
        case ast.Step(name, _):
            return Take((symbols[name],))
        case ast.Sequence(items, operators, _):
            return _chain(items, operators, symbols, opens)
        case ast.Choice(branches, _):
            return _either([_build(branch, symbols, opens) for branch in branches])
        case ast.Conjunction():
            return _either([Take(together) for together in _together(node, symbols)])
        case ast.AnyOrder(members, _):
            return AnyOrder(tuple(_build(member, symbols, opens) for member in members))
        case ast.Repeat(inner, at_least, at_most, _, _):
            return Iterate(_build(inner, symbols, opens), at_least, at_most, contiguity_in_force(node, opens))
        case ast.Optional(inner, _):
            return Maybe(_build(inner, symbols, opens))
        case ast.Negation(inner, _):
            return Absent(_build(inner, symbols, opens))
    assert_never(node)


def contiguity_in_force(node: ast.Repeat, opens: bool) -> Contiguity:
    """What is written, else skip-till-next where the repetition opens the sequence, else strict (G Def. 13-14)."""
    if node.contiguity is not None:
        return _CONTIGUITY[node.contiguity]
    return Contiguity.NEXT if opens else Contiguity.STRICT


def _chain(
    items: tuple[ast.Expr, ...], operators: tuple[ast.Contiguity, ...], symbols: Mapping[str, int], opens: bool
) -> Expression:
    """A chain without chains in it: a group without a quantifier is its items (specification 3.2)."""
    parts: list[Expression] = []
    joints: list[Contiguity] = []
    for number, item in enumerate(items):
        built = _build(item, symbols, opens)
        opens = opens and not positive_names(item)
        if number:
            joints.append(_CONTIGUITY[operators[number - 1]])
        if isinstance(built, Chain):
            parts += built.items
            joints += built.operators
        else:
            parts.append(built)
    return parts[0] if len(parts) == 1 else Chain(tuple(parts), tuple(joints))


def _either(branches: list[Expression]) -> Expression:
    flat = [inner for branch in branches for inner in (branch.branches if isinstance(branch, Either) else (branch,))]
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else Either(distinct)


def _together(node: ast.Expr, symbols: Mapping[str, int]) -> list[tuple[int, ...]]:
    """The alternatives of a conjunction, each a set of symbols taken at one time."""
    match node:
        case ast.Step(name, _):
            return [(symbols[name],)]
        case ast.Sequence((only,), _, _):
            return _together(only, symbols)
        case ast.Choice(branches, _):
            return [together for branch in branches for together in _together(branch, symbols)]
        case ast.Conjunction(members, _):
            parts = product(*(_together(member, symbols) for member in members))
            return [tuple(symbol for part in combination for symbol in part) for combination in parts]
    raise AssertionError(f"not a member of a conjunction: {node}")


def _names(node: ast.Expr, negated: bool = True) -> list[str]:
    match node:
        case ast.Step(name, _):
            return [name]
        case ast.Negation(inner, _):
            return _names(inner, negated) if negated else []
        case ast.Repeat(inner) | ast.Optional(inner, _):
            return _names(inner, negated)
        case _:
            return [name for child in children(node) for name in _names(child, negated)]


def children(node: ast.Expr) -> tuple[ast.Expr, ...]:
    """The parts of a node, in order."""
    match node:
        case ast.Step():
            return ()
        case ast.Sequence(items, _, _):
            return items
        case ast.Choice(branches, _):
            return branches
        case ast.Conjunction(members, _) | ast.AnyOrder(members, _):
            return members
        case ast.Repeat(inner) | ast.Optional(inner, _) | ast.Negation(inner, _):
            return (inner,)
    assert_never(node)


def _repetitions(node: ast.Expr, opens: bool) -> list[tuple[ast.Repeat, Contiguity]]:
    found: list[tuple[ast.Repeat, Contiguity]] = []
    if isinstance(node, ast.Repeat):
        found.append((node, contiguity_in_force(node, opens)))
    for child in children(node):
        found += _repetitions(child, opens)
        if isinstance(node, ast.Sequence):
            opens = opens and not positive_names(child)
    return found
