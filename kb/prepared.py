"""A prepared knowledge base: memory-mapped, of any size, bind-joined with the keys of a batch.

Patterns are solved over the file's own ids; only keys and their solutions are converted to the ids of the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from kb.errors import KnowledgeBaseError
from kb.prepared_file import PreparedFile
from kb.prepared_terms import PreparedTerms
from kb.source import Source
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.algebra.traversal import walk
from sparql_gpm.columns import UNBOUND, EventBatch, Ids, Mask, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.pattern import Graph, Pattern, Service
from sparql_gpm.relations.join import join
from sparql_gpm.relations.keys import groups
from sparql_gpm.relations.relation import Relation

_SOLVED_MAX = 64
"""Patterns whose solutions are cached."""
_LOCAL_MAX = 1 << 20
"""Ids of the run whose ids in the file are cached."""


@dataclass(eq=False)
class Prepared:
    """A prepared file, shared by any number of processes.

    refresh_s   seconds between checks for a replaced file; None: never
    """

    is_bind_joined = True
    how = "is a prepared file, mapped into memory: each pattern is solved once, and looked up for the keys of a batch"

    path: Path
    iri: str
    dictionary: Dictionary
    refresh_s: float | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._looked = self.clock()
        self._use(PreparedFile(self.path))

    @staticmethod
    def opened(source: Source, iri: str, dictionary: Dictionary) -> Prepared:
        """From a .kb file; raises KnowledgeBaseError, also where RDFS is demanded and was not applied."""
        prepared = Prepared(Path(source.location), iri, dictionary, source.refresh_s)
        if source.entail and not prepared.entailed:
            hint = "prepare it with: spaseq kb build --entail rdfs"
            raise KnowledgeBaseError("RDFS was not applied when this file was prepared", source.location, hint=hint)
        return prepared

    @property
    def unprovable(self) -> str | None:
        """The reason why it may change, for `explain`; None if it never does."""
        return None if self.refresh_s is None else "it may be replaced while it runs, and events meet it as it is then"

    def prepare(self, pattern: Pattern) -> None:
        """Solves a pattern for later bind-joins; KnowledgeBaseError if it names another knowledge base."""
        if any(isinstance(node, Graph | Service) for node in walk(pattern)):
            hint = "write the two one after the other, not one inside the other"
            raise KnowledgeBaseError("GRAPH or SERVICE inside GRAPH over a prepared file", self.iri, hint=hint)
        self.solved(pattern)

    def bind_join(self, pattern: Pattern, given: Mapping[str, Ids]) -> Solutions:
        """The solutions that agree with a row of the given values."""
        known = self.solved(pattern)
        if not given:
            return self._as_own(known, pattern)
        classes = groups(list(given.values()))
        keys = {name: self._stored(column[classes.first]) for name, column in given.items()}
        there: Mask = np.logical_and.reduce([column != UNBOUND for column in keys.values()])
        rows = np.flatnonzero(there)
        probe = Relation(len(rows), None, {name: column[rows] for name, column in keys.items()}, frozenset(keys))
        return self._as_own(join(probe, known), pattern)

    def refresh(self) -> bool:
        """Between batches: opens a file that has replaced this one, if a check is due; true if it has.

        A replaced file stays as it was while it is mapped. One that is overwritten does not: it is opened again at once
        if it may change; else, and if that fails, KnowledgeBaseError.
        """
        if self._file.is_overwritten():
            if self.refresh_s is None:
                hint = "replace it by another file, as `spaseq kb build` does, or give --kb-refresh"
                raise KnowledgeBaseError("overwritten while it was in use", str(self.path), hint=hint)
            self._use(PreparedFile(self.path))
            return True
        now = self.clock()
        if self.refresh_s is None or now - self._looked < self.refresh_s:
            return False
        self._looked = now
        if not self._file.is_replaced():
            return False
        try:
            file = PreparedFile(self.path)
            file.verify()
        except KnowledgeBaseError:
            return False  # it is being replaced: keep the old one until the next check
        self._use(file)
        return True

    def close(self) -> None:
        """The mapping ends with the last array over it."""

    def triples_with(self, predicate_ids: Ids) -> tuple[Ids, Ids, Ids]:
        """The triples with these predicates, all in the ids of the run."""
        wanted = np.array([self._terms.stored(self.dictionary.term(i)) for i in predicate_ids.tolist()])
        batch = self._view.batch
        rows = np.flatnonzero(np.isin(batch.predicates, wanted[wanted != UNBOUND]))
        return self._own(batch.subjects[rows]), self._own(batch.predicates[rows]), self._own(batch.objects[rows])

    @property
    def entailed(self) -> bool:
        """True if RDFS was applied when the file was prepared."""
        return self._file.entailed

    @cached_property
    def _view(self) -> BatchView:
        terms = self._file["subjects"], self._file["predicates"], self._file["objects"]
        return BatchView(EventBatch.of_graph(self.iri, *terms))

    @cached_property
    def _evaluator(self) -> ExpressionEvaluator:
        return ExpressionEvaluator(self._terms)

    def _use(self, file: PreparedFile) -> None:
        self._file = file
        self._terms = PreparedTerms(file, self.iri)
        for name in ("_view", "_evaluator"):
            self.__dict__.pop(name, None)
        self._known: dict[Pattern, Relation] = {}
        self._generation = self.dictionary.generation
        self._local: dict[int, int] = {}
        self._own_ids = np.zeros(len(self._terms) + 1, dtype=np.int64)

    def solved(self, pattern: Pattern) -> Relation:
        """All solutions, in the ids of the file."""
        if pattern not in self._known:
            if len(self._known) >= _SOLVED_MAX:
                self._known.clear()
            solutions = compile_pattern(pattern, self._terms, self._evaluator).solve(self._view)
            self._known[pattern] = Relation(len(solutions), None, solutions.columns)
        return self._known[pattern]

    def _forget_if_released(self) -> None:
        if self._generation != self.dictionary.generation or len(self._local) > _LOCAL_MAX:
            self._local.clear()
            self._own_ids[:] = UNBOUND
            self._generation = self.dictionary.generation

    def _stored(self, ids: Ids) -> Ids:
        """Ids of the run as ids of the file, UNBOUND for terms that it has not."""
        self._forget_if_released()
        known, result = self._local, np.empty(len(ids), dtype=np.int64)
        for row, identifier in enumerate(ids.tolist()):
            local = known.get(identifier)
            if local is None:
                local = known[identifier] = self._terms.find(self.dictionary.term(identifier))
            result[row] = local
        return result

    def _own(self, ids: Ids) -> Ids:
        """Ids of the file as ids of the run."""
        self._forget_if_released()
        if len(self._own_ids) <= len(self._terms):
            grown = np.zeros(len(self._terms) + 1, dtype=np.int64)
            grown[: len(self._own_ids)] = self._own_ids
            self._own_ids = grown
        for identifier in np.unique(ids[(self._own_ids[ids] == UNBOUND) & (ids != UNBOUND)]).tolist():
            self._own_ids[identifier] = self.dictionary.intern(self._terms.term(identifier))
        own: Ids = self._own_ids[ids]
        return own

    def _as_own(self, relation: Relation, pattern: Pattern) -> Solutions:
        columns = {name: self._own(relation.column(name)) for name in sorted(in_scope(pattern))}
        return Solutions(np.zeros(len(relation), dtype=np.int64), columns)
