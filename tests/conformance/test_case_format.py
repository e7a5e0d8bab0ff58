"""The worked cases are as `cases/README.md` says, so that another implementation can run them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyoxigraph
import pytest

from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from tests.conformance.cases import OWN, TIME_PREDICATE, Case, case_folders, graph_names
from tests.conformance.times import from_iso
from tests.specification import numbers, semantic_numbers

README = (OWN / "README.md").read_text(encoding="utf-8")
FILE = re.compile(r"[A-Za-z_]\w*\.(rq|trig|nq)|kb\w*\.ttl|expected\.ndjson|about\.txt")
CASES = case_folders(OWN)
NUMBERS = frozenset(numbers())


def test_every_folder_is_a_case() -> None:
    assert [path.name for path in sorted(OWN.iterdir()) if path.is_dir()] == [case.folder.name for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_a_case_has_the_documented_format(case: Case) -> None:
    queries = [parse(path.read_text(encoding="utf-8"), path.stem) for path in case.queries]
    _check_files(case, queries)
    _check_events(case)
    _check_rows(case, queries[0])
    _check_about(case)


def _check_files(case: Case, queries: Sequence[Query]) -> None:
    files = {path.name for path in case.folder.iterdir()}
    assert {name for name in files if not FILE.fullmatch(name)} == set()
    assert files >= {"query.rq", "expected.ndjson", "about.txt"}
    declared = {stream.name: stream.iri for query in queries for stream in query.streams}
    derived = {query.register for query in queries}
    assert set(case.streams) == {name for name, iri in declared.items() if iri not in derived}
    for path in case.kbs.values():
        assert re.match(r"# KB <[^<> ]+>\n", path.read_text(encoding="utf-8"))


def _check_events(case: Case) -> None:
    """Each event has one time, in the default graph."""
    for path in case.streams.values():
        quads = list(pyoxigraph.parse(path=str(path)))
        outside = [quad for quad in quads if isinstance(quad.graph_name, pyoxigraph.DefaultGraph)]
        assert {quad.predicate.value for quad in outside} == {TIME_PREDICATE}
        timed = [str(quad.subject) for quad in outside]
        assert len(timed) == len(set(timed))
        assert set(timed) >= {str(quad.graph_name) for quad in quads if quad not in outside}


def _check_rows(case: Case, query: Query) -> None:
    events = set(graph_names(case))
    fields = {"query", "time", "start", "events"}
    fields |= {"bindings"} if query.template is None else {"graph", "triples"}
    for row in case.expected:
        assert set(row) == fields
        assert row["query"] == "query"
        assert from_iso(row["start"]) <= from_iso(row["time"])
        assert set(row["events"]) <= {define.name for define in query.defines}
        assert {name for step in row["events"].values() for name in step} <= events or len(case.queries) > 1
        assert row.get("triples", []) == sorted(row.get("triples", []))
        for term in row.get("bindings", {}).values():
            assert {"type", "value"} <= set(term) <= {"type", "value", "datatype", "xml:lang", "its:dir"}


def _check_about(case: Case) -> None:
    first, blank, about = (case.folder / "about.txt").read_text(encoding="utf-8").split("\n", 2)
    assert re.fullmatch(r"Specification \d+(\.\d+)*(, \d+(\.\d+)*)*", first)
    assert blank == ""
    assert about.strip()
    assert [number for number in case.sections if number not in NUMBERS] == []


def test_every_section_that_states_semantics_has_a_case() -> None:
    shown = {number for case in CASES for number in case.sections}
    assert [number for number in semantic_numbers() if number not in shown] == []


def test_the_names_of_cases_begin_with_a_topic_of_the_page() -> None:
    table = README.split("| topic | shows |")[1].split("\n\n")[0]
    topics = {topic for row in table.splitlines() for topic in re.findall(r"`(\w+)`", row.split("|")[1] if row else "")}
    assert {case.folder.name.split("_")[0] for case in CASES} == topics


def test_the_example_of_the_page_is_a_case() -> None:
    files = dict(re.findall(r"`([\w.]+)`:\n\n```\n(.*?)```", README, re.DOTALL))
    folder = OWN / "op_next_joins"
    assert files == {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
