"""The evaluator over complex event automata: constant time per event, output-linear delay (C Sections 3-4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automata.cea.applicability import why_not_cea
from automata.cea.core import CeaCore
from automata.cea.matches import MatchReader
from automata.cea.snapshot import core_state, restore_core
from automata.matches.selection import (
    AfterMatch,
    Candidate,
    after_state,
    in_report_order,
    report_order,
    restore_after,
    select,
)
from automata.plan.automaton import build_automaton
from automata.plan.facts import analyse
from automata.plan.program import ConditionEvaluator, Program, Selector, Skip
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids, Match


class CeaEvaluator:
    """Complex events of one program to which CEA applies; see `automata.protocol.Evaluator`.

    The automaton selects among markings with one start; `select` then chooses among the best of each start.
    """

    state_kind = "cea"
    """See `automata.state.Restorable`."""
    needs_whole_slots = False
    """See `automata.protocol.Evaluator`."""

    def __init__(self, program: Program, condition_evaluator: ConditionEvaluator) -> None:
        reason = why_not_cea(program)
        assert reason is None, reason
        automaton = build_automaton(program.expression)
        self._program = program
        self._condition_evaluator = condition_evaluator
        self._core = CeaCore(program)
        self._reader = MatchReader(self._core, automaton, analyse(program, automaton), program.variables)
        self._after = AfterMatch(program.skip)

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> list[Match]:
        """See `automata.protocol.Evaluator`."""
        matches: list[Match] = []
        for found in self._core.feed(events, solutions):
            matches += self._reader.read(found)
        chosen = self._chosen(matches)
        if len(events):
            self._forget(int(events.times[-1]))
        return chosen

    def on_watermark(self, time: int) -> list[Match]:
        """See `automata.protocol.Evaluator`."""
        self._forget(time)
        return []

    def finish(self) -> list[Match]:
        """See `automata.protocol.Evaluator`."""
        return []

    def live_ids(self) -> list[Ids]:
        """See `automata.protocol.Evaluator`."""
        return self._core.live_ids()

    def oldest_position(self) -> int:
        """See `automata.protocol.Evaluator`."""
        return self._core.oldest_position()

    def oldest_output_time(self, watermark: int) -> int:
        """See `automata.protocol.Evaluator`."""
        return watermark

    def snapshot(self) -> dict[str, Any]:
        """See `automata.state.Restorable`."""
        return {"core": core_state(self._core), "after": after_state(self._after)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `automata.state.Restorable`."""
        restore_core(self._core, state["core"])
        restore_after(self._after, state["after"])

    def _forget(self, time: int) -> None:
        self._core.forget(self._core.position if self._program.window.in_events else time)
        self._after.forget(self._core.oldest_position())

    def _chosen(self, matches: list[Match]) -> list[Match]:
        """The matches of a slice that selection and AFTER MATCH admit, in report order."""
        if self._program.selector not in (Selector.ALL, Selector.STRICT):
            matches = self._selected(matches)
        candidates = [_candidate(match) for match in matches]
        if self._program.skip is Skip.NO_SKIP:
            return [candidate.match for candidate in sorted(candidates, key=report_order)]
        ordered = in_report_order(candidates, self._condition_evaluator.texts)
        return [candidate.match for candidate in self._after.admit(ordered)]

    def _selected(self, matches: list[Match]) -> list[Match]:
        groups: dict[tuple[int, int], list[Candidate]] = {}
        for match in matches:
            groups.setdefault((match.partition, match.last), []).append(_candidate(match))
        return [c.match for group in groups.values() for c in select(self._program.selector, group)]


def _candidate(match: Match) -> Candidate:
    positions = frozenset(position for _, position, _ in match.entries)
    return Candidate(match, positions, gapless=False, moment=())
