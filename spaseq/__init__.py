"""SPAseq finds temporal patterns in streams of RDF graphs.

    import spaseq
    query = spaseq.parse(text)
    for match in spaseq.run(query, streams={"S1": "events.trig"}, kb={"http://…/db": "kb.ttl"}):
        print(match)

What is named here is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spaseq.engine.described import describe
    from spaseq.engine.job import Job, run
    from spaseq.engine.live import Engine
    from spaseq.engine.options import RunOptions
    from spaseq.errors import InputError, QueryError, RunError, SPAseqError
    from spaseq.lang.parse import parse, read_query
    from spaseq.outputs.rows import Row

__version__ = "0.1.0"

_HOMES = {
    "Engine": "spaseq.engine.live",
    "Job": "spaseq.engine.job",
    "RunOptions": "spaseq.engine.options",
    "describe": "spaseq.engine.described",
    "run": "spaseq.engine.job",
    "InputError": "spaseq.errors",
    "QueryError": "spaseq.errors",
    "RunError": "spaseq.errors",
    "SPAseqError": "spaseq.errors",
    "parse": "spaseq.lang.parse",
    "read_query": "spaseq.lang.parse",
    "Row": "spaseq.outputs.rows",
}

__all__ = [
    "Engine", "InputError", "Job", "QueryError", "Row", "RunError", "RunOptions", "SPAseqError", "describe", "parse",
    "read_query", "run",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "spark":
        return import_module("spaseq.spark")
    if name not in _HOMES:
        raise AttributeError(f"module 'spaseq' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
