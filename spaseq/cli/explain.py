"""`spaseq explain`."""

from __future__ import annotations

from spaseq.algebra.build import build
from spaseq.cli.bindings import bind_knowledge
from spaseq.cli.knowledge import KnowledgeArguments, loading, sources_of
from spaseq.engine.described import describe
from spaseq.engine.options import RunOptions
from spaseq.explain.description import Description
from spaseq.lang.ast import Query


def explained(
    query: Query,
    evaluator: str,
    knowledge: tuple[str, ...],
    kb: KnowledgeArguments,
    allow_hosts: tuple[str, ...],
) -> Description:
    """The description of a query; knowledge bases are given as to `spaseq run`, or not at all."""
    if not knowledge:
        return describe(query, evaluator)
    meaning = build(query)
    locations, _ = bind_knowledge([meaning], knowledge)
    sources = sources_of(locations, kb)
    with loading() as progress:
        options = RunOptions(allow_hosts=allow_hosts or None, loading=progress)
        return describe(meaning, evaluator, sources, options)
