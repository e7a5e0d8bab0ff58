"""`spaseq why` and `spaseq why-not`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kb.source import Source
from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.cli.bindings import bind_knowledge, bind_streams
from spaseq.cli.knowledge import KnowledgeArguments, loading, sources_of
from spaseq.cli.queries import read_queries
from spaseq.cli.run import run_options
from spaseq.engine.options import RunOptions
from spaseq.engine.why import why
from spaseq.engine.why_not import why_not
from spaseq.errors import InputError, visible
from spaseq.outputs.destination import Output
from spaseq.outputs.explanations import Why, WhyGroup


@dataclass(frozen=True, slots=True)
class WhyArguments:
    """The arguments of `spaseq why` and `why-not`, as written; streams and knowledge bases as for `spaseq run`.

    name    the query that is asked about; None: the only one
    """

    queries: tuple[Path, ...]
    streams: tuple[str, ...]
    knowledge: tuple[str, ...]
    name: str | None
    format: str
    warnings: str | None
    kb: KnowledgeArguments
    options: RunOptions

    @staticmethod
    def taken_from(queries: tuple[Path, ...], options: dict[str, Any]) -> WhyArguments:
        """The arguments of a command, whose options are taken from it."""
        kb, settings = KnowledgeArguments.taken_from(options), run_options(options)
        return WhyArguments(queries=queries, kb=kb, options=settings, **options)

    def read(self) -> tuple[list[TemporalQuery], dict[str, str], dict[str, Source]]:
        """The queries, the path of each stream and each knowledge base, by IRI."""
        queries = [build(query) for query in read_queries(self.queries, self.warnings)]
        locations, _ = bind_knowledge(queries, self.knowledge)
        return queries, bind_streams(queries, self.streams), sources_of(locations, self.kb)


def show_why(arguments: WhyArguments, match: int) -> None:
    """Print why a row is there."""
    queries, streams, kb = arguments.read()
    with loading() as progress:
        found = why(queries, streams, match, kb, arguments.name, **_given(replace(arguments.options, loading=progress)))
    if arguments.format == "trig":
        write([_in_trig(found)])
        return
    write([found.to_json()] if arguments.format == "json" else [visible(str(found)).rstrip()])


def _in_trig(found: Why | WhyGroup) -> str:
    from spaseq.outputs.provenance import to_trig

    if isinstance(found, WhyGroup):
        hint = "--format json has the triples of every step"
        raise InputError(f"a row of query '{found.query}' is a group of matches, not written as PROV-O", hint=hint)
    if found.graph is None:
        hint = "--format json has the triples of every step"
        raise InputError(f"query '{found.query}' is no CONSTRUCT: its rows are no entities of PROV-O", hint=hint)
    return to_trig(found).rstrip()


def show_why_not(
    arguments: WhyArguments, bind: Sequence[str], events: Sequence[str], since: str | None, until: str | None
) -> None:
    """Print the reasons why there is no match."""
    queries, streams, kb = arguments.read()
    pins: dict[str, list[str]] = {}
    for step, graph in (_assigned("--event", "STEP=GRAPH", text) for text in events):
        pins.setdefault(step, []).append(graph.removeprefix("<").removesuffix(">"))
    asked: dict[str, Any] = {
        "bind": dict(_assigned("--bind", "NAME=TERM", text) for text in bind),
        "events": pins,
        "since": since,
        "until": until,
        "name": arguments.name,
    }
    with loading() as progress:
        found = why_not(queries, streams, kb, **asked, **_given(replace(arguments.options, loading=progress)))
    write([found.to_json()] if arguments.format == "json" else [visible(str(found)).rstrip()])


def _assigned(option: str, form: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise InputError(f"{option} '{text}' is malformed", hint=f"write {option} {form}")
    return name.removeprefix("?"), value


def write(texts: Sequence[str]) -> None:
    """Prints texts on standard output, each with a line end."""
    Output.open(None).write("".join(f"{text}\n" for text in texts))


def _given(options: RunOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in RunOptions.__dataclass_fields__}
