"""Triples that no pattern can use are not read: rows, their order, counts and reasons are those of the whole events."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparql_gpm.algebra.predicates import predicates_of
from sparql_gpm.parse import parse_group
from sparql_gpm.terms import RDF
from spaseq.algebra.build import build
from spaseq.engine import job
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.engine.predicate_filters import predicate_filter
from spaseq.errors import QueryError, RunError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from tests.drawn import drawn
from tests.driving import comparable
from tests.reference.api import evaluate
from tests.reference.stream import Arrivals
from tests.sparql_gpm.rdf_events import stamp
from tests.sparql_gpm.test_nquads_columns import kernels
from tests.strategies.query import queries
from tests.strategies.stream import streams, to_nquads, too_late

TYPE = RDF + "type"
NOISE = ("<urn:n> <urn:noise> <urn:o>", '_:b <urn:other> "x"', '<urn:n> <urn:noise> "\\q"', '<urn:n> <urn:néé> "1"')
Found = tuple[Sequence[Sequence[object]], Mapping[str, Any], Sequence[str], str]


@pytest.mark.parametrize(
    ("text", "predicates"),
    [
        ("", ""),
        ("?a :p ?b . ?b a :C", f"http://e/p {TYPE}"),
        ("?a :p ?b OPTIONAL { ?b :q ?c FILTER EXISTS { ?c :r ?d } } MINUS { ?a :s ?b }", "p q r s"),
        ("{ SELECT ?a (COUNT(?b) AS ?n) { ?a :p/:q|^:r ?b } GROUP BY ?a } UNION { ?a :s 1 }", "p q r s"),
        ("{ ?a :p ?b FILTER(?b > 1 && NOT EXISTS { ?a ?q ?b }) }", None),
        ("?a ?p ?b", None),
        ("?a :p+ ?b . ?b :q*/:r ?c", "p q r"),
        ("?a :p* ?b", None),
        ("?a :p?/:q* ?b", None),
        ("?a (:p|:q?)+ ?b", None),
        (":a :p* ?b . ?b :q? 5", "p q"),
        ("?a !:p ?b", None),
        ("?a :p/!(:q|^:r) ?b", None),
        ("?a :p ?b GRAPH :kb { ?b ?q ?c FILTER EXISTS { ?c ?d ?e } } SERVICE :e { ?b ?r ?f }", "p"),
        ("VALUES ?a { 1 } BIND(EXISTS { ?a :p ?b } AS ?c)", "p"),
    ],
)
def test_the_predicates_of_a_pattern_are_those_on_which_its_solutions_depend(text: str, predicates: str | None) -> None:
    found = predicates_of(parse_group(text, {"": "http://e/"}, None).pattern)
    names = None if predicates is None else {n if ":" in n else f"http://e/{n}" for n in predicates.split()}
    assert (None if found is None else {iri.value for iri in found}) == names


@contextmanager
def whole_events(on: bool) -> Iterator[None]:
    """All triples are read, or not."""
    with mock.patch.object(job, "predicate_filter", lambda *_: None) if on else kernels(on=True, block_bytes=300):
        yield


def found_by(parsed: Sequence[Query], paths: Mapping[str, str], options: RunOptions) -> Found:
    """The rows of each query in order, the counts, the reasons of zero rows, and the error at the end."""
    run, error = Job(parsed, paths, options=options), ""
    rows: dict[str, list[object]] = {query.name: [] for query in parsed}
    try:
        for piece in run.rows():
            for row in piece:
                rows[row.query].append(comparable(row))
    except RunError as reason:
        error = str(reason)
    finally:
        run.close()
    return list(rows.values()), asdict(run.statistics), run.zero_rows(), error


def written(events: Arrivals, noise: Sequence[tuple[int, str]]) -> str:
    """N-Quads, with more lines of some events, by their numbers."""
    text = ""
    for number, event in enumerate(events):
        text += to_nquads((event,))
        text += "".join(f"{triple} <{event[1]}> .\n" for place, triple in noise if place == number)
    return text


def as_trig(nquads: str) -> str:
    """The same as a block for each quad of a graph."""
    return re.sub(r"^(.*) (<\S+>) \.$", lambda quad: _as_block(*quad.groups()), nquads, flags=re.MULTILINE)


def _as_block(triple: str, graph: str) -> str:
    return f"{graph} {{ {triple} }}" if len(triple.split(" ")) > 2 else f"{triple} {graph} ."


def valid(text: str, name: str) -> Query | None:
    try:
        return parse(text, name)
    except QueryError:
        return None


@given(st.data())
@settings(max_examples=drawn(20))
def test_rows_counts_and_reasons_do_not_depend_on_what_is_left_out(data: st.DataObject) -> None:
    texts = data.draw(st.lists(queries(), min_size=1, max_size=3))
    parsed = [query for n, text in enumerate(texts) if (query := valid(text, f"q{n}")) and query.register is None]
    arrivals = data.draw(streams())
    late = data.draw(st.booleans())
    most, suffix = data.draw(st.sampled_from([0, 9])), data.draw(st.sampled_from(["nq", "trig"]))
    noise = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(NOISE)), max_size=most)
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, events in arrivals.items():
            if any(stream.name == name for query in parsed for stream in query.streams):
                path = Path(folder, f"{name}.{suffix}")
                text = written(data.draw(too_late(events)) if late else events, data.draw(noise))
                path.write_text(text if suffix == "nq" else as_trig(text))
                paths[name] = str(path)
                note(path.read_text())
        options = RunOptions(batch_events=data.draw(st.integers(1, 40)), compiled=False)
        with whole_events(True):
            expected = found_by(parsed, paths, options)
        with whole_events(False):
            assert found_by(parsed, paths, options) == expected
    if not late and not most and not expected[1]["dead_letters"]:
        for query, rows in zip(parsed, expected[0], strict=True):
            declared = {s.name: arrivals[s.name] for s in query.streams}
            assert Counter(rows) == Counter(map(comparable, evaluate(query, declared)))


QUERY = """PREFIX : <http://x/> {form} WITHIN 9 SECONDS FROM STREAM S <http://x/s> FROM STREAM T <http://x/t>
{{ SEQ(A ; B) DEFINE GPM A ON S {{ {a} }} DEFINE GPM B ON T {{ ?b :q ?v }} }}"""


@pytest.mark.parametrize(
    ("form", "a", "predicates"),
    [
        ("SELECT *", "?a :p ?u", "http://x/p"),
        ("SELECT *", "?a ?p ?u", None),
        ("SELECT *", "?a :p ?u FILTER EXISTS { ?a :r ?u }", "http://x/p http://x/r"),
        ("CONSTRUCT { ?a :is ?u }", "?a :p ?u", None),
    ],
)
def test_a_stream_is_read_for_the_patterns_on_it_alone(form: str, a: str, predicates: str | None) -> None:
    meaning = build(parse(QUERY.format(form=form, a=a), "q"))
    found = predicate_filter([meaning], "http://x/s")
    assert (None if found is None else found.predicates) == (None if predicates is None else set(predicates.split()))


@pytest.mark.parametrize(
    ("stated", "leaves_out"), [({}, True), ({"dead_letter": "letters"}, False), ({"optimise": False}, False)]
)
def test_dead_letters_have_whole_events(tmp_path: Path, stated: dict[str, Any], leaves_out: bool) -> None:
    path = tmp_path / "s.nq"
    quads = [f"{stamp(f'<urn:{n}>', n)}<urn:a> <http://x/{p}> <urn:b> <urn:{n}> .\n" for n, p in enumerate("pqpq")]
    path.write_text("".join(quads))
    options = {name: str(tmp_path / value) if isinstance(value, str) else value for name, value in stated.items()}
    query = parse(QUERY.format(form="SELECT *", a="?a :p ?u"), "q")
    with kernels(on=True), mock.patch.object(job, "predicate_filter", wraps=predicate_filter) as asked:
        run = Job([query], {"S": str(path), "T": str(path)}, options=RunOptions(**options))
        assert len([row for rows in run.rows() for row in rows]) == 2
        run.close()
    assert bool(asked.mock_calls) == leaves_out
