"""What is joined with matches when they are reported (`spaseq.optimise`): the columns that it brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from automata.values import UNBOUND, Ids, Match
from sparql_gpm.background import Background
from sparql_gpm.columns import Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.expressions.row_conditions import row_reader
from sparql_gpm.matching.background_lookup import BackgroundLookup
from spaseq.algebra.nodes import Enrichment


class Enricher:
    """The enrichments of one query; the knowledge bases are solved or made ready now, or BackgroundError is raised.

    variables   of the steps; after them, here, those that the enrichments bring
    """

    def __init__(
        self,
        enrichments: Sequence[Enrichment],
        variables: Sequence[str],
        background: Background | None,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
    ) -> None:
        self._lookups: list[tuple[Enrichment, BackgroundLookup]] = []
        self._ready: list[tuple[Enrichment, BackgroundLookup, Callable[[Sequence[int]], tuple[int, ...]]]] = []
        self.variables = list(variables)
        for each in enrichments:
            assert background is not None, each
            lookup = BackgroundLookup(
                each.knowledge, each.pattern, each.keys, each.variables, background, dictionary, evaluator
            )
            self._lookups.append((each, lookup))
            places = {name: place for place, name in enumerate(self.variables)}
            self._ready.append((each, lookup, row_reader(each.keys, places)))
            self.variables += each.variables

    def enrich_few(self, rows: Sequence[list[int]], matches: Sequence[Match]) -> bool:
        """Append what the enrichments bring, in their order, to the values of the variables in each match.

        False: `enriched` must be asked.
        """
        for enrichment, lookup, pick in self._ready:
            by_key = lookup.by_key()
            if by_key is None:
                return False
            nothing = (UNBOUND,) * len(enrichment.variables)
            for values, match in zip(rows, matches, strict=True):
                if enrichment.skippable and not any(entry[0] == enrichment.step for entry in match.entries):
                    values += nothing
                    continue
                found = by_key.of(pick(values))
                values += found[0] if found else nothing
        return True

    def enriched(self, columns: Mapping[str, Ids], matches: Sequence[Match]) -> dict[str, Ids]:
        """The columns of some matches with those that the enrichments bring."""
        found = dict(columns)
        for enrichment, lookup in self._lookups:
            asked = _with_step(matches, enrichment.step) if enrichment.skippable else None
            found |= lookup.columns(found, len(matches), asked)
        return found


def _with_step(matches: Sequence[Match], step: int) -> Mask:
    """The matches that took an event with a step."""
    return np.array([any(entry[0] == step for entry in match.entries) for match in matches], dtype=np.bool_)
