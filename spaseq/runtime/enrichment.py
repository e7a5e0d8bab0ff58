"""What is joined with matches when they are reported (`spaseq.optimise`): the columns that it brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from automata.program import UNBOUND, Ids, Match
from sparql_gpm.background import Background
from sparql_gpm.columns import Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.evaluator import Evaluator
from sparql_gpm.matching.background_lookup import Lookup
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
        evaluator: Evaluator,
    ) -> None:
        self._lookups: list[tuple[Enrichment, Lookup]] = []
        self._ready: list[tuple[Enrichment, Lookup, list[int]]] = []
        self.variables = list(variables)
        for each in enrichments:
            assert background is not None, each
            lookup = Lookup(each.knowledge, each.pattern, each.keys, each.variables, background, dictionary, evaluator)
            self._lookups.append((each, lookup))
            self._ready.append((each, lookup, [self.variables.index(key) for key in each.keys]))
            self.variables += each.variables

    def enrich_one(self, values: list[int], match: Match) -> bool:
        """Append what the enrichments bring, in their order, to the values of the variables in one match.

        False: `enriched` must be asked.
        """
        for enrichment, lookup, keys in self._ready:
            found: Sequence[int] | None = (UNBOUND,) * len(enrichment.variables)
            if not enrichment.skippable or any(entry[0] == enrichment.step for entry in match.entries):
                found = lookup.one(tuple([values[key] for key in keys]))
            if found is None:
                return False
            values += found
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
