"""From the columns of found matches to matches in report order: selection, AFTER MATCH (LANGUAGE 3.4-3.5)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from automata.program import Host, Match, Program, Selector, Skip
from automata.registers.apply import ENTRIES, MATCHES, Output
from automata.registers.tables import register_of
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
        self._after = AfterMatch(program.skip)
        self._found: dict[tuple[tuple[int, int, int], ...], Candidate] = {}
        registers = register_of(program)
        self._outputs = [registers[reference] for reference in program.outputs]
        self._in_turn = program.selector is not Selector.ALL or program.skip is not Skip.NO_SKIP

    def collect(self, output: Output) -> None:
        """Take over what the kernel has found, each match once however it was reached; empties the output."""
        count, used = int(output.counts[MATCHES]), int(output.counts[ENTRIES])
        output.counts[:] = 0
        entries = list(map(tuple, output.entries[:used].tolist()))
        registers = output.registers[:count].tolist()
        begin = 0
        for facts, values in zip(output.facts[:count].tolist(), registers, strict=True):
            first, last, start, time, partition, first_rank, last_rank, end = facts
            own = tuple(entries[begin:end])
            begin = end
            if own not in self._found:
                bound, outputs = tuple(values[: self._program.variables]), tuple(values[n] for n in self._outputs)
                match = Match(own, bound, outputs, first, last, start, time, partition)
                gapless = last_rank - first_rank + 1 == len(own)
                self._found[own] = Candidate(match, frozenset(entry[1] for entry in own), gapless, _MOMENT)

    def report(self, oldest: int) -> list[Match]:
        """What has been collected, in report order; no match to come begins before `oldest`."""
        found, self._found = list(self._found.values()), {}
        if not self._in_turn:
            return [candidate.match for candidate in _sorted_by_event(found)]
        groups: dict[tuple[int, int], list[Candidate]] = {}
        for candidate in found:
            groups.setdefault((candidate.match.partition, candidate.match.last), []).append(candidate)
        ordered = in_report_order(
            (c for group in groups.values() for c in select(self._program.selector, group)), self._host.texts
        )
        if self._program.skip is Skip.CONSUME_ALL:
            ordered.sort(key=lambda candidate: candidate.match.last)
        admitted = self._after.admit(ordered)
        self._after.forget(oldest)
        return [candidate.match for candidate in admitted]


def _sorted_by_event(found: list[Candidate]) -> Iterator[Candidate]:
    """Report order of matches that were found event by event: only those of one last event need sorting."""
    for _, group in groupby(found, key=lambda candidate: candidate.match.last):
        same = list(group)
        yield from sorted(same, key=report_order) if len(same) > 1 else same
