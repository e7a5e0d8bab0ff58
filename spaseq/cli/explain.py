"""`spaseq explain`."""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.build import build
from spaseq.cli.bindings import bind_knowledge
from spaseq.cli.knowledge import KnowledgeArguments, loading, sources_of
from spaseq.engine.described import describe
from spaseq.engine.options import RunOptions
from spaseq.explain.description import Description
from spaseq.lang.ast import Query


def explained(query: Query, knowledge: tuple[str, ...], kb: KnowledgeArguments, options: RunOptions) -> Description:
    """The description of a query; knowledge bases are given as to `spaseq run`, or not at all."""
    if not knowledge:
        return describe(query, options.evaluator)
    meaning = build(query)
    locations, _ = bind_knowledge([meaning], knowledge)
    sources = sources_of(locations, kb)
    with loading() as progress:
        return describe(meaning, options.evaluator, sources, replace(options, loading=progress))
