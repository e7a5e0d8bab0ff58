"""`spaseq explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from spaseq.algebra.build import build
from spaseq.cli.bindings import bind_knowledge
from spaseq.cli.knowledge import KnowledgeArguments, loading, sources_of
from spaseq.engine.described import describe
from spaseq.engine.options import RunOptions
from spaseq.errors import InputError
from spaseq.explain.description import Description, Format
from spaseq.explain.flow import FunnelError, flow_of, read_funnel
from spaseq.explain.render import DRAWN
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


def with_funnel(description: Description, path: Path, format: Format) -> tuple[Description, Sequence[float]]:
    """The description with the counts of a funnel, and the widths of its edges; raises InputError."""
    if format not in DRAWN:
        raise InputError(f"--funnel does not go with --format {format}", hint=f"it goes with {', '.join(DRAWN)}")
    try:
        flow = flow_of(description, read_funnel(path.read_text(encoding="utf-8"), description.query))
    except (OSError, UnicodeDecodeError, FunnelError) as error:
        hint = "give the file that 'spaseq run --analyze-output' has written for this query"
        raise InputError(f"{path} cannot be drawn: {error}", hint=hint) from error
    return flow.description, flow.widths
