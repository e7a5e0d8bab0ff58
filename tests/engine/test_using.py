"""`PARTITION BY … USING`: what explain says of it, bounds, late enrichment, and the joins of columns and rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spaseq
from automata.cea.applicability import why_not_cea
from sparql_gpm.bounds import MatchBounds
from sparql_gpm.columns import UNBOUND, Solutions
from sparql_gpm.event_join import joined, projected
from spaseq.algebra.build import build
from spaseq.engine.described import describe
from spaseq.explain.render import render
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from spaseq.runtime.stages.partition_values import join_rows, row_partitions
from tests.drawn import drawn

EX = "http://ex.org/"
HEAD = f"PREFIX : <{EX}> SELECT * WITHIN 9 SECONDS PARTITION BY ?u USING {{ ?e :k ?u }} FROM STREAM S <{EX}s>"
TRIG = f"""@prefix : <{EX}> . @prefix prov: <http://www.w3.org/ns/prov#> .
<urn:a1> prov:generatedAtTime 1 . <urn:a1> {{ [] a :A ; :k :x, :y, :z ; :v 1, 2 }}
<urn:a2> prov:generatedAtTime 2 . <urn:a2> {{ [] a :A ; :k :x ; :v 1, 2 }}
<urn:b3> prov:generatedAtTime 3 . <urn:b3> {{ [] a :B ; :k :x, :y, :z }}
"""


def query(sequence: str, a: str = "?a a :A", b: str = "?b a :B") -> spaseq.Query:
    return parse(f"{HEAD} {{ SEQ({sequence}) DEFINE GPM A ON S {{ {a} }} DEFINE GPM B ON S {{ {b} }} }}", "q")


def test_explain_writes_variables_as_the_query_does() -> None:
    found = describe(query("A ; B", a="?a a :A FILTER(?u != :z && ?b != ?u)"))
    text = render(found, "text")
    assert "once for each value of ?u, over the events in which USING finds it" in text
    assert "#" not in text.replace("rdf-syntax-ns#type", "").replace("XMLSchema#", "")
    assert "USING on S → ?u" in text
    assert json.loads(render(found, "json"))["partition"] == ["u"]
    assert "#" not in json.dumps(json.loads(render(found, "json"))["edges"])


@pytest.mark.parametrize(
    ("sequence", "objects", "able"),
    [
        ("A , B", ("?p", "?q"), True),
        ("A : B", ("?k", "?k"), True),
        ("A , B", ("?k", "?k"), False),
        ("A , B", ("?u", "?u"), True),
    ],
)
def test_events_of_a_partition_count_under_strict_contiguity_whatever_else_joins_the_steps(
    sequence: str, objects: tuple[str, str], able: bool
) -> None:
    steps = (f"?{name} a :{name.upper()} ; :o {own}" for name, own in zip("ab", objects, strict=True))
    refusal = why_not_cea(compile_program(build(query(sequence, *steps))).plan)
    assert (refusal is None) == able


@pytest.mark.parametrize("batch", [1, 3])
def test_an_event_with_too_many_solutions_in_all_partitions_together_is_left_out(batch: int, tmp_path: Path) -> None:
    path = tmp_path / "s.trig"
    path.write_text(TRIG)
    letters = tmp_path / "letters.ndjson"
    bounded = query("A : B", a="?a a :A ; :v ?v")
    rows = list(spaseq.run(bounded, {"S": str(path)}, dead_letter=letters, max_solutions=4, batch_events=batch))
    assert Counter(name for row in rows for name in dict(row.events)["A"]) == {"urn:a2": 2}
    reason = "pattern A of query q has more than 4 solutions (--max-solutions) in the event <urn:a1>"
    assert reason in letters.read_text()


def test_a_knowledge_base_that_a_step_joins_with_the_partition_is_not_asked_late() -> None:
    kb = "OPTIONAL { GRAPH <http://ex.org/kb> { ?a :of ?u } }"
    text = " ".join(render(describe(query("A ; B", a=f"?a a :A {kb}")), "text").split())
    assert "A → ?a ?u, joined with each event: ?u is needed by PARTITION BY" in text


Row = tuple[int, int, int]
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=12)


def as_solutions(found: Sequence[Row], names: Sequence[str]) -> Solutions:
    table = np.array(sorted(set(found)), dtype=np.int64).reshape(-1, 3)
    return Solutions(table[:, 0], {name: table[:, number + 1] for number, name in enumerate(names)})


def as_rows(found: Solutions) -> list[tuple[int, ...]]:
    return sorted(zip(found.events.tolist(), *(column.tolist() for column in found.columns.values()), strict=True))


@settings(max_examples=drawn(200))
@given(rows, rows)
def test_columns_and_rows_are_joined_with_the_same_partitions(own: list[Row], using: list[Row]) -> None:
    """`own` binds ?u and ?o, `using` ?u and ?e; UNBOUND is 0."""
    partitions = projected(as_solutions(using, ("u", "e")), [("u", "u#")])
    assert as_rows(partitions) == sorted({(event, u) for event, u, _ in using if u != UNBOUND})
    found, exceeded = joined(as_solutions(own, ("u", "o")), partitions, [("u", "u#")], MatchBounds())
    expected = [
        (event, u, o, given)
        for (event, u, o), (other, given) in product(sorted(set(own)), as_rows(partitions))
        if event == other and u in (UNBOUND, given)
    ]
    assert not exceeded and as_rows(found) == sorted(expected)
    for event in range(4):
        here = row_partitions([(u,) for other, u, _ in using if other == event])
        mine = [(u, o) for other, u, o in sorted(set(own)) if other == event]
        assert sorted(join_rows(mine, here, [(0, 0)], 2)) == sorted((g, u, o) for e, u, o, g in expected if e == event)
