"""GRAPH, SERVICE and whatever else does not look at the event: solved once, as relations that hold everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sparql_gpm.background import Background, BackgroundError
from sparql_gpm.columns import UNBOUND, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matcher_analysis import all_variables, computes, substitution_is_a_join
from sparql_gpm.matcher_expressions import Operator
from sparql_gpm.matcher_frames import Frames
from sparql_gpm.pattern import Pattern, Service, Variable
from sparql_gpm.relation import UNIT, Relation, constant, union
from sparql_gpm.relation_join import join

_NO_FRAMES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class GraphOperator:
    """`GRAPH`.

    graphs      the IRI of each knowledge base it ranges over, with its id
    variable    of the name, None if that is an IRI
    known       its solutions with nothing substituted
    """

    graphs: tuple[tuple[str, int], ...]
    variable: str | None
    inner: Pattern
    background: Background
    known: Relation

    @staticmethod
    def of(
        graphs: Mapping[str, int], variable: str | None, inner: Pattern, background: Background, dictionary: Dictionary
    ) -> GraphOperator:
        """Solves the pattern over the knowledge bases, once and for all."""
        parts = [_named(_everywhere(background.solve(name, inner)), variable, graphs[name]) for name in graphs]
        known = union(parts, _NO_FRAMES)
        if computes(inner):
            _pinned(known, dictionary)
        return GraphOperator(tuple(graphs.items()), variable, inner, background, known)

    def evaluate(self, frames: Frames) -> Relation:
        """Its solutions; what is substituted is looked up, or solved for where a join would not say the same."""
        seen = frozenset(frames.substituted(all_variables(self.inner)))
        if substitution_is_a_join(self.inner, seen):
            return frames.substitute(self.known)
        given = {v: frames.bindings[v] for v in seen}
        parts = []
        for name, identifier in self.graphs:
            solutions = self.background.solve(name, self.inner, given, len(frames.all()))
            relation = Relation(len(solutions), solutions.events, solutions.columns)
            parts.append(_named(relation, self.variable, identifier))
        return frames.substitute(union(parts, frames.all()))


@dataclass(frozen=True, slots=True, eq=False)
class ServiceOperator:
    """`SERVICE`, asked once."""

    known: Relation

    @staticmethod
    def of(pattern: Service, background: Background, dictionary: Dictionary) -> ServiceOperator:
        """Asks the endpoint; SILENT turns a failure into the empty mapping."""
        if isinstance(pattern.endpoint, Variable):
            raise BackgroundError(f"SERVICE ?{pattern.endpoint.name}: the endpoint must be written as an IRI")
        try:
            solutions = background.service(pattern.endpoint.value, pattern.inner)
            return ServiceOperator(_pinned(_everywhere(solutions), dictionary))
        except BackgroundError:
            if not pattern.silent:
                raise
            return ServiceOperator(UNIT)

    def evaluate(self, frames: Frames) -> Relation:
        """What the endpoint said, as far as it agrees with what is substituted."""
        return frames.substitute(self.known)


@dataclass(frozen=True, slots=True, eq=False)
class OnceOperator:
    """A part that does not look at the event: evaluated once, unless something is substituted in it.

    variables   all that stand in the part
    """

    inner: Operator
    variables: frozenset[str]
    dictionary: Dictionary
    _known: list[Relation] = field(default_factory=list)

    def evaluate(self, frames: Frames) -> Relation:
        """Its solutions, the same for all frames; the terms that it computed stay in the dictionary."""
        if frames.substituted(self.variables):
            return self.inner.evaluate(frames)
        if not self._known:
            self._known.append(_pinned(self.inner.evaluate(frames), self.dictionary))
        return self._known[0]


def _pinned(relation: Relation, dictionary: Dictionary) -> Relation:
    """The relation, whose terms the dictionary now keeps for good."""
    for column in relation.columns.values():
        for identifier in np.unique(column[column != UNBOUND]).tolist():
            dictionary.pin(dictionary.term(identifier))
    return relation


def _everywhere(solutions: Solutions) -> Relation:
    return Relation(len(solutions), None, solutions.columns)


def _named(relation: Relation, variable: str | None, identifier: int) -> Relation:
    return relation if variable is None else join(relation, constant((variable,), ((identifier,),)))
