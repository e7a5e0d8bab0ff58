"""The knowledge bases of a run: what `GRAPH` in a pattern is answered from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kb.errors import KnowledgeBaseError
from kb.local import load_graph
from sparql_gpm.bgp_view import BatchView
from sparql_gpm.columns import EventBatch, Ids, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions import Evaluator
from sparql_gpm.matcher import Matcher, compile_pattern
from sparql_gpm.pattern import Pattern

_MATCHERS_MAX = 256
"""Compiled patterns kept for being asked again with other values."""


class KnowledgeBases:
    """Loaded knowledge bases by their IRI; a `sparql_gpm.background.Background`."""

    def __init__(self, graphs: Mapping[str, EventBatch], dictionary: Dictionary, evaluator: Evaluator) -> None:
        self._views = {iri: BatchView(graph) for iri, graph in graphs.items()}
        self._dictionary = dictionary
        self._evaluator = evaluator
        self._matchers: dict[Pattern, Matcher] = {}

    @staticmethod
    def load(
        sources: Mapping[str, str | os.PathLike[str]], dictionary: Dictionary, evaluator: Evaluator
    ) -> KnowledgeBases:
        """Reads each knowledge base from a file, a directory or a glob; raises KnowledgeBaseError."""
        graphs = {iri: load_graph(source, iri, dictionary) for iri, source in sources.items()}
        return KnowledgeBases(graphs, dictionary, evaluator)

    def __contains__(self, iri: object) -> bool:
        return iri in self._views

    def __len__(self) -> int:
        return len(self._views)

    def named(self, iris: Iterable[str]) -> KnowledgeBases:
        """Only these, as those are that one query names; raises KnowledgeBaseError if one was not supplied."""
        chosen = {iri: self._view(iri).batch for iri in iris}
        return KnowledgeBases(chosen, self._dictionary, self._evaluator)

    def names(self) -> Sequence[str]:
        """The IRIs, sorted: what `GRAPH ?g` ranges over."""
        return sorted(self._views)

    def solve(self, name: str, pattern: Pattern, given: Mapping[str, Ids] | None = None, rows: int = 1) -> Solutions:
        """The multiset of solutions over one knowledge base, once or for each row of given values."""
        view = self._view(name)
        if pattern not in self._matchers:
            if len(self._matchers) >= _MATCHERS_MAX:
                self._matchers.clear()
            self._matchers[pattern] = compile_pattern(pattern, self._dictionary, self._evaluator, self)
        matcher = self._matchers[pattern]
        return matcher.solve(view, np.zeros(rows, dtype=np.int64), given) if given else matcher.solve(view)

    def service(self, endpoint: str, pattern: Pattern) -> Solutions:
        """Refused: raises KnowledgeBaseError."""
        raise KnowledgeBaseError(
            "SERVICE: SPARQL endpoints are not asked by this version",
            endpoint,
            hint="download the data to a file, supply it as a knowledge base and use GRAPH",
        )

    def _view(self, iri: str) -> BatchView:
        if iri not in self._views:
            supplied = ", ".join(self.names()) or "none"
            raise KnowledgeBaseError(
                "the query asks this knowledge base, but it was not supplied", iri, hint=f"supplied: {supplied}"
            )
        return self._views[iri]
