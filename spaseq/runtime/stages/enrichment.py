"""Late enrichment: the parts of patterns over knowledge bases that `spaseq.optimise` joins with matches."""

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
from sparql_gpm.matching.compile import Compiler
from spaseq.algebra.nodes import Enrichment


class Enricher:
    """A query's enrichments, made ready now, or BackgroundError; `variables` of the steps, then of the enrichments."""

    def __init__(
        self,
        enrichments: Sequence[Enrichment],
        variables: Sequence[str],
        background: Background | None,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
    ) -> None:
        self._lookups: list[tuple[Enrichment, BackgroundLookup, Callable[[Sequence[int]], tuple[int, ...]]]] = []
        self.variables = list(variables)
        for each in enrichments:
            assert background is not None, each
            compiler = Compiler(dictionary, evaluator, background)
            lookup = BackgroundLookup(each.knowledge, each.pattern, each.keys, each.variables, compiler)
            places = {name: place for place, name in enumerate(self.variables)}
            assert places.keys() >= {*each.keys}, (each, self.variables)
            self._lookups.append((each, lookup, row_reader(each.keys, places)))
            self.variables += each.variables

    def enrich_few(self, rows: Sequence[list[int]], matches: Sequence[Match]) -> bool:
        """Appends the values of the enrichments, in order, to those of each match; False: `enriched` must be used."""
        for enrichment, lookup, pick in self._lookups:
            by_key = lookup.by_key()
            if by_key is None:
                return False
            unbound = (UNBOUND,) * len(enrichment.variables)
            for values, match in zip(rows, matches, strict=True):
                if enrichment.skippable and not any(entry[0] == enrichment.step for entry in match.entries):
                    values += unbound
                    continue
                found = by_key.of(pick(values))
                values += found[0] if found else unbound
        return True

    def of_solution(self, step: int, values: dict[str, int]) -> dict[str, int]:
        """The values of one solution of a step with those of its enrichments."""
        found = values if not self._lookups else dict(values)
        for enrichment, lookup, _ in self._lookups:
            if enrichment.step == step:
                by_key, keys = lookup.by_key(), tuple([found[key] for key in enrichment.keys])
                if by_key is not None:
                    found |= zip(enrichment.variables, *(by_key.of(keys) or [()]), strict=False)
                else:
                    columns = {key: np.array([value]) for key, value in zip(enrichment.keys, keys, strict=True)}
                    found |= {name: int(column[0]) for name, column in lookup.columns(columns, 1).items()}
        return found

    def enriched(self, columns: Mapping[str, Ids], matches: Sequence[Match]) -> dict[str, Ids]:
        """The columns of some matches with those of the enrichments."""
        found = dict(columns)
        for enrichment, lookup, _ in self._lookups:
            among = _with_step(matches, enrichment.step) if enrichment.skippable else None
            found |= lookup.columns(found, len(matches), among)
        return found


def _with_step(matches: Sequence[Match], step: int) -> Mask:
    return np.array([any(entry[0] == step for entry in match.entries) for match in matches], dtype=np.bool_)
