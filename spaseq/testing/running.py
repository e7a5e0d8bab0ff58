"""A test, run: its queries over its events, in one job as `spaseq run` would have it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sparql_gpm.terms import IRI, Term, to_ntriples
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.errors import InputError
from spaseq.outputs.dead_letters import LATE
from spaseq.outputs.rows import Row
from spaseq.testing.differences import Difference, difference
from spaseq.testing.document import Triple
from spaseq.testing.files import QueryTest, read_test


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a test.

    rows            of each query of the test, by its name, in output order
    differences     of the queries that are compared
    late            the number of late events; `test.late` were expected
    """

    test: QueryTest
    rows: Mapping[str, Sequence[Row]]
    differences: tuple[Difference, ...]
    late: int

    @property
    def passed(self) -> bool:
        """True if the rows are those that the test expects, and as many events are late."""
        return self.late == self.test.late and not any(each.missing or each.unexpected for each in self.differences)


def run_test(path: str | os.PathLike[str], evaluator: str = "auto") -> Outcome:
    """The outcome of the test in a file. Raises InputError or QueryError for a test that cannot be run."""
    test = read_test(path)
    with TemporaryDirectory(prefix="spaseq-test-") as folder:
        letters = Path(folder, "dead-letters.ndjson")
        options = RunOptions.of({**test.settings, "evaluator": evaluator, "dead_letter": letters})
        streams = {
            iri: _written(Path(folder, f"{place}.nq"), events)
            for place, (iri, events) in enumerate(test.streams.items())
        }
        knowledge = {iri: _supplied(given) for iri, given in test.knowledge.items()}
        job = Job(test.queries, streams, knowledge, options)
        try:
            drawn = [row for rows in job.rows() for row in rows]
        finally:
            job.close()
            counts = dict(job.statistics.dead_letters)
            late = counts.pop(LATE, 0)
            if sum(counts.values()):
                raise _malformed(test, letters)
    found = {query.name: [row for row in drawn if row.query == query.name] for query in test.queries}
    compared = tuple(
        difference(query.name, found[query.name], [each for each in test.expected if each.query == query.name])
        for query in test.queries
        if _is_compared(test, query)
    )
    return Outcome(test, found, compared, late)


def _is_compared(test: QueryTest, query: TemporalQuery) -> bool:
    """False for a query of which nothing is expected, and whose stream another query of the test reads."""
    read = {iri for other in test.queries for _, iri in other.streams}
    return query.register not in read or any(each.query == query.name for each in test.expected)


def _written(path: Path, events: Sequence[tuple[str, Sequence[Triple], Sequence[Triple]]]) -> str:
    """The path of a stream with these events, as N-Quads: before each graph what is said about its name."""
    lines: list[str] = []
    for name, about, triples in events:
        lines += [f"{_text(triple)} .\n" for triple in about]
        lines += [
            f"{_text(triple)} {name if name.startswith('_:') else to_ntriples(IRI(name))} .\n" for triple in triples
        ]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def _supplied(given: Sequence[Triple] | Path) -> Any:
    """A knowledge base as a run takes it."""
    if isinstance(given, Path):
        return str(given)
    import pyoxigraph as ox

    return ox.Dataset(ox.Quad(*(term.to_pyoxigraph() for term in triple)) for triple in given)


def _text(terms: Sequence[Term]) -> str:
    return " ".join(map(to_ntriples, terms))


def _malformed(test: QueryTest, letters: Path) -> InputError:
    """The first event that is not one, as an error."""
    records = [json.loads(line) for line in letters.read_text(encoding="utf-8").splitlines()]
    record = next((each for each in records if each["sort"] != LATE), {"reason": "", "raw": ""})
    first = record["raw"].splitlines()[:1]
    reason = f"{record['reason']}{': ' if first else ''}{''.join(first)}"
    return InputError(f"{test.path}: an event is malformed: {reason}", hint="each event has a time and is a graph")
