"""The evaluator over complex event automata: constant time per event, output-linear delay (C Sections 3-4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from automata import layouts
from automata.cea.applicability import why_not_cea
from automata.cea.core import CeaCore, ComplexEvents
from automata.cea.matches import MatchReader
from automata.cea.ordered import OrderedMatches
from automata.cea.snapshot import core_state, restore_core
from automata.matches.column_selection import selected
from automata.matches.match_table import MatchTable, all_of, in_order
from automata.matches.selection import AfterMatch, after_state, candidate_of, restore_after
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator, Selector, Skip
from automata.protocol import NEVER_DUE, InPieces, Restorable
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids, Match


class CeaEvaluator(Restorable, InPieces):
    """Complex events of one program to which CEA applies.

    The automaton selects among markings with one start, and for STRICT among all; `AfterMatch.chosen` then selects
    among the best of each start.
    """

    state_kind = layouts.CEA.name
    needs_whole_slots = False

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator) -> None:
        reason = why_not_cea(plan)
        assert reason is None, reason
        program = self._program = plan.program
        self._condition_evaluator = condition_evaluator
        self._core = CeaCore(plan)
        self._reader = MatchReader(self._core, plan)
        self._ordered = OrderedMatches(self._core, self._reader, program.check_runs)
        self._after = AfterMatch(program.skip, program.skip_to)
        self._selector = Selector.ALL if program.selector is Selector.STRICT else program.selector
        self._keeps_all = self._selector is Selector.ALL and program.skip is Skip.NO_SKIP

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        return all_of(list(self.pieces(events, solutions)))

    def pieces(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Iterator[Sequence[Match]]:
        """As `on_batch`, in pieces; all are read before the evaluator is asked anything else."""
        found = self._core.feed(events, solutions)
        yield from self._ordered.pieces(found) if self._keeps_all else self._selected(found)
        if len(events):
            self._forget(int(events.times[-1]))

    def _selected(self, found: Iterator[ComplexEvents]) -> Iterator[Sequence[Match]]:
        """The selected matches in report order."""
        tables: list[MatchTable] = []
        for some in found:
            tables += self._reader.read(some)
            self._program.check_runs(sum(map(len, tables)))
        if not tables:
            return
        whole = MatchTable.concatenate(tables)
        if self._program.skip is Skip.NO_SKIP and (table := selected(whole, self._selector)) is not None:
            yield in_order(table)
        else:
            candidates = map(candidate_of, whole)
            chosen = self._after.chosen(candidates, self._selector, self._condition_evaluator.texts)
            yield [candidate.match for candidate in chosen]

    def on_watermark(self, time: int) -> list[Match]:
        self._forget(time)
        return []

    def due(self) -> int:
        """Nothing but a solution gives a match."""
        return NEVER_DUE

    def skip(self, gap: Gap) -> None:
        """The next events, none of which has a solution."""
        self._core.position += gap.events
        self._forget(gap.time)

    def finish(self) -> list[Match]:
        return []

    @property
    def operations(self) -> int:
        """Nodes of tECS made so far."""
        return self._core.nodes_made

    def begin_at(self, position: int) -> None:
        """The first event has this position; nothing has been consumed before."""
        self._core.position = position

    @property
    def runs(self) -> int:
        return self._core.nodes

    def live_ids(self) -> list[Ids]:
        return self._core.live_ids()

    def oldest_position(self) -> int:
        return self._core.oldest_position()

    def oldest_output_time(self, watermark: int) -> int:
        return watermark

    def snapshot(self) -> dict[str, Any]:
        return layouts.CEA.written(core=core_state(self._core), after=after_state(self._after))

    def restore(self, state: Mapping[str, Any]) -> None:
        state = layouts.CEA.read(state)
        restore_core(self._core, state["core"])
        restore_after(self._after, state["after"])

    def _forget(self, time: int) -> None:
        self._core.forget(self._core.position if self._program.window.in_events else time)
        self._after.forget(self._core.oldest_position())
