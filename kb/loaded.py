"""A knowledge base read from RDF files, held in columns of the run's own ids."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from kb.errors import KnowledgeBaseError
from kb.local import Progress, files_of, load_graph
from kb.source import Source
from sparql_gpm.background import Background
from sparql_gpm.columns import EventBatch, Ids, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import Matcher, compile_pattern
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.pattern import Pattern

_MATCHERS_MAX = 256
"""Compiled patterns that are cached."""

Reader = Callable[[], EventBatch]
Fingerprint = tuple[tuple[Path, int, int, int], ...]


@dataclass(eq=False)
class Loaded:
    """A graph in memory whose patterns are solved; read again when its files have changed.

    read            returns the graph
    fingerprint     returns the state of the files; another value means a change
    refresh_s       seconds between checks; None: never
    """

    is_bind_joined = False
    how = "is read into memory: each pattern is solved once, and looked up"

    read: Reader
    dictionary: Dictionary
    evaluator: ExpressionEvaluator
    fingerprint: Callable[[], Fingerprint] = tuple
    refresh_s: float | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._looked, self._seen = self.clock(), self.fingerprint()
        self._matchers: dict[Pattern, Matcher] = {}
        self.view = self._viewed()

    @staticmethod
    def of(
        source: Source,
        iri: str,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
        usable: Callable[[], Collection[Pattern] | None],
        progress: Progress | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Loaded:
        """From files; `usable` returns the patterns of the run; None: not known, keep all triples."""

        def read() -> EventBatch:
            path, entail = source.location, source.entail
            return load_graph(path, iri, dictionary, entail=entail, usable=usable(), progress=progress)

        fingerprint = partial(fingerprint_of, source.location)
        return Loaded(read, dictionary, evaluator, fingerprint, source.refresh_s, clock)

    @property
    def unprovable(self) -> str | None:
        """The reason why it may change, for `explain`; None if it never does."""
        changes = "its files may change while it runs, and events meet them as they are then"
        return None if self.refresh_s is None else changes

    def solve(self, pattern: Pattern, given: Mapping[str, Ids] | None, rows: int, background: Background) -> Solutions:
        """The multiset of solutions, once or for each row of given values."""
        if pattern not in self._matchers:
            if len(self._matchers) >= _MATCHERS_MAX:
                self._matchers.clear()
            self._matchers[pattern] = compile_pattern(pattern, self.dictionary, self.evaluator, background)
        matcher = self._matchers[pattern]
        return matcher.solve(self.view, np.zeros(rows, dtype=np.int64), given) if given else matcher.solve(self.view)

    def triples_with(self, predicates: Ids) -> tuple[Ids, Ids, Ids]:
        """The triples with these predicates."""
        batch = self.view.batch
        rows = np.flatnonzero(np.isin(batch.predicates, predicates))
        return batch.subjects[rows], batch.predicates[rows], batch.objects[rows]

    def refresh(self) -> bool:
        """Between batches: reads the files again if a check is due and they have changed; true if it did.

        Files that cannot be read, as while they are being written, leave the graph as it is until the next check.
        """
        now = self.clock()
        if self.refresh_s is None or now - self._looked < self.refresh_s:
            return False
        self._looked = now
        try:
            found = self.fingerprint()
            if found == self._seen:
                return False
            self.view = self._viewed()
        except (KnowledgeBaseError, OSError):
            return False
        self._seen = found
        return True

    def close(self) -> None:
        """Nothing is open."""

    def _viewed(self) -> BatchView:
        """The present graph; the dictionary holds its terms in place of those of the last one."""
        batch = self.read()
        self.dictionary.hold(self, batch.terms)
        return BatchView(batch)


def fingerprint_of(source: str) -> Fingerprint:
    """The state of the files of a path, directory or glob; another value means a change."""
    found = []
    for path in files_of(source):
        if path.exists():
            status = path.stat()
            found.append((path, status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)
