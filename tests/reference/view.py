"""What a step of a match sees: bindings, iterations, conditions (specification 3.1 and 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparql_gpm.terms import Term
from spaseq.lang import ast
from tests.reference.expression import Scope, value_or_none
from tests.reference.graph import Solution
from tests.reference.shape import Path
from tests.reference.stream import Event


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One (step name, event, ν) of a match; `place` is where the step is written, `path` its iterations."""

    step: str
    event: Event
    solution: Solution
    place: int
    path: Path


Entries = tuple[Entry, ...]


def seen_from(entries: Sequence[Entry], path: Path, given: Mapping[str, Term]) -> dict[str, Term]:
    """The bindings as seen from a place in the iterations `path`.

    A variable first bound inside the repetition is bound afresh at each iteration; outside, it is its
    value at the last iteration, unbound if that left it unbound. What the asking place's own iterations
    bind comes before what is bound outside them.
    """
    latest = _latest(entries)
    visible: list[tuple[int, Entry]] = []
    for entry in entries:
        depth = _depth(entry.path, path, latest)
        if depth is not None:
            visible.append((depth, entry))
    bindings: dict[str, Term] = {}
    for _, entry in sorted(visible, key=lambda pair: -pair[0]):
        for name, term in entry.solution:
            bindings.setdefault(name, term)
    for name, term in given.items():
        bindings.setdefault(name, term)
    return bindings


def _latest(entries: Sequence[Entry]) -> dict[tuple[Path, int], int]:
    """Per repetition entered, its last iteration so far."""
    latest: dict[tuple[Path, int], int] = {}
    for entry in entries:
        for depth, (loop, iteration) in enumerate(entry.path):
            key = (entry.path[:depth], loop)
            latest[key] = max(iteration, latest.get(key, 0))
    return latest


def _depth(path: Path, asking: Path, latest: Mapping[tuple[Path, int], int]) -> int | None:
    """How many repetitions enclose both; None when the entry is in an iteration that cannot be seen."""
    here = dict(asking)
    shared = 0
    for depth, (loop, iteration) in enumerate(path):
        if loop in here:
            if here[loop] != iteration:
                return None
            shared += 1
        elif latest[path[:depth], loop] != iteration:
            return None
    return shared


def iterations(variable: str, entries: Sequence[Entry], path: Path, loops: frozenset[int]) -> list[Term | None]:
    """The values of a variable per iteration so far, the current one included, of the repetitions that bind it.

    `loops` are the innermost repetitions around the steps that bind the variable. They range over the
    whole match (an outer iteration does not reset them); iterations after the asking one are not seen.
    """
    reached: dict[Path, Term | None] = {}
    for entry in entries:
        for depth, (loop, _) in enumerate(entry.path, start=1):
            if loop in loops and not _later(entry.path[:depth], path):
                reached.setdefault(entry.path[:depth], None)
    for entry in entries:
        value = dict(entry.solution).get(variable)
        if entry.path in reached and value is not None:
            reached[entry.path] = value
    return list(reached.values())


def _later(instance: Path, asking: Path) -> bool:
    """Whether an iteration comes after the asking one in a repetition around both."""
    for (loop, iteration), (other, current) in zip(instance, asking, strict=False):
        if loop != other:
            return False
        if iteration != current:
            return iteration > current
    return False


def with_binds(scope: Scope, binds: Sequence[ast.Projection]) -> Scope:
    """The scope of a complete match with the BINDs beside the DEFINEs, in the order written; errors stay unbound."""
    for bind in binds:
        assert bind.expression is not None
        value = value_or_none(bind.expression, scope)
        bound = {} if value is None else {bind.variable: value}
        scope = replace(scope, bindings={**scope.bindings, **bound})
    return scope


def scope_of(
    entries: Sequence[Entry], path: Path, given: Mapping[str, Term], loops: Mapping[str, frozenset[int]]
) -> Scope:
    """The scope of an expression at a place of the match, EXISTS apart."""
    return Scope(
        seen_from(entries, path, given),
        lambda variable: iterations(variable, entries, path, loops.get(variable, frozenset())),
    )
