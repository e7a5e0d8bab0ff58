"""The borders of windows and of iterations, for every evaluator, with events in one batch and one by one."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import pytest

from automata import protocol
from sparql_gpm.terms import IRI, RDF, XSD, Literal
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from tests.driving import comparable, run_engine
from tests.pairs import EVALUATORS
from tests.reference.api import evaluate
from tests.restarting import Restarting
from tests.strategies.stream import ORIGIN, Arrived

SECOND = 1_000_000_000
FORMS = {"columns": 0, "rows": 24}
"""So many events that come together may be evaluated row at a time, where the evaluator has that form."""
STEPS = """DEFINE GPM A ON S1 { ?a a :A ; :k ?k ; :v ?v } DEFINE GPM B ON S1 { ?b a :B ; :k ?k ; :v ?w }
DEFINE GPM N ON S1 { ?n a :N ; :k ?k }"""


def query(sequence: str, window: str, clause: str = "", steps: str = STEPS) -> str:
    """A query over the steps that its sequence names."""
    defines = [f"DEFINE{part}" for part in steps.split("DEFINE")[1:] if part.split()[1] in sequence]
    names = " ".join(defines)
    return f"""PREFIX : <http://ex.org/>
SELECT * WITHIN {window} {clause} FROM STREAM S1 <http://ex.org/s1> WHERE {{ SEQ({sequence}) {names} }}"""


def events(text: str) -> list[Arrived]:
    """Events such as `A@1` or `B@2.5=3/y`: kind, second, value (else 1) and key (else x)."""
    found: list[Arrived] = []
    for number, word in enumerate(text.split()):
        kind, rest = word.split("@")
        rest, _, key = rest.partition("/")
        second, _, value = rest.partition("=")
        seconds, _, nanoseconds = second.partition(".")
        time = ORIGIN + int(seconds) * SECOND + int(nanoseconds.ljust(9, "0"))
        thing = IRI(f"http://ex.org/s{number}")
        pairs = (
            (RDF + "type", IRI(f"http://ex.org/{kind}")),
            ("http://ex.org/k", IRI(f"http://ex.org/{key or 'x'}")),
            ("http://ex.org/v", Literal(value or "1", XSD + "integer")),
        )
        found.append(("S1", time, f"urn:e{number}", frozenset((thing, IRI(p), o) for p, o in pairs)))
    return found


CASES = {
    "sliding time": (query("A : B", "3 SECONDS SLIDING"), "A@1 B@4 B@4.000000001 A@5 B@8", 2),
    "tumbling time": (query("A : B", "4 SECONDS"), "A@4 B@7.999999999 B@8 A@8 B@9", 2),
    "tumbling from a start": (
        query("A : B", '4 SECONDS STARTING AT "2026-01-01T00:00:01Z"'),
        "A@0 B@1 A@1 B@4.999999999 B@5",
        1,
    ),
    "sliding events": (query("A : B", "3 EVENTS SLIDING"), "A@1 Z@2 B@3 B@4 A@5 B@6", 2),
    "sliding events in partitions": (
        query("A : B", "2 EVENTS SLIDING", "PARTITION BY ?k"),
        "A@1/x A@2/y B@3/x B@4/x B@5/y",
        2,
    ),
    "tumbling events": (query("A : B", "3 EVENTS"), "Z@1 A@2 B@3 B@4 A@5 B@6 B@7", 2),
    "tumbling events in partitions": (
        query("A : B", "2 EVENTS", "PARTITION BY ?k"),
        "A@1/x A@2/y B@3/x B@4/x B@5/y B@6/y",
        2,
    ),
    "trailing, sliding time": (query("A : N!", "3 SECONDS SLIDING"), "A@1 Z@4 N@4 A@5 Z@8 N@8.000000001", 1),
    "trailing, tumbling time": (
        query("A : N!", "4 SECONDS"),
        "A@4 Z@7.999999999 N@7.999999999 A@9 Z@11.999999999 Z@12 N@12",
        1,
    ),
    "trailing, sliding events": (query("A : N!", "3 EVENTS SLIDING"), "A@1 Z@2 N@3 A@4 Z@5 Z@6 N@7", 1),
    "trailing, events in partitions": (
        query("A : N!", "2 EVENTS SLIDING", "PARTITION BY ?k", STEPS.replace("?n a :N ; :k ?k", "?n a :N")),
        "A@1/x A@2/x N@3/y A@4/x A@5/x",
        2,
    ),
    "leading, sliding time": (query("N! : A", "3 SECONDS SLIDING"), "N@1 A@4 A@4.000000001", 1),
    "PREV outside its loop": (
        query("A:{2} : B", "9 SECONDS", steps=STEPS.replace("?w }", "?w FILTER(?w > PREV(?v)) }")),
        "A@1=5 A@2=1 B@3=3 B@4=6",
        1,
    ),
    "PREV outside its loop, in partitions": (
        query("A:{2} : B", "9 SECONDS", "PARTITION BY ?k", STEPS.replace("?w }", "?w FILTER(?w > PREV(?v)) }")),
        "A@1=1 A@2=5 B@3=3 B@4=6",
        2,
    ),
}


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("name", CASES)
def test_what_lies_at_a_border_is_inside_or_outside_as_the_language_says(name: str, evaluator: str) -> None:
    text, stream, count = CASES[name]
    parsed, arrived = parse(text, "q"), events(stream)
    expected = [comparable(row) for row in evaluate(parsed, {"S1": [each[1:] for each in arrived]})]
    assert len(expected) == count
    tried = EVALUATORS[evaluator]
    if tried.why_not(compile_program(build(parsed))) is not None:
        return
    for pieces in ([arrived], [[one] for one in arrived]):
        for few in FORMS.values():
            rows = run_engine(parsed, pieces, evaluator=tried.option, compiled=tried.compiled, few=few)
            assert [comparable(row) for row in rows] == expected, (pieces, few)


def reported(text: str, stream: str, evaluator: str, form: str) -> Sequence[int]:
    """How many rows there are after each event, and at the end."""
    counts = []
    with patch.object(protocol, "FEW_EVENTS_MAX", FORMS[form]):
        running = Restarting(parse(text, "q"), 0, EVALUATORS[evaluator].option, EVALUATORS[evaluator].compiled)
        for one in events(stream):
            running.push([one])
            counts.append(len(running.rows))
    running.network.finish()
    return [*counts, len(running.rows)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("evaluator", ["runs", "lazy", "tree", "adaptive"])
@pytest.mark.parametrize(
    ("window", "stream", "counts"),
    [
        ("3 SECONDS SLIDING", "A@1 Z@3.999999999 Z@4 Z@4.000000001", [0, 0, 0, 1, 1]),
        ("4 SECONDS", "A@4 Z@7.999999999 Z@8 Z@9", [0, 0, 1, 1, 1]),
        ("3 EVENTS SLIDING", "A@1 Z@2 Z@3 Z@4", [0, 0, 0, 1, 1]),
        ("3 EVENTS", "Z@1 A@2 Z@3 Z@4", [0, 0, 0, 1, 1]),
        ("9 SECONDS SLIDING", "A@1 Z@2", [0, 0, 1]),
    ],
)
def test_a_match_with_a_trailing_negation_is_reported_when_its_window_has_passed(
    window: str, stream: str, counts: list[int], evaluator: str, form: str
) -> None:
    assert reported(query("A : N!", window), stream, evaluator, form) == counts
