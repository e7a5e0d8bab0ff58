"""From the columns of found matches to matches in report order: selection, AFTER MATCH (specification 3.4-3.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from automata.matches.match_table import MatchTable, in_order
from automata.matches.selection import AfterMatch, Candidate, candidate_of
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.registers.apply import ENTRIES, MATCHES, Output
from automata.registers.iterated import register_of
from automata.values import Ids, Match

_FACTS = 5
"""The columns of `Output.facts` that a match has."""


class MatchReporter:
    """Collects the matches of a slice; none is held from one slice to the next.

    All matches that end at one event are found when it is evaluated, so every group that selectors compare is complete.
    """

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator) -> None:
        program = plan.program
        self._program = program
        self._selects = plan.selects
        self._condition_evaluator = condition_evaluator
        self.after = AfterMatch(program.skip, program.skip_to)
        self._found: list[MatchTable] = []
        self._ranks: list[Ids] = []
        registers = register_of(program)
        self._outputs = [registers[reference] for reference in program.outputs]

    def collect(self, output: Output) -> None:
        """Takes the matches from the output and empties it."""
        count, used = int(output.counts[MATCHES]), int(output.counts[ENTRIES])
        output.counts[:] = 0
        facts, values = output.facts[:count].copy(), output.registers[:count].copy()
        first_ranks, last_ranks, ends = facts[:, _FACTS:].T
        variables = self._program.variables
        table = MatchTable(
            facts[:, :_FACTS], values[:, :variables], values[:, self._outputs], output.entries[:used].copy(), ends
        )
        self._found.append(table)
        self._ranks.append(last_ranks - first_ranks + 1)

    @property
    def collected(self) -> int:
        """The number of matches collected and not yet reported."""
        return sum(map(len, self._ranks))

    def report(self, oldest: int) -> Sequence[Match]:
        """The collected matches in report order; no later match begins before `oldest`."""
        found, ranks = MatchTable.concatenate(self._found), np.concatenate(self._ranks)
        self._found, self._ranks = [], []
        if not self._selects:
            return in_order(found)
        candidates = _distinct(found, ranks.tolist())
        chosen = self.after.chosen(candidates, self._program.selector, self._condition_evaluator.texts)
        self.after.forget(oldest)
        return [candidate.match for candidate in chosen]


def _distinct(found: Iterable[Match], ranks: Iterable[int]) -> list[Candidate]:
    """The distinct matches, each over so many events of its substream."""
    first: dict[tuple[tuple[int, int, int], ...], tuple[Match, int]] = {}
    for match, events in zip(found, ranks, strict=True):
        first.setdefault(match.entries, (match, events))
    return [candidate_of(match, events) for match, events in first.values()]
