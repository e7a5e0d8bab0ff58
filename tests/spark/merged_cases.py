"""Many cases as one job: each keeps to itself, since its streams, its knowledge bases and its queries are renamed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row, to_json
from tests.conformance.cases import Case, graph_names, multiset


@dataclass(frozen=True, slots=True)
class MergedCases:
    """Queries of all cases.

    streams     IRI → file
    kbs         IRI → file
    named       the IRI of a knowledge base here → its IRI in the case
    """

    cases: tuple[Case, ...]
    queries: tuple[Query, ...]
    streams: dict[str, Path]
    kbs: dict[str, Path]
    named: dict[str, str]

    def expected_and_found(self, rows: Iterable[Row]) -> tuple[dict[str, Any], dict[str, Any]]:
        """For each case the rows that it must give, and those that it has given."""
        by_case: dict[str, list[dict[str, Any]]] = {case.folder.name: [] for case in self.cases}
        for row in rows:
            name, _, query = row.query.partition("__")
            if query == "query":
                line = to_json(replace(row, query="query"))
                for here, there in self.named.items():
                    line = line.replace(f'"{here}"', f'"{there}"')
                by_case[name].append(json.loads(line))
        known = {case.folder.name: graph_names(case) for case in self.cases}
        expected = {case.folder.name: multiset(case.expected, known[case.folder.name]) for case in self.cases}
        return expected, {name: multiset(found, known[name]) for name, found in by_case.items()}


def merged(cases: Sequence[Case]) -> MergedCases:
    """The cases as one job."""
    queries: list[Query] = []
    streams: dict[str, Path] = {}
    kbs: dict[str, Path] = {}
    named: dict[str, str] = {}
    for case in cases:
        own = f"urn:case:{case.folder.name}:"
        for path in case.queries:
            text = path.read_text(encoding="utf-8")
            for number, iri in enumerate(sorted(case.kbs)):
                text = text.replace(f"<{iri}>", f"<{own}kb{number}>")
                kbs[f"{own}kb{number}"] = case.kbs[iri]
                named[f"{own}kb{number}"] = iri
            query = parse(text, f"{case.folder.name}__{path.stem}")
            renamed = tuple(replace(stream, iri=own + stream.iri) for stream in query.streams)
            register = None if query.register is None else own + query.register
            queries.append(replace(query, streams=renamed, register=register))
            streams |= {own + s.iri: case.streams[s.name] for s in query.streams if s.name in case.streams}
    made = {query.register for query in queries}
    given = {iri: path for iri, path in streams.items() if iri not in made}
    return MergedCases(tuple(cases), tuple(queries), given, kbs, named)
