"""The key of a pattern: variables on whose values all its steps agree."""

from __future__ import annotations

from automata.plan.plan import Plan


def key_of(plan: Plan) -> tuple[int, ...]:
    """The variables that every run and every event that extends it share: PARTITION BY's, then those of each step."""
    program = plan.program
    keys = [frozenset(edge.key) for edge in plan.edges if not edge.begins]
    joined = frozenset(range(program.variables)).intersection(*(program.symbols[s].certain for s in plan.used), *keys)
    return program.partition + tuple(sorted(joined.difference(program.partition)))


def has_one_key(plan: Plan) -> bool:
    """True if steps are related by nothing but the key."""
    return {variable for edge in plan.edges for variable in edge.shared} <= frozenset(key_of(plan))
