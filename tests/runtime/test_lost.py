"""What the edges of a funnel lose, by cause: as the reference counts, for every cut into batches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.terms import IRI, RDF, XSD, Literal
from spaseq.explain.funnel import Funnel, to_table
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from tests.drawn import drawn
from tests.reference import funnel as literal
from tests.reference.stream import merge
from tests.reference.world import partitions, whole_world
from tests.runtime.test_funnel import counted
from tests.strategies.keyed import keyed_queries
from tests.strategies.query import queries
from tests.strategies.stream import SECOND, Arrived, batches, cuts, interleaved, streams

SEQUENCES = (
    "A {0} B {1} C", "A {0} B{{2,3}} {1} C", "A {0} (B | C)", "A {0} (B | C {1} B)", "A {0} (B & C)", "(A & B) {0} C",
    "A ; WITHIN 2 SECONDS B {0} C", "(A {0} B) WITHIN 2 SECONDS {1} C", "A {0} B? {1} C", "(A {0} B)+ {1} C",
    "A {0} C! {1} B", "A{{2,3}} {0} B", "A ;{{1,2}} {0} B", "A {0} B;+ WITHIN 2 SECONDS {1} C", "(A;{{2}} ; B)+ {0} C",
)  # fmt: skip
WINDOWS = ("3 SECONDS SLIDING", "5 SECONDS SLIDING", "4 SECONDS", "4 EVENTS SLIDING", "5 EVENTS", "3 SECONDS")
CONDITIONS = ("", "FILTER (?b > ?a)", "FILTER (?b != 1)", "FILTER (?b >= 2 && ?a < 3)")

PARTITIONS_OF_TWO_STREAMS = (20076, 20171, 20217, 20312, 20432, 21737)
"""Seeds of queries by PARTITION BY over two streams with `,`, which are rare."""


def chain(seed: int) -> tuple[str, list[Arrived]]:
    """A query that loses partial matches for many reasons, and events of its streams."""
    random = Random(seed)
    sequence = SEQUENCES[seed % len(SEQUENCES)].format(*random.choices(";;,:", k=2))
    keys = random.choice(["?k", "?k", "?own"])
    second = random.choice(["S", "S", "T"])
    partition = random.choice(["", "", "PARTITION BY ?k"]) if keys == "?k" else ""
    window = random.choice(WINDOWS)
    condition = random.choice(CONDITIONS)
    third = keys if partition else random.choice([keys, "?z"])
    steps = [("A", "S", "?k", ""), ("B", second, keys, condition), ("C", "S", third, "")]
    defines = [
        f"DEFINE GPM {name} ON {stream} {{ ?{name}s a :{name} ; :k {key} ; :v ?{name.lower()} . {test} }}"
        for name, stream, key, test in steps
        if name in sequence
    ]
    text = f"""PREFIX : <http://x/> SELECT * WITHIN {window} {partition}
    FROM STREAM S <http://x/s> {"FROM STREAM T <http://x/t>" if second == "T" else ""}
    WHERE {{ SEQ({sequence}) {" ".join(defines)} }}"""
    return text, list(_events(random, ("S", "S", second)))


def _events(random: Random, streams: Sequence[str]) -> Iterator[Arrived]:
    time = 0
    for number in range(random.randrange(4, 14)):
        time += random.choice([0, 1, 1, 2]) * SECOND
        triples = []
        for kind in random.sample("ABCX", random.choice([1, 1, 2])):
            subject = IRI(f"http://x/{number}{kind}")
            triples += [(subject, IRI(RDF + "type"), IRI(f"http://x/{kind}"))]
            for _ in range(random.choice([1, 1, 1, 2])):
                triples += [(subject, IRI("http://x/k"), IRI(f"http://x/k{random.randrange(2)}"))]
                triples += [(subject, IRI("http://x/v"), Literal(str(random.randrange(4)), XSD + "integer"))]
        yield random.choice(streams), time, f"urn:e{number}", frozenset(triples)


def lost_as_by_the_reference(query: Query, arrived: Sequence[Arrived], funnel: Funnel) -> Counter[str]:
    """Compares what edges lose with the reference; returns the causes. Edges that are there twice are left out."""
    arrivals = {stream.name: [event[1:] for event in arrived if event[0] == stream.name] for stream in query.streams}
    if any(edge.took is None for edge in funnel.edges):
        return Counter()
    expected = literal.edges_lost(list(partitions(whole_world(query, merge(arrivals), {}))))
    edges = Counter((edge.source, edge.target) for edge in funnel.edges)
    seen = Counter[str]()
    for edge in funnel.edges:
        if edge.lost is None or edges[edge.source, edge.target] > 1:
            continue
        none = {"end": 1} if edge.source == "start" else {}
        assert dict(edge.lost) == dict(expected.get((edge.source, edge.target), none)), (edge, expected)
        seen.update(edge.lost)
    return seen


def check(text: str, arrived: Sequence[Arrived], sizes: Sequence[int]) -> Counter[str]:
    query = parse(text, "q")
    funnel = counted(query, batches(arrived, sizes), evaluator="nfa")[0]
    return lost_as_by_the_reference(query, arrived, funnel)


def test_every_cause_is_counted_as_by_the_reference() -> None:
    seen = Counter[str]()
    for seed in (*range(drawn(40)), *PARTITIONS_OF_TWO_STREAMS):
        text, arrived = chain(seed)
        first = Random(seed).randrange(len(arrived) + 1)
        seen += check(text, arrived, [first, len(arrived) - first])
    assert seen.keys() == set(literal.CAUSES), seen


@settings(max_examples=drawn(8))
@given(st.data())
def test_what_edges_of_any_query_lose_is_what_the_reference_counts(data: st.DataObject) -> None:
    arrivals = data.draw(streams())
    text = data.draw(queries() | keyed_queries())
    names = {stream.name for stream in parse(text, "q").streams}
    arrived = interleaved({name: events for name, events in arrivals.items() if name in names})
    check(text, arrived, data.draw(cuts(len(arrived))))


@settings(max_examples=drawn(4))
@given(seed=st.integers(0, 1 << 32), data=st.data())
def test_edges_lose_the_same_for_every_cut_and_where_runs_may_be_replaced(seed: int, data: st.DataObject) -> None:
    text, arrived = chain(seed)
    query = parse(text, "q")
    whole = counted(query, [arrived], evaluator="nfa")[0].edges
    assert counted(query, batches(arrived, data.draw(cuts(len(arrived)))), evaluator="nfa")[0].edges == whole
    chosen = counted(query, [[event] for event in arrived])[0].edges
    assert chosen == whole or all(edge.lost is None for edge in chosen)


@pytest.mark.parametrize(
    ("sequence", "window", "written", "lost"),
    [
        ("A ; B", "9 SECONDS SLIDING", "1A1 2A2 3B1", {"join": 1}),
        ("A ; B", "9 SECONDS SLIDING", "1A1 2A2 3B1 20B2 30B1", {"window": 1}),
        ("A ; B", "9 SECONDS SLIDING", "1A1 2B2 20B1", {"window": 1}),
        ("A ; WITHIN 1 SECONDS B", "9 SECONDS SLIDING", "1A1 3A1 4X 5B1 20B2", {"limit": 2}),
        ("A , B", "9 SECONDS SLIDING", "1A1 2X 3B1 4A1 5B2 6A1", {"contiguity": 1, "join": 1, "end": 1}),
        (
            "A , B",
            "9 SECONDS SLIDING PARTITION BY ?k",
            "1A1 2X2 3B2 4B1 5A1 6A1 7A3 50B2",
            {"contiguity": 1, "join": 2},
        ),
        ("A ; (B | C)", "9 SECONDS SLIDING", "1A1 2C1 3B1", {"contiguity": 1}),
        ("A ;{2} ; B", "9 SECONDS SLIDING", "1A1 2A1 3B1", {"iterations": 2}),
        ("A ; B! ; C", "9 SECONDS SLIDING", "1A1 2B1 3C1", None),
        ("A : B : C", "9 SECONDS SLIDING", "1A1 2B2", None),
    ],
)
def test_each_cause(sequence: str, window: str, written: str, lost: dict[str, int] | None) -> None:
    """Events as written: time, type, value of :k."""
    defines = (f"DEFINE GPM {n} ON S {{ ?{n} a :{n} ; :k ?k }}" for n in "ABC" if n in sequence)
    query = parse(
        f"PREFIX : <http://x/> SELECT * WITHIN {window} FROM STREAM S <http://x/s> "
        f"{{ SEQ({sequence}) {' '.join(defines)} }}",
        "q",
    )
    arrived = []
    for number, event in enumerate(written.split()):
        time, kind, key = re.fullmatch(r"(\d+)([A-Z])(\d?)", event).groups()  # type: ignore[union-attr]
        subject = IRI(f"http://x/{number}")
        triples = {
            (subject, IRI(RDF + "type"), IRI(f"http://x/{kind}")),
            (subject, IRI("http://x/k"), IRI(f"urn:{key}")),
        }
        arrived.append(("S", int(time) * SECOND, f"urn:e{number}", frozenset(triples)))
    funnel = counted(query, [arrived], evaluator="nfa")[0]
    found = [edge for edge in funnel.edges if (edge.source, edge.target) == ("A", "B")]
    assert [edge.lost for edge in found] == ([lost] if found else [])
    lines = [line.split() for line in to_table([funnel]).splitlines()]
    assert all(["lost:", cause, str(count)] in lines for cause, count in (lost or {}).items())
