"""Members of a conjunction are matched only where the others have solutions, and nothing else changes."""

from __future__ import annotations

import pytest

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from spaseq.physical.planner import conjunctions
from spaseq.physical.program import compile_program
from spaseq.runtime.embedded.network import Network
from tests.driving import as_batch

A, B = (IRI(f"urn:{name}") for name in "AB")
KIND, X = IRI("urn:kind"), IRI("urn:x")


def text(sequence: str, partition: str = "") -> str:
    defines = " ".join(
        f"DEFINE GPM {name} ON {stream} {{ ?{name.lower()} <urn:kind> <urn:{name}> }}"
        for name, stream in zip("ABC", "STS", strict=True)
        if name in sequence
    )
    streams = "FROM STREAM S <urn:s> FROM STREAM T <urn:t>"
    return f"SELECT * WITHIN 100 SECONDS {partition} {streams} WHERE {{ SEQ({sequence}) {defines} }}"


@pytest.mark.parametrize(
    ("sequence", "found"),
    [
        ("A & B", ((0, 1),)),
        ("C ; A & B", ((0, 1),)),
        ("C ; (A & B)!; C", ((0, 1),)),
        ("ALL(C, (A & B))", ((0, 1),)),
        ("A & B & C", ((0, 1, 2),)),
        ("A ; A & B", ()),
        ("A & B : (B & C)", ()),
        ("A ; B", ()),
    ],
)
def test_only_what_is_never_taken_otherwise_is_solved_lazily(sequence: str, found: tuple[tuple[int, ...], ...]) -> None:
    program = compile_program(build(parse(text(sequence), "q"))).program
    named = {program.symbols[number].name for symbols in conjunctions(program) for number in symbols}
    assert named == {"ABC"[number] for symbols in found for number in symbols}


def test_with_partitions_every_event_counts() -> None:
    source = text("A & B", "PARTITION BY ?k").replace("?a", "?k").replace("?b", "?k")
    assert conjunctions(compile_program(build(parse(source, "q"))).program) == ()


def run(lazy: bool) -> tuple[list[Row], list[int]]:
    """A hundred events on S, each an A; the tenth part as many on T, each a B at the same time."""
    dictionary = Dictionary()
    network = Network(dictionary, 0)
    operator = Setup({}, RunOptions(evaluator="nfa"), dictionary).operator(build(parse(text("A & B"), "q")))
    if not lazy:
        operator.patterns.solver.conjunctions = ()
    rows: list[Row] = []
    network.add(operator, rows.extend)
    second = 1_000_000_000
    many = [("S", n * second, f"urn:a{n}", frozenset({(X, KIND, A)})) for n in range(100)]
    few = [("T", n * second, f"urn:b{n}", frozenset({(X, KIND, B)})) for n in range(0, 100, 10)]
    network.push("urn:t", as_batch(few, dictionary))
    network.push("urn:s", as_batch(many, dictionary))
    network.finish()
    return rows, operator.patterns.solver.matched


def test_the_frequent_member_is_matched_at_the_times_of_the_rare_one_only() -> None:
    (lazy, seldom), (eager, often) = run(True), run(False)
    assert [(row.time, dict(row.events)) for row in lazy] == [(row.time, dict(row.events)) for row in eager]
    assert len(lazy) == 10
    assert (seldom, often) == ([10, 10], [100, 10])
