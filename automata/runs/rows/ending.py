"""From accepted runs to matches in report order, for one event (specification 3.4-3.5).

Trailing negations, negated groups and members of ALL( ) are left to `automata.matches.reporting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from arrays.times import AFTER_ALL
from automata.chains import columns as col
from automata.chains.store import AcceptedRuns
from automata.matches.reporting import Reporter
from automata.matches.selection import Candidate, candidate_of, report_order
from automata.plan.automaton import START
from automata.plan.plan import Plan, walks
from automata.protocol import ALWAYS_DUE
from automata.runs.rows.all_join import steps_of_run
from automata.runs.rows.conditions import Conditions
from automata.runs.rows.negation import RowNegationIndex
from automata.runs.rows.store import Store
from automata.runs.rows.waiting import Reached, Waiting
from automata.slices.timeline import Timeline
from automata.values import Match


class Ending:
    """Reports the matches of one program while its runs are lists.

    trails      matches may wait for the end of their window
    """

    def __init__(self, reporter: Reporter, negations: RowNegationIndex, conditions: Conditions, store: Store) -> None:
        core, plan = store.core, store.core.plan
        self._reporter = reporter
        self._negations = negations
        self._store = store
        self._rows = store.rows
        self._registers = core.layout.registers
        self._outputs = conditions.readers(plan.program.outputs)
        self._negates = bool(plan.negations)
        in_columns = self._negates and (bool(plan.unordered) or not negations.simple)
        self._in_columns = in_columns or bool(plan.possessive) or walks(plan, plan.program.outputs)
        self._members = [core.layout.member(member) for member in range(core.layout.members)]
        self.trails = plan.trails
        self._in_turn = plan.selects
        unambiguous = _is_unambiguous(plan) and not plan.unordered
        self._plain = unambiguous and not (self._negates or self._in_turn or plan.possessive)
        self._ways = reporter.ways
        self._waiting = Waiting(reporter, negations, store, self._candidate)
        self._together = any(len(position.symbols) > 1 for position in plan.positions)

    def enter(self) -> None:
        """Take over the matches that wait, unless columns report."""
        if not self._in_columns:
            self._waiting.enter()

    def sync(self) -> None:
        """Let the reporter have them, too."""
        self._waiting.sync()

    def due(self) -> int:
        """As `automata.protocol.Evaluator`, of what waits."""
        if self._reporter.held or self._reporter.ready:
            return ALWAYS_DUE
        if not self._in_columns:
            return self._waiting.due()
        if len(self._reporter.pending) and self._store.core.plan.program.window.in_events:
            return ALWAYS_DUE
        return self._reporter.earliest()

    def matches(self, reached: Sequence[Reached], time: int, timeline: Timeline) -> Sequence[Match]:
        """The matches that can be reported once the event has been consumed."""
        if self._in_columns:
            if not reached and self._reporter.idle:
                return []
            self._store.sync()
            self._negations.sync()
            timeline.end_at(time)
            return self._reporter.report(_by_accept(reached), time, timeline)
        if not reached and not (self.trails and self._waiting.is_due(time, timeline)):
            return []
        if self._plain:
            return _in_order([self._match(row) for row, _ in reached])
        if self._ways.several:
            reached = sorted(reached, key=lambda each: self._ways.of_row(self._rows.__getitem__, each[0]))
        if self._negates:
            reached = [(row, accept) for row, accept in reached if not self._negations.violated(row)]
        if self.trails:
            return self._waiting.matches(reached, time, timeline)
        if self._in_turn:
            candidates = [self._candidate(row, None) for row, _ in reached]
            first: dict[object, Candidate] = {}
            for each in candidates:
                first.setdefault(each.match.entries, each)
            return self._reporter.release(list(first.values()), self._reporter.next_decision(time, AFTER_ALL))
        matches: dict[object, Match] = {}
        for row, _ in reached:
            match = self._match(row)
            matches.setdefault(match.entries, match)
        return _in_order(list(matches.values()))

    def _match(self, number: int) -> Match:
        row = self._rows[number]
        entries = steps_of_run(self._rows, self._members, number)
        if self._together or self._members:
            entries.sort(key=lambda entry: (entry[1], entry[0], entry[2]))
        else:
            entries.reverse()
        registers = tuple(row[self._registers])
        outputs = tuple([read(row, registers) for read in self._outputs])
        facts = row[col.FIRST], row[col.HIGH], row[col.FIRST_TIME], row[col.HIGH_TIME], row[col.PARTITION]
        return Match(tuple(entries), registers, outputs, *facts)

    def _candidate(self, number: int, decided: int | None) -> Candidate:
        """The match that ends at a row; where it is not said when it is decided, its last event decides it."""
        row = self._rows[number]
        return candidate_of(self._match(number), row[col.RANK] - row[col.FIRST_RANK] + 1, decided)


def _by_accept(reached: Sequence[Reached]) -> list[AcceptedRuns]:
    accepts = sorted({accept for _, accept in reached})
    return [
        AcceptedRuns(np.array([row for row, at in reached if at == accept], dtype=np.int64), accept)
        for accept in accepts
    ]


def _in_order(matches: list[Match]) -> list[Match]:
    """The matches in report order; all of them end with the same event."""
    if len(matches) < 2 or all(_same_events(matches[0], other) for other in matches[1:]):
        return matches
    places = [list(dict.fromkeys([position for _, position, _ in match.entries])) for match in matches]
    order = sorted(range(len(matches)), key=places.__getitem__)
    for number, other in pairwise(order):
        if places[number] == places[other] and not _same_events(matches[number], matches[other]):
            return [candidate.match for candidate in sorted(map(candidate_of, matches), key=report_order)]
    return [matches[number] for number in order]


def _same_events(one: Match, other: Match) -> bool:
    """True if two matches take the same events with the same steps."""
    if len(one.entries) != len(other.entries):
        return False
    for mine, theirs in zip(one.entries, other.entries, strict=True):
        if mine[1] != theirs[1] or mine[0] != theirs[0]:
            return False
    return True


def _is_unambiguous(plan: Plan) -> bool:
    """True if the steps and events of a run determine its edges: no match is reached twice."""
    symbols = [position.symbols for position in plan.positions[START + 1 :]]
    arcs = [(edge.source, edge.target) for edge in plan.edges]
    ends = [accept.position for accept in plan.accepts]
    alone = all(len(each) == 1 for each in symbols)
    return alone and len(set(symbols)) == len(symbols) and len(set(arcs)) == len(arcs) and len(set(ends)) == len(ends)
