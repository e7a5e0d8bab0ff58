"""GRAPH, SERVICE and other patterns that do not read the event: solved once for all frames, or bind-joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sparql_gpm.algebra.analysis import computes, substitution_is_a_join
from sparql_gpm.algebra.scope import mentioned
from sparql_gpm.background import Background, BackgroundError
from sparql_gpm.bounds import in_some_event
from sparql_gpm.columns import EventBatch, Ids, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.frames import Frames
from sparql_gpm.matching.pattern_expression import Operator
from sparql_gpm.pattern import Pattern
from sparql_gpm.relations.join import join
from sparql_gpm.relations.relation import UNIT, Relation, constant


@dataclass(eq=False)
class CachedRelation:
    """A relation that is computed on first use, and again after a change of the background.

    Its terms are held in the dictionary meanwhile, if one is given.
    """

    compute: Callable[[], Relation]
    background: Background | None
    dictionary: Dictionary | None = None
    _version: int = -1
    _relation: Relation = UNIT

    def get(self) -> Relation:
        """The relation for the present background."""
        version = 0 if self.background is None else self.background.version()
        if version != self._version:
            self._relation = self.compute()
            self._version = version
            if self.dictionary is not None:
                self.dictionary.hold(self, self._relation.columns.values())
        return self._relation


@dataclass(frozen=True, slots=True, eq=False)
class GraphOperator:
    """`GRAPH` over a knowledge base whose patterns are solved.

    variable    of the name, None if that is an IRI; `identifier` is the id of the name
    known       its solutions with nothing substituted
    """

    name: str
    identifier: int
    variable: str | None
    inner: Pattern
    background: Background
    known: CachedRelation

    @staticmethod
    def of(
        name: str, identifier: int, variable: str | None, inner: Pattern, background: Background, dictionary: Dictionary
    ) -> GraphOperator:
        """Solves the pattern over the knowledge base, so that errors are raised before the run."""

        def known() -> Relation:
            return _named(_everywhere(background.solve(name, inner)), variable, identifier)

        kept = CachedRelation(known, background, dictionary if computes(inner) else None)
        kept.get()
        return GraphOperator(name, identifier, variable, inner, background, kept)

    def evaluate(self, frames: Frames) -> Relation:
        """Its solutions; substituted values are joined, or solved for where a join is not the same."""
        seen = frozenset(frames.substituted(mentioned(self.inner)))
        if substitution_is_a_join(self.inner, seen):
            return frames.substitute(self.known.get())
        given = {v: frames.bindings[v] for v in seen}
        with in_some_event():
            solutions = self.background.solve(self.name, self.inner, given, len(frames.all()))
        relation = Relation(len(solutions), solutions.events, solutions.columns)
        return frames.substitute(_named(relation, self.variable, self.identifier))


@dataclass(frozen=True, slots=True, eq=False)
class BindJoinOperator:
    """`GRAPH` or `SERVICE` that is bind-joined with the rows that the frames probe with.

    variable    of the name, None if that is an IRI; `identifier` is the id of the name
    scope       the variables in scope of `inner`
    silent      a failure gives the empty mapping
    """

    name: str
    identifier: int
    variable: str | None
    inner: Pattern
    scope: frozenset[str]
    background: Background
    silent: bool = False

    def evaluate(self, frames: Frames) -> Relation:
        """At least the solutions that agree with the values substituted, or else with the probe."""
        seen = frozenset(frames.substituted(mentioned(self.inner)))
        if not substitution_is_a_join(self.inner, seen):
            raise BackgroundError(
                f"{self.name}: this pattern cannot be evaluated inside EXISTS, where ?{' ?'.join(sorted(seen))} "
                "has the value of the row that is tested (bind it by a triple pattern inside GRAPH)"
            )
        substituted = {v: frames.bindings[v] for v in sorted(seen & self.scope)}
        return frames.substitute(
            _named(self._bind_joined(substituted or self._probe(frames)), self.variable, self.identifier)
        )

    def _bind_joined(self, given: Mapping[str, Ids]) -> Relation:
        try:
            with in_some_event():
                return _everywhere(self.background.bind_join(self.name, self.inner, given))
        except BackgroundError:
            if not self.silent:
                raise
            return UNIT

    def _probe(self, frames: Frames) -> Mapping[str, Ids]:
        probe = frames.probe
        if probe is None:
            return {}
        return {v: probe.columns[v] for v in sorted(self.scope) if v in probe.columns and probe.binds(v)}


@dataclass(frozen=True, slots=True, eq=False)
class StaticOperator:
    """A pattern that does not read the event: evaluated once, unless something is substituted into it.

    variables   all that it mentions
    """

    inner: Operator
    variables: frozenset[str]
    dictionary: Dictionary
    background: Background | None
    _known: list[CachedRelation] = field(default_factory=list)

    def evaluate(self, frames: Frames) -> Relation:
        """Its solutions, the same for all frames; terms that it computed are held in the dictionary."""
        if frames.substituted(self.variables):
            return self.inner.evaluate(frames)
        if not self._known:
            empty = Frames(BatchView(EventBatch.empty()))
            self._known.append(CachedRelation(lambda: self.inner.evaluate(empty), self.background, self.dictionary))
        return self._known[0].get()


def _everywhere(solutions: Solutions) -> Relation:
    return Relation(len(solutions), None, solutions.columns)


def _named(relation: Relation, variable: str | None, identifier: int) -> Relation:
    return relation if variable is None else join(relation, constant((variable,), ((identifier,),)))
