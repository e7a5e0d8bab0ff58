"""Queries OVER MATCHES that are propagated together: from the solutions of all their GPMs to what each of them finds.

A query is in a group where it shares a pattern and the columns of its key with another one. Nothing of it is open when
it joins, so that its state is that of the group from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from automata.plan.keys import key_of
from automata.propagation.measures import Values
from automata.propagation.shared.equations import size_of
from automata.propagation.shared.members import Member
from automata.propagation.shared.shared_propagation import Left, SharedPropagation
from automata.propagation.windows import Found
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids
from sparql_gpm.bounds import TooManyTogether
from sparql_gpm.shared import Slice, StreamPattern
from spaseq.physical.propagation import Propagation
from spaseq.runtime.stages.pattern_stage import PatternStage
from spaseq.runtime.stages.propagated import Group, PropagatedMatches

SIZE_MAX = 1 << 13
"""Quantities of all windows of a group that may be open at once, before those that are equal are united."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """A pattern on its streams, with the columns of its solutions that are the key: a symbol of a group."""

    pattern: StreamPattern
    key: tuple[str, ...]


Bound = frozenset[tuple[Keyed, str]]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A query that may be in a group.

    symbols     the query's symbols → those of a group
    bound       measured variable → the columns that bind it, by which a group knows it
    """

    patterns: PatternStage
    matches: PropagatedMatches
    symbols: Mapping[int, Keyed]
    bound: Mapping[int, Bound]

    @property
    def planned(self) -> Propagation:
        """The propagation of the query."""
        return self.matches.planned


def candidate_of(patterns: PatternStage, matches: PropagatedMatches) -> Candidate:
    """The query of a pattern stage and an evaluator."""
    plan = matches.planned.plan
    sources = {symbol: patterns.solver.source(symbol) for symbol in sorted(plan.used | plan.negated)}
    key = key_of(plan)
    symbols = {s: Keyed(gpm, tuple([columns[v] for v in key])) for s, (gpm, columns) in sources.items()}
    bound = {
        variable: frozenset(
            (symbols[s], columns[variable]) for s, (_, columns) in sources.items() if variable in columns
        )
        for variable in dict.fromkeys(each.variable for each in matches.planned.measured)
    }
    return Candidate(patterns, matches, symbols, bound)


def grouped(candidates: Sequence[Candidate]) -> None:
    """Makes groups of two or more; each query is in the first one with which it has a symbol in common."""
    groups: list[_Growing] = []
    for each in candidates:
        symbols, program = frozenset(each.symbols.values()), each.planned.plan.program
        size = size_of(each.planned.plan, each.planned.measured) * -(-program.window.size // program.window.period)
        group = next((one for one in groups if one.takes(symbols, size)), None)
        if group is None:
            groups.append(_Growing([each], symbols, size))
        else:
            group.members.append(each)
            group.symbols |= symbols
            group.size += size
    for group in groups:
        if len(group.members) > 1:
            SharedMatches(group.members, group.members[0].matches.values)


@dataclass(slots=True)
class _Growing:
    members: list[Candidate]
    symbols: frozenset[Keyed]
    size: int

    def takes(self, symbols: frozenset[Keyed], size: int) -> bool:
        """True if a query with such symbols and quantities may be in it."""
        return not self.symbols.isdisjoint(symbols) and self.size + size <= SIZE_MAX


class SharedMatches(Group):
    """A group. Each slice is fed to it once, by whichever query reads it first, and then each query takes its own."""

    def __init__(self, candidates: Sequence[Candidate], values: Values) -> None:
        keyed = list(dict.fromkeys(each for one in candidates for each in one.symbols.values()))
        bound = list(dict.fromkeys(each for one in candidates for each in one.bound.values()))
        symbols = {each: number for number, each in enumerate(keyed)}
        key = len(keyed[0].key)
        variables = {each: key + number for number, each in enumerate(bound)}
        self._columns = {number: list(enumerate(each.key)) for each, number in symbols.items()}
        for each, variable in variables.items():
            for symbol, column in each:
                self._columns[symbols[symbol]].append((variable, column))
        self._keyed, self._patterns = keyed, candidates[0].patterns
        self._members = {number: each.matches for number, each in enumerate(candidates)}
        self._numbers = {matches: number for number, matches in self._members.items()}
        self._shared = SharedPropagation(
            [
                Member(
                    one.planned.plan,
                    one.planned.groups,
                    one.planned.measured,
                    {symbol: symbols[each] for symbol, each in one.symbols.items()},
                    {variable: variables[each] for variable, each in one.bound.items()},
                )
                for one in candidates
            ],
            len(keyed),
            key,
            values,
        )
        for matches in self._members.values():
            matches.join(self)

    def feed(self, slice_: Slice) -> None:
        """Takes a slice, unless it has been taken; a query that cannot stay goes on alone before it."""
        if len(slice_):
            slice_, events = self._patterns.seen(slice_)
            events.shared.once((self,), lambda: self._consume(slice_, events))

    def on_watermark(self, time: int) -> None:
        """No later event has a time up to `time`."""
        self._shared.on_watermark(time)

    def finish(self) -> None:
        """The input has ended."""
        self._shared.finish()

    def take(self, matches: PropagatedMatches) -> Sequence[Found]:
        """Return and forget the groups of a query found so far."""
        return self._shared.take(self._numbers[matches])

    def state_of(self, matches: PropagatedMatches) -> Left:
        """The state of a query, which stays."""
        return self._shared.state_of(self._numbers[matches])

    def drop(self, matches: PropagatedMatches) -> None:
        """A query has been stopped."""
        number = self._numbers.pop(matches)
        del self._members[number]
        self._shared.leave(number)

    def live_ids(self, matches: PropagatedMatches) -> list[Ids]:
        """Columns of every id that is still needed; the first query that is left tells those of all."""
        return self._shared.live_ids() if self._numbers[matches] == min(self._shared.members) else []

    def _consume(self, slice_: Slice, events: Events) -> None:
        left: Mapping[int, Left]
        try:
            with slice_.reporting():
                solutions = {number: self._solutions(slice_, number) for number in range(len(self._keyed))}
        except TooManyTogether:  # each query divides the slice in its own way
            left = {number: self._shared.leave(number) for number in self._shared.members}
        else:
            left = self._shared.on_batch(events, solutions)
        for number, state in left.items():
            matches = self._members.pop(number)
            del self._numbers[matches]
            matches.leave(state)

    def _solutions(self, slice_: Slice, number: int) -> SymbolSolutions:
        found = slice_.solutions(self._keyed[number].pattern)
        return SymbolSolutions(
            found.events, {variable: found.columns[name] for variable, name in self._columns[number]}
        )
