"""Conditions with COUNT, FIRST, LAST and PREV of variables that several steps bind: evaluators against the reference.

When they are decided, and that a later repeated step decides them again (specification 3.1.3, 3.4.2).
"""

from __future__ import annotations

import re
from random import Random

from sparql_gpm.terms import IRI
from spaseq.algebra.build import build
from spaseq.errors import QueryError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from tests.driving import comparable, run_engine
from tests.pairs import EVALUATORS
from tests.random_pairs import Pair, expected_rows
from tests.strategies.stream import Arrived

PAIRS = (153, 544, 924, *range(60))
"""The first ones are rare: only in them does a condition that waits for nothing have to be decided again."""
BASE = "http://x/"
TRIED = ("runs", "lazy", "tree", "adaptive")


def drawn_query(dice: Random) -> str:
    """SEQ of two or three steps of which one, at most, binds a variable in a repetition."""
    any_order = dice.random() < 0.4
    operators = ":" if any_order else ";;:,"
    repetitions = ["", "", ":{1,2}"] if any_order else ["", "", "+", "{1,2}"]
    steps = {name: dice.choice(repetitions) for name in "ABC"[: dice.choice([2, 3, 3])]}
    binds = {name: dice.choice(["v", "v", "w", f"x{name}"]) for name in steps}
    sequence = ""
    for name, repetition in steps.items():
        sequence += f" {dice.choice(operators)} {name}{repetition}" if sequence else f"{name}{repetition}"
    conditions = {name: drawn_condition(dice) if dice.random() < 0.5 else "" for name in (*steps, "match")}
    defines = "\n".join(
        f"DEFINE GPM {name} ON S {{ ?s{name} :is{name} ?{binds[name]} {conditions[name]} }}" for name in steps
    )
    partition = dice.choice(["", "PARTITION BY ?v USING { ?e ?p ?v }"])
    window = dice.choice(["100 SECONDS", "4 SECONDS"])
    return (
        f"PREFIX : <{BASE}> SELECT * WITHIN {window} SLIDING {partition} FROM STREAM S <{BASE}s>\n"
        f"WHERE {{ SEQ({sequence})\n{defines} {conditions['match'] if dice.random() < 0.3 else ''} }}"
    )


def drawn_condition(dice: Random) -> str:
    variable, number = dice.choice(["?v", "?v", "?w"]), dice.randrange(3)
    forms = (
        f"COUNT({variable}) < {number + 1}", f"COUNT({variable}) > {number}",
        f"COALESCE(LAST({variable}), :z) = {dice.choice([':z', ':k'])}", f"COALESCE(FIRST({variable}), :k) = :k",
        f"COALESCE(PREV({variable}), :z) != :k", f"!BOUND(?w) || COUNT({variable}) < 2", "!BOUND(?w) || ?v != :k",
    )  # fmt: skip
    return f"FILTER({dice.choice(forms)})"


def drawn_events(dice: Random) -> tuple[Arrived, ...]:
    found = []
    for number in range(dice.randrange(5, 9)):
        kinds = dice.sample("ABC", dice.choice([1, 1, 2]))
        triples = frozenset((IRI(f"{BASE}n"), IRI(f"{BASE}is{kind}"), IRI(BASE + dice.choice("kkl"))) for kind in kinds)
        found.append(("S", number * 10**9, f"urn:e{number}", triples))
    return tuple(found)


def drawn(number: int) -> tuple[Query, tuple[Arrived, ...]] | None:
    """A pair; None where an aggregate has no repetition to range over, or two."""
    dice = Random(f"conditions again {number}")
    text, events = drawn_query(dice), drawn_events(dice)
    repeated = re.findall(r"([ABC]):?[+{]", text.split("\n")[1])
    if any(sum(f":is{name} ?{variable} " in text for name in repeated) > 1 for variable in "vw"):
        return None
    try:
        return parse(text), events
    except QueryError:
        return None


def test_conditions_are_decided_and_decided_again_as_in_the_reference() -> None:
    rows = counted = 0
    for number in PAIRS:
        pair = drawn(number)
        if pair is None:
            continue
        query, events = pair
        expected = expected_rows(Pair(query, events, (len(events),)))
        rows, counted = rows + len(expected), counted + 1
        compiled = compile_program(build(query))
        for tried in (EVALUATORS[name] for name in TRIED):
            if tried.why_not(compiled) is None:
                found = run_engine(query, [events], evaluator=tried.option, compiled=False)
                assert [comparable(row) for row in found] == expected, (number, tried.option)
    assert counted > len(PAIRS) // 4 and rows > len(PAIRS) // 3, (counted, rows)
