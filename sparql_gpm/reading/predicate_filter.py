"""The triples of a stream that somebody reads: readers may leave out the others before their terms have ids."""

from __future__ import annotations

from dataclasses import dataclass, field

PROPERTIES_MAX = 1_000
"""Properties that are remembered of triples left out."""


@dataclass(frozen=True, slots=True, eq=False)
class PredicateFilter:
    """The predicates of the triples that somebody reads.

    A reader leaves out none that may be malformed, and no event, also one of which no triple is left.

    predicates  IRIs
    left_out    properties of triples that were left out, IRIs, not all of them
    """

    predicates: frozenset[str]
    left_out: dict[str, None] = field(default_factory=dict)

    def leave_out(self, properties: dict[str, None]) -> None:
        """More properties of triples that were left out."""
        for name in properties:
            if len(self.left_out) < PROPERTIES_MAX:
                self.left_out[name] = None
