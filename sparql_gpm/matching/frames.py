"""Frames: what a pattern is evaluated for, one graph each, with bindings substituted into it.

At the top a frame is an event and nothing is substituted. Inside EXISTS there is one frame per
distinct solution that is being tested: the graph is that solution's, and its values stand for the
variables (SPARQL 1.1, Section 18.6). Rows of a relation name the frame that they belong to.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sparql_gpm.columns import Ids, Mask
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.relations.join import join
from sparql_gpm.relations.relation import Relation


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of one evaluation.

    graphs      frame → event of the view; None: frame i is event i
    live        the events wanted, None for all; only without `graphs`
    bindings    substituted variable → its value in each frame, never UNBOUND; empty without `graphs`
    wanted      rows that the answer will be joined with: solutions that agree with none of them may be left out
    """

    view: BatchView
    graphs: Ids | None = None
    live: Mask | None = None
    bindings: Mapping[str, Ids] = field(default_factory=dict)
    wanted: Relation | None = None

    def all(self) -> Ids:
        """Every frame."""
        if self.graphs is not None:
            return np.arange(len(self.graphs), dtype=np.int64)
        return np.arange(len(self.view), dtype=np.int64) if self.live is None else np.flatnonzero(self.live)

    def live_events(self) -> Mask | None:
        """The events that some frame looks at; None for all."""
        if self.graphs is None:
            return self.live
        live = np.zeros(len(self.view), dtype=np.bool_)
        live[self.graphs] = True
        return None if live.all() else live

    def graph_of(self, frames: Ids) -> Ids:
        """The events that these frames look at."""
        return frames if self.graphs is None else self.graphs[frames]

    def restricted(self, variables: Collection[str]) -> Frames:
        """The same frames with only these variables substituted or wanted: a subquery sees no others."""
        wanted = None if self.wanted is None else self.wanted.project(variables)
        kept = {v: column for v, column in self.bindings.items() if v in variables}
        return Frames(self.view, self.graphs, self.live, kept, wanted)

    def wanting(self, rows: Relation | None) -> Frames:
        """The same frames for an answer that will be joined with these rows; None: that is needed whole."""
        return self if rows is self.wanted else replace(self, wanted=rows)

    def substituted(self, variables: Collection[str]) -> tuple[str, ...]:
        """Those of the variables that have a value here."""
        return tuple(v for v in self.bindings if v in variables) if self.bindings else ()

    def values(self, relation: Relation, variables: Collection[str]) -> Mapping[str, Ids]:
        """Columns of what expressions over the rows see: the row's values and the frame's."""
        columns = {v: relation.columns[v] for v in variables if v in relation.columns}
        for variable in self.substituted(variables):
            assert relation.events is not None, "rows must be in frames to see what is substituted there"
            columns[variable] = self.bindings[variable][relation.events]
        return columns

    def substitute(self, relation: Relation) -> Relation:
        """The relation as if the substituted variables had been constants: it agrees with them and has them not."""
        shared = self.substituted(relation.columns)
        if not shared:
            return relation
        frames = self.all()
        seed = Relation(len(frames), frames, {v: self.bindings[v] for v in shared})
        return join(seed, relation).without(shared)
