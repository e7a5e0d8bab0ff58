"""Frames: the graphs that a pattern is evaluated in, each with the bindings substituted into the pattern.

At the top a frame is an event and nothing is substituted. Inside EXISTS there is one frame for each distinct solution
under test, with its graph and its values (SPARQL 1.1, Section 18.6). Rows of a relation name their frame.
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
    live        the events to evaluate, None for all; only without `graphs`
    bindings    substituted variable → its value in each frame, never UNBOUND; empty without `graphs`
    distinct    only the set of solutions matters, not how often one is found
    probe       rows that the result will be joined with: solutions that agree with none of them may be left out
    """

    view: BatchView
    graphs: Ids | None = None
    live: Mask | None = None
    bindings: Mapping[str, Ids] = field(default_factory=dict)
    probe: Relation | None = None
    distinct: bool = False

    def all(self) -> Ids:
        """Every frame."""
        if self.graphs is not None:
            return np.arange(len(self.graphs), dtype=np.int64)
        return np.arange(len(self.view), dtype=np.int64) if self.live is None else np.flatnonzero(self.live)

    def live_events(self) -> Mask | None:
        """The events of the frames; None for all."""
        if self.graphs is None:
            return self.live
        live = np.zeros(len(self.view), dtype=np.bool_)
        live[self.graphs] = True
        return None if live.all() else live

    def graph_of(self, frames: Ids) -> Ids:
        """The events of these frames."""
        return frames if self.graphs is None else self.graphs[frames]

    def restricted(self, variables: Collection[str]) -> Frames:
        """The same frames with only these variables substituted or probed: a subquery sees no others."""
        probe = None if self.probe is None else self.probe.project(variables)
        kept = {v: column for v, column in self.bindings.items() if v in variables}
        return replace(self, bindings=kept, probe=probe)

    def probed(self, rows: Relation | None) -> Frames:
        """The same frames for a result that will be joined with these rows; None: it is needed whole."""
        return self if rows is self.probe else replace(self, probe=rows)

    def substituted(self, variables: Collection[str]) -> tuple[str, ...]:
        """The variables among these that are substituted."""
        return tuple(v for v in self.bindings if v in variables) if self.bindings else ()

    def values(self, relation: Relation, variables: Collection[str]) -> Mapping[str, Ids]:
        """The columns that expressions over the rows read: the row's values and the frame's."""
        columns = {v: relation.columns[v] for v in variables if v in relation.columns}
        for variable in self.substituted(variables):
            assert relation.events is not None, "rows must be in frames to read what is substituted there"
            columns[variable] = self.bindings[variable][relation.events]
        return columns

    def substitute(self, relation: Relation) -> Relation:
        """The relation as if the substituted variables were constants, without their columns."""
        shared = self.substituted(relation.columns)
        if not shared:
            return relation
        frames = self.all()
        seed = Relation(len(frames), frames, {v: self.bindings[v] for v in shared})
        return join(seed, relation).without(shared)
