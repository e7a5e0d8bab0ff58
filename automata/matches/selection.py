"""Selection among complex events, AFTER MATCH, and the order of reports (specification 3.4; B Section 4; C Section 5).

Matches arrive in groups that share partition and last position; a complex event is the set of its
positions in the partition's substream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from arrays.times import AFTER_ALL
from arrays.wanted import check_wanted
from automata import layouts
from automata.plan.program import Selector, Skip
from automata.state import pairs
from automata.values import NONE, Match

Texts = Callable[[Sequence[Match]], Sequence[tuple[str, ...]]]
"""The projected values of matches; see `automata.plan.program.ConditionEvaluator.texts`."""
AT_END = AFTER_ALL
"""The time at which the end of the input decides a match: later than all others."""


class Candidate(NamedTuple):
    """A decided match.

    match       the match
    positions   of its events
    gapless     they are an interval of the partition's substream
    decided     the event time from which no later event can remove it (specification 3.5.2)
    """

    match: Match
    positions: frozenset[int]
    gapless: bool
    decided: int


def candidate_of(match: Match, ranks: int = 0, decided: int | None = None) -> Candidate:
    """The candidate of a match over so many events of its substream (0: unknown); None: its last event decides it."""
    positions = frozenset([position for _, position, _ in match.entries])
    return Candidate(match, positions, ranks == len(positions), match.time if decided is None else decided)


def _selected(selector: Selector, candidates: Iterable[Candidate]) -> list[Candidate]:
    groups: dict[tuple[int, int], list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault((candidate.match.partition, candidate.match.last), []).append(candidate)
    return [candidate for group in groups.values() for candidate in select(selector, group)]


def select(selector: Selector, group: Sequence[Candidate]) -> list[Candidate]:
    """Those of the matches with one last position and partition that the selector keeps."""
    if selector is Selector.ALL:
        return list(group)
    if selector is Selector.STRICT:
        return [candidate for candidate in group if candidate.gapless]
    events = {candidate.positions for candidate in group}
    if len(events) == 1:
        return list(group)
    match selector:
        case Selector.NEXT:
            kept = {_best(events, min)}
        case Selector.LAST:
            kept = {_best(events, max)}
        case Selector.MAX:
            kept = {event for event in events if not any(event < other for other in events)}
    return [candidate for candidate in group if candidate.positions in kept]


def _best(events: set[frozenset[int]], decisive: Callable[[frozenset[int]], int]) -> frozenset[int]:
    """The complex event that, against every other, has the decisive position of those in which they differ."""
    best, *others = events
    for event in others:
        if decisive(best ^ event) in event:
            best = event
    return best


def report_order(candidate: Candidate) -> tuple[object, ...]:
    """The sort key of specification 3.5.2 up to the projected values; raises NotWanted."""
    check_wanted()
    match = candidate.match
    positions = sorted(candidate.positions)
    steps: list[list[int]] = [[] for _ in range(1 + max([symbol for symbol, _, _ in match.entries]))]
    for symbol, position, _ in match.entries:
        steps[symbol].append(position)
    return (candidate.decided, match.last, match.first, positions, steps)


def in_report_order(candidates: Iterable[Candidate], texts: Texts) -> list[Candidate]:
    """The candidates in report order, matches of the same events by what they project (specification 3.5)."""
    found = list(candidates)
    if len(found) < 2:
        return found
    places = [report_order(candidate) for candidate in found]
    ordered: list[Candidate] = []
    for _, ties in groupby(sorted(range(len(found)), key=places.__getitem__), key=places.__getitem__):
        tied = [found[number] for number in ties]
        if len(tied) > 1:
            projected = texts([candidate.match for candidate in tied])
            tied = [tied[number] for number in sorted(range(len(tied)), key=projected.__getitem__)]
        ordered += tied
    return ordered


class AfterMatch:
    """AFTER MATCH: remembers what earlier matches of each partition forbid.

    A partition's memory is one set or one position; `forget` drops what can no longer matter.

    lasts   no match may begin at or before this position
    """

    def __init__(self, skip: Skip, skip_to: int = NONE) -> None:
        self._skip = skip
        self._skip_to = skip_to
        self.firsts: dict[int, set[int]] = {}
        self.lasts: dict[int, int] = {}
        self.triggers: dict[int, tuple[int, int]] = {}

    def chosen(self, candidates: Iterable[Candidate], selector: Selector, texts: Texts) -> list[Candidate]:
        """The candidates that the selector keeps and AFTER MATCH admits, by triggering event, then in report order.

        Every match with one of these triggering events and partitions is among the candidates; those with earlier ones
        have been admitted before.
        """
        kept = list(candidates) if selector is Selector.ALL else _selected(selector, candidates)
        if self._skip is Skip.NO_SKIP:
            return sorted(kept, key=report_order) if len(kept) > 1 else kept
        return self.admit(sorted(in_report_order(kept, texts), key=lambda candidate: candidate.match.last))

    def admit(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """The candidates, which come by triggering event, that no earlier one forbids."""
        return [candidate for candidate in candidates if self._admit(candidate.match)]

    def forget(self, before: int) -> None:
        """No match will come whose first position is before this."""
        for partition in list(self.firsts):
            kept = {first for first in self.firsts[partition] if first >= before}
            if kept:
                self.firsts[partition] = kept
            else:
                del self.firsts[partition]
        self.lasts = {partition: last for partition, last in self.lasts.items() if last >= before}
        self.triggers = {p: pair for p, pair in self.triggers.items() if pair[1] >= before}

    def _admit(self, match: Match) -> bool:
        match self._skip:
            case Skip.NO_SKIP:
                return True
            case Skip.TO_NEXT:
                firsts = self.firsts.setdefault(match.partition, set())
                if match.first in firsts:
                    return False
                firsts.add(match.first)
                return True
            case Skip.PAST_LAST | Skip.TO_FIRST | Skip.TO_LAST:
                known = self.lasts.get(match.partition, -1)
                if match.first <= known:
                    return False
                self.lasts[match.partition] = max(self._forbidden(match), known)
                return True
            case Skip.CONSUME_ALL:
                return self._consume(match)

    def _forbidden(self, match: Match) -> int:
        """The last position at which no match may begin after this one."""
        if self._skip is Skip.PAST_LAST:
            return match.last
        taken = [position for symbol, position, _ in match.entries if symbol == self._skip_to]
        return (min if self._skip is Skip.TO_FIRST else max)(taken, default=0) - 1

    def _consume(self, match: Match) -> bool:
        """No earlier triggering event lies at or after its first event and before its last."""
        before, latest = self.triggers.get(match.partition, (-1, -1))
        earlier = latest if latest < match.last else before
        if earlier >= match.first:
            return False
        if latest < match.last:
            self.triggers[match.partition] = (latest, match.last)
        return True


def after_state(after: AfterMatch) -> dict[str, Any]:
    """The state of AFTER MATCH: what reported matches forbid."""
    triggers = [[partition, *pair] for partition, pair in after.triggers.items()]
    return layouts.AFTER_MATCH.written(
        firsts=[[partition, np.array(sorted(firsts), dtype=np.int64)] for partition, firsts in after.firsts.items()],
        lasts=pairs(after.lasts),
        triggers=np.array(triggers, dtype=np.int64).reshape(-1, 3),
    )


def restore_after(after: AfterMatch, state: Mapping[str, Any]) -> None:
    """Put it back."""
    state = layouts.AFTER_MATCH.read(state)
    after.firsts = {partition: set(firsts.tolist()) for partition, firsts in state["firsts"]}
    after.lasts = dict(state["lasts"].tolist())
    after.triggers = {partition: (before, latest) for partition, before, latest in state["triggers"].tolist()}
