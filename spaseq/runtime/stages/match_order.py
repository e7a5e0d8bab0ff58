"""The order of matches of the same events under OVER MATCHES: by μ, then by ν step by step (specification 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from automata.values import UNBOUND, Match
from sparql_gpm.pattern import Variable
from spaseq.algebra.partitions import partition_variable
from spaseq.runtime.stages.enrichment import Enricher
from spaseq.runtime.stages.match_values import MatchValues, TermTexts
from spaseq.runtime.state.kept_solutions import KeptSolutions


class MatchOrder:
    """Orders the matches of one query.

    values  of all variables, in the order of their names
    """

    def __init__(self, values: MatchValues, texts: TermTexts, enricher: Enricher, kept: KeptSolutions) -> None:
        self._values = values
        self._texts = texts
        self._enricher = enricher
        self._kept = kept

    def texts(self, matches: Sequence[Match]) -> list[tuple[str, ...]]:
        """Texts by which matches of the same events are ordered: those of μ, then those of each ν; unbound first."""
        bound = map(self._texts.of, self._values.ids(matches))
        return [(*own, *self._of_solutions(match)) for own, match in zip(bound, matches, strict=True)]

    def ordered(self, matches: Sequence[Match]) -> Sequence[Match]:
        """Matches in report order, with those of the same events in this one."""
        found: list[Match] = []
        for _, group in groupby(matches, key=same_events):
            alike = list(group)
            if len(alike) > 1:
                texts = self.texts(alike)
                alike = [alike[place] for place in sorted(range(len(alike)), key=texts.__getitem__)]
            found += alike
        return found

    def _of_solutions(self, match: Match) -> tuple[str, ...]:
        texts: list[str] = []
        for symbol, position, number in sorted(match.entries):
            values = self._enricher.of_solution(symbol, self._kept.of(symbol, position, number))
            texts += self._texts.of([values.get(name, UNBOUND) for name in sorted(values)])
        return tuple(texts)


def all_variables(names: Sequence[str]) -> dict[str, Variable]:
    """The variables under their names, in the order of these; one of the partition stands for those of the steps."""
    return {name: Variable(name) for name in sorted(names) if partition_variable(name) not in names}


def same_events(match: Match) -> tuple[object, ...]:
    """The time of the decision of a match, if it is late, and its steps and events."""
    return (match.decided, match.last, *[(symbol, position) for symbol, position, _ in match.entries])
