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
    from spaseq.engine.async_engine import AsyncEngine
    from spaseq.engine.described import describe
    from spaseq.engine.job import Job
    from spaseq.engine.live import Engine
    from spaseq.engine.options import RunOptions
    from spaseq.engine.registration import Registration
    from spaseq.engine.result import Result, run
    from spaseq.engine.why import why
    from spaseq.engine.why_not import why_not
    from spaseq.errors import InputError, QueryError, RunError, SPAseqError
    from spaseq.lang.parse import parse
    from spaseq.lang.query_files import read_query
    from spaseq.outputs.attempts import WhyNot
    from spaseq.outputs.explanations import Why
    from spaseq.outputs.rows import Row

__version__ = "0.1.0"

_HOMES = {
    "spaseq.engine.async_engine": ("AsyncEngine",),
    "spaseq.engine.described": ("describe",),
    "spaseq.engine.job": ("Job",),
    "spaseq.engine.live": ("Engine",),
    "spaseq.engine.options": ("RunOptions",),
    "spaseq.engine.registration": ("Registration",),
    "spaseq.engine.result": ("Result", "run"),
    "spaseq.engine.why": ("why",),
    "spaseq.engine.why_not": ("why_not",),
    "spaseq.errors": ("InputError", "QueryError", "RunError", "SPAseqError"),
    "spaseq.lang.parse": ("parse",),
    "spaseq.lang.query_files": ("read_query",),
    "spaseq.outputs.attempts": ("WhyNot",),
    "spaseq.outputs.explanations": ("Why",),
    "spaseq.outputs.rows": ("Row",),
}

__all__ = [
    "AsyncEngine", "Engine", "InputError", "Job", "QueryError", "Registration", "Result", "Row", "RunError",
    "RunOptions", "SPAseqError", "Why", "WhyNot", "describe", "parse", "read_query", "run", "why", "why_not",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "spark":
        return import_module("spaseq.spark")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'spaseq' has no attribute '{name}'")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext spaseq`: the magic and the displays of `spaseq.notebook`."""
    import_module("spaseq.notebook").load_ipython_extension(shell)
