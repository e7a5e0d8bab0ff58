"""From runs that have ended to matches in report order: negation, selection, AFTER MATCH (LANGUAGE 3.4-3.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from automata.absence import Absences, Obligation
from automata.core import Core, Ended
from automata.matches import Reader
from automata.nfa import Automaton
from automata.program import Host, Ids, Match, Program, Selector, Skip
from automata.runs import FIRST, FIRST_RANK, HIGH, HIGH_TIME, PARTITION, RANK
from automata.selection import AfterMatch, Candidate, report_order, select
from automata.timeline import Timeline

_AT_END = (np.iinfo(np.int64).max, 2)
_BEFORE, _AT, _AFTER = 0, 1, 2
"""Where a moment stands among the events of its time."""


@dataclass(slots=True)
class Pending:
    """A match that a trailing negation may still remove.

    deadline    the last time (or rank) at which it may
    """

    row: int
    obligations: list[Obligation]
    deadline: int


class Reporter:
    """Holds what cannot be reported yet."""

    def __init__(
        self, program: Program, automaton: Automaton, core: Core, absences: Absences, reader: Reader, host: Host
    ) -> None:
        self._program = program
        self._automaton = automaton
        self._core = core
        self._absences = absences
        self._reader = reader
        self._host = host
        self._after = AfterMatch(program.skip)
        self._pending: list[Pending] = []
        self._held: list[Candidate] = []
        self._seen: dict[tuple[tuple[int, int, int], ...], int] = {}
        self._trails = any(accept.passed for accept in automaton.accepts)
        self._in_turn = program.selector is not Selector.ALL or program.skip is not Skip.NO_SKIP

    def report(self, ended: list[Ended], time: int, timeline: Timeline) -> list[Match]:
        """What can be reported once the stretch up to `time` has been taken in."""
        survivors = self._survivors(ended)
        ready = self._candidates(self._pass(time, timeline) + survivors)
        return self._release(ready, final=False)

    def finish(self) -> list[Match]:
        """Everything that is left."""
        rows = [(p.row, _AT_END) for p in self._pending if not self._violated(p)]
        self._pending.clear()
        return self._release(self._candidates(rows), final=True)

    def held_rows(self) -> list[Ids]:
        """Rows that must outlive a compaction."""
        columns = [np.array([p.row for p in self._pending], dtype=np.int64)]
        columns += [
            np.array([getattr(o, name) for p in self._pending for o in p.obligations], dtype=np.int64)
            for name in ("after", "before", "seen_from")
        ]
        return [np.maximum(column, 0) for column in columns]

    def renumber(self, moved: list[Ids]) -> None:
        """After a compaction: the rows of `held_rows` under their new numbers."""
        rows, after, before, seen = (column.tolist() for column in moved)
        at = 0
        for number, pending in enumerate(self._pending):
            pending.row = rows[number]
            renumbered = []
            for obligation in pending.obligations:
                renumbered.append(
                    Obligation(
                        obligation.absence,
                        after[at] if obligation.after >= 0 else obligation.after,
                        before[at] if obligation.before >= 0 else obligation.before,
                        seen[at],
                    )
                )
                at += 1
            pending.obligations = renumbered

    def live_ids(self) -> list[Ids]:
        """Ids in matches that are held."""
        return [np.array([v for c in self._held for v in (*c.match.registers, *c.match.outputs)], dtype=np.int64)]

    def oldest_time(self) -> int:
        """The least time of a match that may still be reported."""
        times = [int(self._core.runs.table[p.row, HIGH_TIME]) for p in self._pending]
        times += [candidate.match.time for candidate in self._held]
        return min(times, default=np.iinfo(np.int64).max)

    def oldest_position(self) -> int:
        """The least position in a match that may still be reported."""
        firsts = [int(self._core.runs.table[p.row, FIRST]) for p in self._pending]
        firsts += [candidate.match.first for candidate in self._held]
        return min(firsts, default=np.iinfo(np.int64).max)

    def partitions(self) -> set[int]:
        """The partitions of what is held."""
        rows = [int(self._core.runs.table[p.row, PARTITION]) for p in self._pending]
        return {*rows, *(candidate.match.partition for candidate in self._held)}

    # --- negation ---------------------------------------------------------------------------------

    def _survivors(self, ended: list[Ended]) -> list[tuple[int, tuple[int, ...] | None]]:
        """Rows of matches that no inner negation removes; those with a trailing one go to the pending ones."""
        survivors: list[tuple[int, tuple[int, ...] | None]] = []
        for some in ended:
            rows = some.rows.tolist()
            if self._automaton.absences:
                rows = [row for row in rows if not self._inner_violated(row)]
            trailing = self._automaton.accepts[some.accept].passed
            for row in rows:
                if trailing:
                    obligations = self._absences.trailing(trailing, row)
                    deadline = self._absences.deadline(self._core.runs.table[row])
                    self._pending.append(Pending(row, obligations, deadline))
                else:
                    survivors.append((row, None))
        return survivors

    def _inner_violated(self, row: int) -> bool:
        return any(
            self._absences.violated(self._core.runs, row, obligation)
            for obligation in self._absences.inner(self._core.runs, row)
        )

    def _violated(self, pending: Pending) -> bool:
        return any(self._absences.violated(self._core.runs, pending.row, o) for o in pending.obligations)

    def _pass(self, time: int, timeline: Timeline) -> list[tuple[int, tuple[int, ...] | None]]:
        """Rows of pending matches whose window has passed."""
        passed: list[tuple[int, tuple[int, ...] | None]] = []
        left = []
        for pending in self._pending:
            if not self._over(pending, time, timeline):
                left.append(pending)
            elif not self._violated(pending):
                sliding_time = self._program.window.sliding and not self._program.window.in_events
                moment = (pending.deadline, _AFTER) if sliding_time else (pending.deadline + 1, _BEFORE)
                passed.append((pending.row, moment))
        self._pending = left
        return passed

    def _over(self, pending: Pending, time: int, timeline: Timeline) -> bool:
        if self._program.window.in_events:
            partition = int(self._core.runs.table[pending.row, PARTITION])
            return timeline.rank(partition) > pending.deadline + 1
        return time > pending.deadline

    # --- selection and order ----------------------------------------------------------------------

    def _candidates(self, rows: Sequence[tuple[int, tuple[int, ...] | None]]) -> list[Candidate]:
        """Each match once, with its moment."""
        matches = self._reader.read(np.array([row for row, _ in rows], dtype=np.int64))
        in_events = self._program.window.in_events
        candidates = []
        for (row, moment), match in zip(rows, matches, strict=True):
            if match.entries in self._seen:
                continue
            self._seen[match.entries] = match.last
            first_rank, last_rank = self._core.runs.table[row, [FIRST_RANK, RANK]].tolist()
            positions = frozenset(position for _, position, _ in match.entries)
            gapless = last_rank - first_rank + 1 == len(positions)
            candidates.append(
                Candidate(match, positions, gapless, moment or (last_rank if in_events else match.time, _AT))
            )
        self._forget_seen()
        return candidates

    def _forget_seen(self) -> None:
        """A match is found again only at its own last event, or with another deadline of the same one."""
        oldest = min([int(self._core.runs.table[p.row, HIGH]) for p in self._pending], default=None)
        if oldest is None:
            self._seen.clear()
        else:
            self._seen = {entries: last for entries, last in self._seen.items() if last >= oldest}

    def _release(self, ready: list[Candidate], final: bool) -> list[Match]:
        if not self._in_turn:
            return [candidate.match for candidate in sorted(ready, key=report_order)]
        self._held += ready
        groups = self._resolved_groups(final)
        chosen = [c for group in groups for c in select(self._program.selector, group)]
        ordered = self._in_order(chosen)
        if self._program.skip is Skip.CONSUME_ALL:
            ordered.sort(key=lambda candidate: candidate.match.last)
        return [candidate.match for candidate in self._after.admit(ordered)]

    def _in_order(self, candidates: list[Candidate]) -> list[Candidate]:
        """Report order, to the last: matches of the same events by what they project."""
        ordered = sorted(candidates, key=report_order)
        for _, ties in groupby(range(len(ordered)), key=lambda number: report_order(ordered[number])):
            numbers = list(ties)
            if len(numbers) > 1:
                tied = [ordered[number] for number in numbers]
                texts = self._host.texts([candidate.match for candidate in tied])
                chosen = sorted(range(len(tied)), key=texts.__getitem__)
                ordered[numbers[0] : numbers[-1] + 1] = [tied[number] for number in chosen]
        return ordered

    def _resolved_groups(self, final: bool) -> Iterable[list[Candidate]]:
        """Takes from the held candidates the groups that nothing unresolved can still change or precede."""
        groups: dict[tuple[int, int], list[Candidate]] = {}
        for candidate in self._held:
            groups.setdefault((candidate.match.partition, candidate.match.last), []).append(candidate)
        open_lasts: dict[int, int] = {}
        if not final:
            for pending in self._pending:
                row = self._core.runs.table[pending.row]
                partition, last = int(row[PARTITION]), int(row[HIGH])
                open_lasts[partition] = min(last, open_lasts.get(partition, last))
        resolved = [
            group
            for (partition, last), group in groups.items()
            if partition not in open_lasts or last < open_lasts[partition]
        ]
        taken = {id(candidate) for group in resolved for candidate in group}
        self._held = [candidate for candidate in self._held if id(candidate) not in taken]
        return resolved
