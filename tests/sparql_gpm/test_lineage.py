"""The lineage of a solution: the triples by which a pattern has it."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest

from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.lineage import lineage
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.parse import parse_group
from sparql_gpm.rdf_io import ReadOptions, read_events
from sparql_gpm.terms import IRI, Term, to_ntriples

PREFIXES = {"": "http://x/"}
GRAPH = """
:a :knows :b , :c . :b :knows :d . :c :knows :d . :d :knows :e . :a :age 7 . :b :age 9 . :d :age 9 . :x :knows :y .
:a :name "A" . :b :mail "b" .
"""


def read(text: str, dictionary: Dictionary) -> EventBatch:
    source = f"@prefix : <http://x/> . :g <http://www.w3.org/ns/prov#generatedAtTime> 10 . :g {{ {text} }}"
    (batch,) = read_events(BytesIO(source.encode()), "trig", dictionary, ReadOptions(), print)
    return batch


def used(pattern: str, **solution: str) -> list[str]:
    """The triples, without the namespace and the last dot."""
    dictionary = Dictionary()
    batch, evaluator = read(GRAPH, dictionary), ExpressionEvaluator(dictionary)
    parsed = parse_group(pattern, PREFIXES, None).pattern
    found = lineage(parsed, {n: IRI(f"http://x/{t}") for n, t in solution.items()}, batch, dictionary, evaluator)
    return sorted(" ".join(map(short, triple)) for triple in found.triples)


def short(term: Term) -> str:
    return to_ntriples(term).replace("http://x/", "").replace("<", "").replace(">", "").split("^^")[0]


CASES = [
    ("?s :knows ?o", {"s": "a", "o": "b"}, ["a knows b"]),
    ("?s :knows [ :knows ?o ]", {"s": "a", "o": "d"}, ["a knows b", "a knows c", "b knows d", "c knows d"]),
    ("?s :knows/:knows ?o", {"s": "a", "o": "d"}, ["a knows b", "a knows c", "b knows d", "c knows d"]),
    ("?s :knows+ ?o", {"s": "b", "o": "e"}, ["b knows d", "d knows e"]),
    ("?s (:mail|:name|:knows) ?o", {"s": "b", "o": "d"}, ["b knows d"]),
    ("?s !(:knows) ?o", {"s": "a"}, ['a age "7"', 'a name "A"']),
    ("?o ^:knows ?s", {"s": "a", "o": "c"}, ["a knows c"]),
    ("?s :age ?n OPTIONAL { ?s :mail ?m }", {"s": "a"}, ['a age "7"']),
    ("?s :age ?n OPTIONAL { ?s :mail ?m }", {"s": "b"}, ['b age "9"', 'b mail "b"']),
    ("{ ?s :mail ?m } UNION { ?s :name ?m }", {"s": "a"}, ['a name "A"']),
    ("?s :age ?n FILTER NOT EXISTS { ?s :mail ?m }", {"s": "d"}, ['d age "9"']),
    ("?s :age ?n MINUS { ?s :mail ?m }", {"s": "d"}, ['d age "9"']),
    ("{ SELECT ?s { ?s :knows ?n } } ?s :age ?n", {"s": "a"}, ["a age \"7\"", "a knows b", "a knows c"]),
    ("SELECT ?s (COUNT(*) AS ?c) { ?s :knows ?o } GROUP BY ?s HAVING (COUNT(*) > 1)", {"s": "a"},
     ["a knows b", "a knows c"]),
    ("BIND (1 AS ?one)", {}, []),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "solution", "expected"), CASES)
def test_the_triples_of_every_derivation_are_named(pattern: str, solution: dict[str, str], expected: list[str]) -> None:
    assert used(pattern, **solution) == expected


@pytest.mark.parametrize("pattern", [case[0] for case in CASES if "HAVING" not in case[0]])
def test_a_pattern_has_a_solution_in_an_event_that_is_nothing_but_its_lineage(pattern: str) -> None:
    dictionary = Dictionary()
    batch, evaluator = read(GRAPH, dictionary), ExpressionEvaluator(dictionary)
    parsed = parse_group(pattern, PREFIXES, None).pattern
    matcher = compile_pattern(parsed, dictionary, evaluator)
    found = matcher.match(batch)
    assert len(found)
    for row in range(len(found)):
        ids = {name: int(column[row]) for name, column in found.columns.items() if column[row]}
        traced = lineage(parsed, {n: dictionary.term(i) for n, i in ids.items()}, batch, dictionary, evaluator)
        triples = [tuple(map(dictionary.intern, triple)) for triple in traced.triples]
        again = matcher.match(RowEvent(0, 0, "g", triples).batch)
        same = np.ones(len(again), dtype=np.bool_)
        for name, identifier in ids.items():
            same &= again.columns[name] == identifier
        assert same.any()
