"""From runs that have ended to matches in report order: negation, selection, AFTER MATCH (specification 3.4-3.5)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

import numpy as np

from arrays.times import AFTER_ALL, BEFORE_ALL, later
from automata.chains import columns as col
from automata.chains.store import AcceptedRuns, ChainStore
from automata.matches.column_selection import selected
from automata.matches.match_table import MatchTable, in_order
from automata.matches.negation import NegationIndex
from automata.matches.negation_intervals import inner_intervals, trailing_intervals
from automata.matches.pending import PendingMatches
from automata.matches.possession import Possession
from automata.matches.reader import read_matches
from automata.matches.selection import AT_END, AfterMatch, Candidate, candidate_of, report_order
from automata.matches.ways import WayOrder
from automata.plan.program import ConditionEvaluator, Skip
from automata.slices.timeline import Timeline
from automata.values import Ids, Mask, Match

_Decided = tuple[int, int | None]
"""The last row of a match, and when it is decided if not by its last event."""
_NEVER = AT_END + 1
_decision, _last_position = attrgetter("decided"), attrgetter("match.last")


class Reporter:
    """Complete matches until they are reported.

    pending     those that a trailing negation, or what extends a possessive repetition, may still remove
    held        those that wait for others of the same or an earlier triggering event (specification 3.4)
    ready       those that will be reported, once no other can precede them in report order
    ways        the order of several ways to one match
    """

    def __init__(self, core: ChainStore, negations: NegationIndex, condition_evaluator: ConditionEvaluator) -> None:
        self._plan = core.plan
        program = self._program = core.plan.program
        self._core = core
        self._negations = negations
        self._possession = Possession(core, negations)
        self._condition_evaluator = condition_evaluator
        self.after = AfterMatch(program.skip, program.skip_to)
        self.pending = PendingMatches()
        self._trails = core.plan.trails
        self.held: list[Candidate] = []
        self.ready: list[Candidate] = []
        self.seen: dict[tuple[tuple[int, int, int], ...], int] = {}
        self._in_turn = core.plan.selects
        self.ways = WayOrder(core.plan)
        self._after_deadline = 0 if program.window.sliding else 1

    @property
    def idle(self) -> bool:
        """True if no match waits for anything."""
        return not (self.held or self.ready or len(self.pending))

    def report(self, ended: list[AcceptedRuns], time: int, timeline: Timeline) -> Sequence[Match]:
        """The matches that can be reported once the slice up to `time` has been consumed."""
        if not self._trails and self._program.skip is Skip.NO_SKIP:
            rows = self._unviolated(ended)
            if self.ways.several:
                rows = rows[self.ways.ordered(self._core.runs, rows)]
            if (table := self._selected(rows)) is not None:
                return in_order(table)
            return self.release(self._candidates([(row, None) for row in rows.tolist()]), _NEVER)
        survivors = self._survivors(ended)
        self._drop_extended()
        candidates = self._candidates(survivors + self._pass(time, timeline))
        return self.release(candidates, self.next_decision(time, self.earliest()), self._first_of)

    def earliest(self) -> int:
        """The first time at which the window or a limit decides a pending match; AFTER_ALL of none."""
        return self.pending.earliest(self._after_deadline)

    def finish(self) -> list[Match]:
        """Everything that is left."""
        left = self.pending.pop(np.ones(len(self.pending), dtype=np.bool_))
        rows = [(row, AT_END) for row in left.rows[~self._removed(left)].tolist()]
        return self.release(self._candidates(rows), _NEVER)

    def lasts_before(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Partition → the last position before the given one at which a match ends that is reported or may be."""
        pending = self._core.runs.table[self.pending.rows]
        ends = [(match.partition, match.last) for match in self._waiting()]
        found = dict(self.after.lasts)
        for partition, end in (*ends, *pending[:, (col.PARTITION, col.HIGH)].tolist()):
            if end < positions.get(partition, -1):
                found[partition] = max(end, found.get(partition, -1))
        return found

    def live_ids(self) -> list[Ids]:
        """Ids in matches that are held."""
        return [np.array([v for match in self._waiting() for v in (*match.registers, *match.outputs)], dtype=np.int64)]

    def oldest_time(self) -> int:
        """The least time of a match that may still be reported."""
        return self._oldest(col.HIGH_TIME, [match.time for match in self._waiting()])

    def oldest_position(self) -> int:
        """The least position in a match that may still be reported."""
        return self._oldest(col.FIRST, [match.first for match in self._waiting()])

    def firsts(self) -> list[tuple[Ids, Ids]]:
        """Partitions and first positions of matches that may still be reported."""
        pending = self._core.runs.table[self.pending.rows]
        held = np.array([(match.partition, match.first) for match in self._waiting()], dtype=np.int64).reshape(-1, 2)
        return [(pending[:, col.PARTITION], pending[:, col.FIRST]), (held[:, 0], held[:, 1])]

    def partitions(self) -> set[int]:
        """The partitions of what is held."""
        pending = self._core.runs.column(self.pending.rows, col.PARTITION).tolist()
        return {*pending, *(match.partition for match in self._waiting())}

    def _waiting(self) -> list[Match]:
        return [candidate.match for candidate in (*self.held, *self.ready)]

    def _oldest(self, column: int, held: list[int]) -> int:
        pending = self._core.runs.column(self.pending.rows, column)
        return min([*held, *([int(pending.min())] if len(pending) else [])], default=AFTER_ALL)

    # --- negation ---------------------------------------------------------------------------------

    def _survivors(self, ended: list[AcceptedRuns]) -> list[_Decided]:
        """Rows of matches that no inner negation removes; those with a trailing one go to the pending ones."""
        survivors: list[_Decided] = []
        for some in ended:
            rows = self._unviolated([some])
            limits = self._limits(rows, some.accept)
            waits = limits > BEFORE_ALL
            deadlines = self._negations.deadlines(self._core.runs.table[rows[waits]])
            self.pending.add(rows[waits], some.accept, deadlines, limits[waits])
            survivors += [(row, None) for row in rows[~waits].tolist()]
        return survivors

    def _unviolated(self, ended: list[AcceptedRuns]) -> Ids:
        """Rows of matches that neither an inner negation nor a possessive repetition that goes on removes."""
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(some.rows for some in ended)])
        if self._plan.possessive:
            rows = rows[~self._possession.violated(rows)]
        if not self._plan.negations or all(some.free for some in ended):
            return rows
        runs = self._core.runs
        return rows[~self._negations.violated(rows, inner_intervals(self._plan, runs, rows))]

    def _limits(self, rows: Ids, accept: int) -> Ids:
        """The last times, window aside, at which something at their ends may remove matches; BEFORE_ALL: nothing."""
        negated, patience = bool(self._plan.accepts[accept].passed), self._plan.patience[accept]
        limits = np.full(len(rows), AFTER_ALL if negated else BEFORE_ALL, dtype=np.int64)
        if negated and patience is not None:
            limits = later(self._core.runs.column(rows, col.HIGH_TIME), patience)
        return np.maximum(limits, self._possession.limits(rows, accept)) if self._plan.possessive else limits

    def _removed(self, pending: PendingMatches) -> Mask:
        """Mask of the matches that trailing negations remove, or a possessive repetition at the end that goes on."""
        removed = np.zeros(len(pending), dtype=np.bool_)
        for accept in np.unique(pending.accepts).tolist():
            here = np.flatnonzero(pending.accepts == accept)
            intervals = trailing_intervals(self._plan.accepts[accept].passed, pending.rows[here])
            removed[here] = self._negations.violated(pending.rows[here], intervals)
            removed[here] |= self._possession.extended(pending.rows[here], accept)
        return removed

    def _drop_extended(self) -> None:
        """Drops pending matches that cannot be reported any more: their possessive repetitions have gone on."""
        if self._possession.definite and len(self.pending):
            extended = np.zeros(len(self.pending), dtype=np.bool_)
            for accept in np.unique(self.pending.accepts).tolist():
                here = np.flatnonzero(self.pending.accepts == accept)
                extended[here] = self._possession.extended(self.pending.rows[here], accept)
            if extended.any():
                self.pending.pop(extended)

    def _pass(self, time: int, timeline: Timeline) -> list[_Decided]:
        """Rows of pending matches whose window has passed."""
        if not len(self.pending):
            return []
        over = self.pending.pop((self.pending.limits < time) | self._over(self.pending, time, timeline))
        over = over.pop(~self._removed(over))
        decided = self._decided(over, time, timeline)
        order = np.argsort(decided, kind="stable")
        return list(zip(over.rows[order].tolist(), decided[order].tolist(), strict=True))

    def _decided(self, over: PendingMatches, time: int, timeline: Timeline) -> Ids:
        """The times at which matches are decided by limits, the end of their windows, or the first events past them."""
        if not self._program.window.in_events:
            return np.minimum(over.deadlines + self._after_deadline, over.limits)
        decided, passed = over.limits.copy(), self._over(over, time, timeline)
        partitions = self._core.runs.column(over.rows[passed], col.PARTITION)
        decided[passed] = np.minimum(decided[passed], timeline.times_at(partitions, over.deadlines[passed] + 1))
        return decided

    def next_decision(self, time: int, earliest: int) -> int:
        """No pending match is decided at an earlier time.

        time        no event before it is to come
        earliest    the first time at which the window or a limit decides a pending match; AFTER_ALL of none
        """
        if earliest == AFTER_ALL:
            return _NEVER
        return time if self._program.window.in_events else earliest

    def _first_of(self, time: int) -> int:
        """The position where the first of the pending matches ends that may be decided at the next decision."""
        rows = self.pending.rows
        if not self._program.window.in_events:
            rows = rows[self.pending.decided(self._after_deadline) == time]
        return int(self._core.runs.column(rows, col.HIGH).min())

    def _over(self, pending: PendingMatches, time: int, timeline: Timeline) -> Mask:
        """Mask of the pending matches whose windows have passed."""
        if not self._program.window.in_events:
            return pending.deadlines < time
        partitions = self._core.runs.column(pending.rows, col.PARTITION).tolist()
        ranks = np.array([timeline.rank(partition) for partition in partitions], dtype=np.int64)
        return ranks > pending.deadlines + 1

    # --- selection and order ----------------------------------------------------------------------

    def _selected(self, rows: Ids) -> MatchTable | None:
        """The matches that the selector keeps of all that end in a slice, as far as columns tell."""
        runs = self._core.runs
        ranks = runs.column(rows, col.RANK) - runs.column(rows, col.FIRST_RANK) + 1
        return selected(read_matches(self._core, rows), self._program.selector, ranks)

    def _candidates(self, rows: Sequence[_Decided]) -> list[Candidate]:
        """Each match once, when it is decided first; of several ways to it by then, the first one."""
        numbers = np.array([row for row, _ in rows], dtype=np.int64)
        if self.ways.several:
            decisions = [BEFORE_ALL if decided is None else decided for _, decided in rows]
            order = self.ways.ordered(self._core.runs, numbers)
            order = order[np.argsort(np.array(decisions, dtype=np.int64)[order], kind="stable")]
            numbers, rows = numbers[order], [rows[place] for place in order.tolist()]
        ranks = self._core.runs.table[numbers][:, (col.FIRST_RANK, col.RANK)].tolist()
        candidates = []
        for (_, decided), (first_rank, last_rank), match in zip(
            rows, ranks, read_matches(self._core, numbers), strict=True
        ):
            if self.is_new(match):
                candidates.append(candidate_of(match, last_rank - first_rank + 1, decided))
        self.forget_seen()
        return candidates

    def is_new(self, match: Match) -> bool:
        """Notes a match. True if it had not been found before, with another deadline."""
        new = match.entries not in self.seen
        if new:
            self.seen[match.entries] = match.last
        return new

    def forget_seen(self) -> None:
        """A match is found again only at its own last event, or with another deadline of the same one."""
        if len(self.pending):
            oldest = int(self._core.runs.column(self.pending.rows, col.HIGH).min())
            self.seen = {entries: last for entries, last in self.seen.items() if last >= oldest}
        else:
            self.seen.clear()

    def release(
        self, decided: Sequence[Candidate], next_decision: int, first_of: Callable[[int], int] = lambda time: BEFORE_ALL
    ) -> list[Match]:
        """The matches that can be reported, in report order, now that these are decided.

        It does not depend on how events are batched: a match that is pending later ends after all that have ended.

        next_decision   no match that is pending now will be decided at an earlier time
        first_of        gives, for that time, the position where the first of the matches ends that it may decide
        """
        if self._in_turn:
            self.held += decided
            decided = self._chosen()
        reported = [*self.ready, *decided]
        if not reported:
            return []
        if len(reported) > 1:
            reported.sort(key=report_order)
        reportable = bisect_left(reported, next_decision, key=_decision)
        if reportable < len(reported) and _decision(reported[reportable]) == next_decision:
            first = first_of(next_decision)
            tied = bisect_right(reported, next_decision, key=_decision)
            reportable = bisect_left(reported, first, reportable, tied, key=_last_position)
        if self.held and reportable:
            least = min(map(report_order, self.held))
            reportable = min(reportable, bisect_left(reported, least, key=report_order))
        self.ready = reported[reportable:]
        return [
            match if decided == match.time else match._replace(decided=decided)
            for match, _, _, decided in reported[:reportable]
        ]

    def _chosen(self) -> list[Candidate]:
        """Takes from the held candidates those that no pending match comes before, and selects among them."""
        first: dict[int, int] = {}
        if len(self.pending):
            pending = self._core.runs.table[self.pending.rows]
            for partition, last in pending[:, (col.PARTITION, col.HIGH)].tolist():
                first[partition] = min(last, first.get(partition, last))
        complete: list[Candidate] = []
        held: list[Candidate] = []
        for candidate in self.held:
            match = candidate.match
            (complete if match.last < first.get(match.partition, _NEVER) else held).append(candidate)
        self.held = held
        return self.after.chosen(complete, self._program.selector, self._condition_evaluator.texts)
