"""The values of a variable at each iteration, read off the chain of one run (specification 3.2.7).

The slow way to what `automata.chains.iteration` reads off pointers and registers: for the variables of `Plan.walked`,
and from inside a repetition that has moved on, where iterations after the own one are not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.chains import columns as col
from automata.chains.lookback import Lookback
from automata.chains.table import Runs
from automata.plan.plan import Plan, PlannedEdge
from automata.values import NONE, UNBOUND, Ids, Mask

_Path = tuple[tuple[int, int], ...]
"""An iteration: (repetition, number of the step that began it), outermost first."""


@dataclass(frozen=True, slots=True)
class Taking:
    """The step that each of some runs is taking and that has no row yet.

    registers   int64[n, variables], once it has been taken
    told        see `bindings.told`
    """

    edge: PlannedEdge
    registers: NDArray[np.int64]
    told: Mapping[int, Mask]

    def take(self, rows: Ids | Mask) -> Taking:
        """These runs."""
        return Taking(self.edge, self.registers[rows], {v: binds[rows] for v, binds in self.told.items()})


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a run; `row` is NONE where it has none yet.

    value   of the variable that is read; UNBOUND: the run has not bound it
    own     the step itself has bound it
    """

    row: int
    path: _Path
    value: int
    own: bool


@dataclass(frozen=True, slots=True)
class Asker:
    """The place inside repetitions that iterations are seen from: `row` is of a step in its iterations.

    depth   the number of repetitions around it
    """

    row: int
    depth: int


@dataclass(frozen=True, slots=True)
class Series:
    """The values of a variable, one for each iteration seen, in the order in which these began.

    values      UNBOUND where an iteration has bound none
    current     the place of the one that the asker itself stands in; NONE: there is none
    outside     the value that a step outside of repetitions has bound, or UNBOUND
    """

    values: list[int]
    current: int
    outside: int


@dataclass(frozen=True, slots=True)
class SeriesReader:
    """Reads the chains of the runs of one plan."""

    plan: Plan
    runs: Runs
    lookback: Lookback

    def read(self, variable: int, row: int, taking: Taking | None, run: int, asker: Asker | None) -> Series:
        """The values of a variable in one run.

        row     the last one, or the one from which the run takes a step: number `run` of `taking`
        asker   iterations after its own are left out; None: it stands outside of repetitions
        """
        domain, walked = self.plan.domains[self.plan.domain_of[variable]], variable in self.plan.walked
        steps = list(self._steps(variable, row, taking, run))
        asking: _Path = ()
        if asker is not None:
            (asking,) = (step.path[: asker.depth] for step in steps if step.row == asker.row)
        values: dict[_Path, int] = {}
        outside = UNBOUND
        for step in steps:
            for depth, (repetition, _) in enumerate(step.path, start=1):
                iteration = step.path[:depth]
                if repetition in domain and not _is_later(iteration, asking):
                    values.setdefault(iteration, UNBOUND)
                    if step.value != UNBOUND and (not walked or (step.own and iteration == step.path)):
                        values[iteration] = step.value
            if step.own and not step.path:
                outside = step.value
        return Series(list(values.values()), list(values).index(asking) if asking in values else NONE, outside)

    def _steps(self, variable: int, row: int, taking: Taking | None, run: int) -> Iterator[_Step]:
        """The steps of a run in the order of its chain, then the one that it is taking."""
        begun: dict[int, dict[int, int]] = {NONE: {}}
        chain = self.lookback.chain(row)
        for number, each in enumerate(chain):
            parent, source, edge, state = self.runs.table[each, [col.PARENT, col.SOURCE, col.EDGE, col.STATE]].tolist()
            crossed = () if edge == NONE else _begun(self.plan.edges[edge])
            begun[each] = begun[parent if edge == NONE else source] | dict.fromkeys(crossed, number)
            if state != NONE and self.plan.positions[state].symbols:
                value = int(self.runs.table[each, col.FIXED + variable])
                own = variable in self.lookback.bound_by(each)
                yield _Step(each, self._path(state, begun[each]), value, own)
        if taking is not None:
            target, value = taking.edge.target, int(taking.registers[run, variable])
            own = value != UNBOUND and variable in self.plan.positions[target].scope
            own = own and bool(taking.told[variable][run] if variable in taking.told else True)
            around = begun[row] | dict.fromkeys(_begun(taking.edge), len(chain))
            yield _Step(NONE, self._path(target, around), value, own)

    def _path(self, position: int, begun: Mapping[int, int]) -> _Path:
        return tuple((repetition, begun[repetition]) for repetition in self.plan.positions[position].repetitions)


def _begun(edge: PlannedEdge) -> Sequence[int]:
    """The repetitions of which an iteration begins where the edge is taken."""
    return edge.enters if edge.loop == NONE else (edge.loop, *edge.enters)


def _is_later(iteration: _Path, asking: _Path) -> bool:
    """True if an iteration comes after the asking one in a repetition around both."""
    for (repetition, begun), (other, current) in zip(iteration, asking, strict=False):
        if repetition != other:
            return False
        if begun != current:
            return begun > current
    return False
