"""From runs that have ended to matches in report order: negation, selection, AFTER MATCH (specification 3.4-3.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from automata.chains.store import AcceptedRuns, ChainStore
from automata.chains.table import FIRST, FIRST_RANK, HIGH, HIGH_TIME, PARTITION, RANK
from automata.matches.match_table import in_order
from automata.matches.negation import NegationIndex
from automata.matches.negation_intervals import inner_intervals, trailing_intervals
from automata.matches.pending import PendingMatches
from automata.matches.reader import Reader
from automata.matches.selection import AFTER, AT, BEFORE, AfterMatch, Candidate, in_report_order, report_order, select
from automata.plan.automaton import Automaton
from automata.plan.program import ConditionEvaluator, Program, Selector, Skip
from automata.slices.timeline import Timeline
from automata.values import Ids, Mask, Match

_AT_END = (np.iinfo(np.int64).max, 2)
_Reported = tuple[int, tuple[int, ...] | None]
"""The last row of a match, and its moment where that is not its last event."""


class Reporter:
    """Holds what cannot be reported yet."""

    def __init__(
        self,
        program: Program,
        automaton: Automaton,
        core: ChainStore,
        negations: NegationIndex,
        reader: Reader,
        condition_evaluator: ConditionEvaluator,
    ) -> None:
        self._program = program
        self._automaton = automaton
        self._core = core
        self._negations = negations
        self._reader = reader
        self._condition_evaluator = condition_evaluator
        self.after = AfterMatch(program.skip)
        self.pending = PendingMatches()
        self._trails = any(accept.passed for accept in automaton.accepts)
        self.held: list[Candidate] = []
        self.seen: dict[tuple[tuple[int, int, int], ...], int] = {}
        self._in_turn = program.selector is not Selector.ALL or program.skip is not Skip.NO_SKIP

    @property
    def idle(self) -> bool:
        """Whether no match waits for anything."""
        return not self.held and not len(self.pending)

    def report(self, ended: list[AcceptedRuns], time: int, timeline: Timeline) -> Sequence[Match]:
        """What can be reported once the slice up to `time` has been taken in."""
        if not (self._in_turn or self._trails):
            return in_order(self._reader.table(self._unviolated(ended)))
        survivors = self._survivors(ended)
        ready = self._candidates(self._pass(time, timeline) + survivors)
        return self.release(ready)

    def finish(self) -> list[Match]:
        """Everything that is left."""
        left = self.pending.pop(np.ones(len(self.pending), dtype=np.bool_))
        rows = [(row, _AT_END) for row in left.rows[~self._removed(left)].tolist()]
        return self.release(self._candidates(rows), final=True)

    def held_rows(self) -> list[Ids]:
        """Rows that must outlive a compaction."""
        return [self.pending.rows]

    def renumber(self, moved: list[Ids]) -> None:
        """After a compaction: the rows of `held_rows` under their new numbers."""
        (self.pending.rows,) = moved

    def live_ids(self) -> list[Ids]:
        """Ids in matches that are held."""
        return [np.array([v for c in self.held for v in (*c.match.registers, *c.match.outputs)], dtype=np.int64)]

    def oldest_time(self) -> int:
        """The least time of a match that may still be reported."""
        return self._oldest(HIGH_TIME, [candidate.match.time for candidate in self.held])

    def oldest_position(self) -> int:
        """The least position in a match that may still be reported."""
        return self._oldest(FIRST, [candidate.match.first for candidate in self.held])

    def firsts(self) -> list[tuple[Ids, Ids]]:
        """Partitions and first positions of matches that may still be reported."""
        pending = self._core.runs.table[self.pending.rows]
        held = np.array([(c.match.partition, c.match.first) for c in self.held], dtype=np.int64).reshape(-1, 2)
        return [(pending[:, PARTITION], pending[:, FIRST]), (held[:, 0], held[:, 1])]

    def partitions(self) -> set[int]:
        """The partitions of what is held."""
        pending = self._core.runs.column(self.pending.rows, PARTITION).tolist()
        return {*pending, *(candidate.match.partition for candidate in self.held)}

    def _oldest(self, column: int, held: list[int]) -> int:
        pending = self._core.runs.column(self.pending.rows, column)
        return min([*held, *([int(pending.min())] if len(pending) else [])], default=np.iinfo(np.int64).max)

    # --- negation ---------------------------------------------------------------------------------

    def _survivors(self, ended: list[AcceptedRuns]) -> list[_Reported]:
        """Rows of matches that no inner negation removes; those with a trailing one go to the pending ones."""
        survivors: list[_Reported] = []
        for some in ended:
            rows = self._unviolated([some])
            if self._automaton.accepts[some.accept].passed:
                self.pending.add(rows, some.accept, self._negations.deadlines(self._core.runs.table[rows]))
            else:
                survivors += [(row, None) for row in rows.tolist()]
        return survivors

    def _unviolated(self, ended: list[AcceptedRuns]) -> Ids:
        """Rows of matches that no inner negation removes."""
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(some.rows for some in ended)])
        if not self._automaton.negations or all(some.free for some in ended):
            return rows
        runs = self._core.runs
        return rows[
            ~self._negations.violated(runs, rows, inner_intervals(self._automaton, runs, self._core.layout, rows))
        ]

    def _removed(self, pending: PendingMatches) -> Mask:
        """Which matches their trailing negations remove."""
        removed = np.zeros(len(pending), dtype=np.bool_)
        for accept in np.unique(pending.accepts).tolist():
            here = np.flatnonzero(pending.accepts == accept)
            intervals = trailing_intervals(self._automaton.accepts[accept].passed, pending.rows[here])
            removed[here] = self._negations.violated(self._core.runs, pending.rows[here], intervals)
        return removed

    def _pass(self, time: int, timeline: Timeline) -> list[_Reported]:
        """Rows of pending matches whose window has passed."""
        if not len(self.pending):
            return []
        over = self.pending.pop(self.over(time, timeline))
        kept = ~self._removed(over)
        sliding_time = self._program.window.sliding and not self._program.window.in_events
        place = (0, AFTER) if sliding_time else (1, BEFORE)
        moments = ((deadline + place[0], place[1]) for deadline in over.deadlines[kept].tolist())
        return list(zip(over.rows[kept].tolist(), moments, strict=True))

    def over(self, time: int, timeline: Timeline) -> Mask:
        """Which pending matches' windows have passed."""
        if not self._program.window.in_events:
            return self.pending.deadlines < time
        partitions = self._core.runs.column(self.pending.rows, PARTITION).tolist()
        ranks = np.array([timeline.rank(partition) for partition in partitions], dtype=np.int64)
        return ranks > self.pending.deadlines + 1

    # --- selection and order ----------------------------------------------------------------------

    def _candidates(self, rows: Sequence[_Reported]) -> list[Candidate]:
        """Each match once, with its moment."""
        numbers = np.array([row for row, _ in rows], dtype=np.int64)
        ranks = self._core.runs.table[numbers][:, (FIRST_RANK, RANK)].tolist()
        in_events = self._program.window.in_events
        candidates = []
        for (_, moment), (first_rank, last_rank), match in zip(rows, ranks, self._reader.read(numbers), strict=True):
            if match.entries in self.seen:
                continue
            self.seen[match.entries] = match.last
            positions = frozenset([position for _, position, _ in match.entries])
            gapless = last_rank - first_rank + 1 == len(positions)
            clock = (last_rank if self._trails else match.last) if in_events else match.time
            candidates.append(Candidate(match, positions, gapless, moment or (clock, AT)))
        self.forget_seen()
        return candidates

    def forget_seen(self) -> None:
        """A match is found again only at its own last event, or with another deadline of the same one."""
        if len(self.pending):
            oldest = int(self._core.runs.column(self.pending.rows, HIGH).min())
            self.seen = {entries: last for entries, last in self.seen.items() if last >= oldest}
        else:
            self.seen.clear()

    def release(self, ready: list[Candidate], final: bool = False) -> list[Match]:
        """The matches of these candidates and of those held before; the order of work of specification 3.4."""
        if not self._in_turn:
            return [candidate.match for candidate in sorted(ready, key=report_order)]
        self.held += ready
        groups = self._resolved_groups(final)
        chosen = [c for group in groups for c in select(self._program.selector, group)]
        ordered = in_report_order(chosen, self._condition_evaluator.texts)
        if self._program.skip is not Skip.CONSUME_ALL:
            return [candidate.match for candidate in self.after.admit(ordered)]
        admitted = set(map(id, self.after.admit(sorted(ordered, key=lambda candidate: candidate.match.last))))
        return [candidate.match for candidate in ordered if id(candidate) in admitted]

    def _resolved_groups(self, final: bool) -> Iterable[list[Candidate]]:
        """Takes from the held candidates the groups that nothing unresolved can still change or precede."""
        groups: dict[tuple[int, int], list[Candidate]] = {}
        for candidate in self.held:
            groups.setdefault((candidate.match.partition, candidate.match.last), []).append(candidate)
        if final or not len(self.pending):
            self.held = []
            return groups.values()
        open_lasts: dict[int, int] = {}
        pending = self._core.runs.table[self.pending.rows]
        for partition, last in pending[:, (PARTITION, HIGH)].tolist():
            open_lasts[partition] = min(last, open_lasts.get(partition, last))
        resolved = [
            group
            for (partition, last), group in groups.items()
            if partition not in open_lasts or last < open_lasts[partition]
        ]
        taken = {id(candidate) for group in resolved for candidate in group}
        self.held = [candidate for candidate in self.held if id(candidate) not in taken]
        return resolved
