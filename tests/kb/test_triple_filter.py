"""Only triples that the patterns of a run can use are kept, and nothing is missed for it."""

from __future__ import annotations

from pathlib import Path

import pytest

import spaseq
from kb.local import load_graph
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.parse import parse_group
from tests.kb.test_endpoint import DB, PATTERNS, data, events, query

TRIPLES = """
:a :p :b . :b :p :c . :c :q "1" . :d :q 1 . :d :r "x"@en . :d :r "x" . :e a :K . :f a :L .
"""


def kept(tmp_path: Path, *groups: str) -> int:
    """The number of triples that the patterns leave."""
    (tmp_path / "kb.ttl").write_text("@prefix : <http://x/> ." + TRIPLES)
    patterns = [parse_group(group, {"": "http://x/"}, None).pattern for group in groups]
    return len(load_graph(tmp_path / "kb.ttl", DB, Dictionary(), usable=patterns).subjects)


@pytest.mark.parametrize(
    ("groups", "count"),
    [
        ((), 0),
        (("?x :p ?y",), 2),
        (("?x :p ?y", "?x :r ?y"), 4),
        (("?x :p :c",), 1),
        (("?x :q 1",), 1),
        (('?x :r "x"@en',), 2),  # tags are compared when patterns are matched
        ((":d ?p ?y",), 3),
        (("?x ?p ?y",), 8),
        (("?x a :K",), 1),
        (("?x :p/^:q ?y",), 4),
        (("?x :p+ ?y",), 2),
        (("?x :p* ?y",), 8),  # any node is at the end of a path of length zero
        (("?x !:p ?y",), 8),
        (("?x :p ?y OPTIONAL { ?y :q ?z } MINUS { ?x a :K }",), 5),
        (("{ ?x :p ?y FILTER NOT EXISTS { ?y :q ?z FILTER EXISTS { ?x a :L } } }",), 5),
        (("{ ?x :p ?y } UNION { SELECT ?x (COUNT(?y) AS ?n) { ?x :r ?y } GROUP BY ?x }",), 4),
    ],
)
def test_what_no_pattern_can_use_is_not_kept(tmp_path: Path, groups: tuple[str, ...], count: int) -> None:
    assert kept(tmp_path, *groups) == count


@pytest.mark.parametrize("about", PATTERNS)
def test_a_run_that_keeps_what_it_can_use_gives_the_rows_of_one_that_keeps_everything(
    tmp_path: Path, about: str
) -> None:
    (tmp_path / "kb.nt").write_text(data())
    (tmp_path / "events.nq").write_text(events(60))
    asked = query(PATTERNS[about])
    some = [repr(row) for row in spaseq.run(asked, {"S": tmp_path / "events.nq"}, {DB: tmp_path / "kb.nt"})]
    whole: list[str] = []
    with spaseq.Engine({DB: str(tmp_path / "kb.nt")}) as engine:
        engine.register(asked, lambda row: whole.append(repr(row)))
        engine.push_batch("http://x/stream", (tmp_path / "events.nq").read_text())
    assert some == whole != []
