"""From the columns of found matches to matches in report order: selection, AFTER MATCH (LANGUAGE 3.4-3.5)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, repeat

from automata.program import Host, Match, Program, Selector, Skip
from automata.registers.apply import ENTRIES, MATCHES, Output
from automata.registers.iterated import register_of
from automata.selection import AfterMatch, Candidate, in_report_order, report_order, select

_MOMENT = (0,)
"""Without trailing negations every match is reported at its last event: positions alone order them."""


class MatchReporter:
    """Collects the matches of a stretch; nothing is held from one stretch to the next.

    All matches that end at one event are found while that event is looked at, so every group that selectors compare
    is complete.
    """

    def __init__(self, program: Program, host: Host) -> None:
        self._program = program
        self._host = host
        self.after = AfterMatch(program.skip)
        self._found: list[Match] = []
        self._gapless: list[bool] = []
        registers = register_of(program)
        self._outputs = [registers[reference] for reference in program.outputs]
        self._in_turn = program.selector is not Selector.ALL or program.skip is not Skip.NO_SKIP

    def collect(self, output: Output) -> None:
        """Take over what the kernel has found; empties the output."""
        count, used = int(output.counts[MATCHES]), int(output.counts[ENTRIES])
        output.counts[:] = 0
        entries = list(map(tuple, output.entries[:used].tolist()))
        begin, variables = 0, self._program.variables
        for facts, values in zip(output.facts[:count].tolist(), output.registers[:count].tolist(), strict=True):
            first, last, start, time, partition, first_rank, last_rank, end = facts
            outputs = tuple(values[register] for register in self._outputs)
            bound = tuple(values[:variables])
            self._found.append(Match(tuple(entries[begin:end]), bound, outputs, first, last, start, time, partition))
            self._gapless.append(last_rank - first_rank + 1 == end - begin)
            begin = end

    def report(self, oldest: int) -> list[Match]:
        """What has been collected, in report order; no match to come begins before `oldest`."""
        found, gapless, self._found, self._gapless = self._found, self._gapless, [], []
        if not self._in_turn:
            return _sorted_by_event(found)
        candidates = _distinct(found, gapless)
        groups: dict[tuple[int, int], list[Candidate]] = {}
        for candidate in candidates:
            groups.setdefault((candidate.match.partition, candidate.match.last), []).append(candidate)
        ordered = in_report_order(
            (c for group in groups.values() for c in select(self._program.selector, group)), self._host.texts
        )
        if self._program.skip is Skip.CONSUME_ALL:
            ordered.sort(key=lambda candidate: candidate.match.last)
        admitted = self.after.admit(ordered)
        self.after.forget(oldest)
        return [candidate.match for candidate in admitted]


def _sorted_by_event(found: list[Match]) -> list[Match]:
    """Report order of matches that were found event by event: only those of one last event need sorting."""
    ordered: list[Match] = []
    for _, group in groupby(found, key=lambda match: match.last):
        same = list(group)
        if len(same) > 1:
            candidates = sorted(_distinct(same, repeat(False)), key=report_order)
            same = [candidate.match for candidate in candidates]
        ordered += same
    return ordered


def _distinct(found: Iterable[Match], gapless: Iterable[bool]) -> list[Candidate]:
    """Each match once, however often it was reached."""
    candidates: dict[tuple[tuple[int, int, int], ...], Candidate] = {}
    for match, tight in zip(found, gapless, strict=False):
        if match.entries not in candidates:
            positions = frozenset(position for _, position, _ in match.entries)
            candidates[match.entries] = Candidate(match, positions, tight, _MOMENT)
    return list(candidates.values())
