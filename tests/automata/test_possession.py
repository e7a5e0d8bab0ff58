"""Possessive repetitions: an episode costs as many runs as it has events, and states go on elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from automata.chains import active_runs, store
from automata.chains.store import ChainStore
from automata.plan.pruning import skips_later_starts
from automata.runs.columns import run_evaluator
from sparql_gpm.terms import IRI, BlankNode
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from tests import pairs
from tests.driving import run_engine
from tests.pairs import Pair, difference, expected_rows, shown
from tests.restarted_pairs import run_restarted
from tests.strategies.possessive import PossessiveText
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import Arrived, drawn_cuts, drawn_streams, interleaved

SECOND = 1_000_000_000
A = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
LENGTHS = (60, 120)
SKIP = "AFTER MATCH SKIP PAST LAST EVENT"
EPISODES = (("A ; B;++ ; C", "B"), ("A ; B;++ : C", "B"), ("A ; B;{5,}+", "B"), ("A ; (B ; D);++ ; C", "BD"))


def episode(kinds: str, length: int) -> list[Arrived]:
    """An A, an iteration of these kinds so often, and a C."""
    every = ["A", *(kinds * length), "C"]
    return [
        ("S", n * SECOND, f"urn:e{n}", frozenset({(BlankNode(f"b{n}"), A, IRI(f"http://x/{kind}"))}))
        for n, kind in enumerate(every)
    ]


def cost(sequence: str, events: Sequence[Arrived], size: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """The runs made, and the most that could go on after a batch of so many events, for the one match."""
    stores: list[ChainStore] = []
    init = ChainStore.__init__

    def noted(self: ChainStore, *arguments: object, **options: object) -> None:
        init(self, *arguments, **options)  # type: ignore[arg-type]
        stores.append(self)

    steps = " ".join(f"DEFINE GPM {kind} ON S {{ ?{kind} a <http://x/{kind}> }}" for kind in "ABCD" if kind in sequence)
    query = parse(f"SELECT * WITHIN 1 DAY FROM STREAM S <http://x/s> {{ SEQ({sequence}) {steps} }} {SKIP}", "q")
    with monkeypatch.context() as patch:
        patch.setattr(ChainStore, "__init__", noted)
        rows = run_engine(query, [events[at : at + size] for at in range(0, len(events), size)], evaluator="nfa", few=1)
    assert [len(names) for _, names in rows[0].events] and len(rows) == 1
    (chains,) = stores
    return chains.runs.made, sum(map(len, chains.active))


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(("sequence", "kinds"), EPISODES)
def test_an_episode_makes_as_many_runs_as_it_has_events(
    sequence: str, kinds: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for length in LENGTHS:
        made, alive = cost(sequence, episode(kinds, length), size, monkeypatch)
        assert made <= 3 * len(kinds) * length
        assert alive <= 6


def test_later_starts_of_an_episode_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [cost("B;{5,}+", episode("B", length), 10**6, monkeypatch)[0] for length in (400, 800)]
    assert made[1] <= 2.2 * made[0] <= 2.2 * run_evaluator._GROUP * 400


@pytest.mark.parametrize("group", [1, 3, 32])
def test_random_episodes_equal_the_reference_where_later_starts_are_dropped(
    group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_evaluator, "_GROUP", group)
    rows = 0
    for number in range(100):
        dice = SeededDice(Random(f"episode {group} {number}"))
        window = dice.pick("3 SECONDS", "4 SECONDS SLIDING", "2 SECONDS SLIDING", "8 SECONDS", "100 SECONDS")
        kept = dice.pick("", "FILTER(?v < 3)", "FILTER(?v >= 1)")
        partition = dice.pick("", "PARTITION BY ?k", "PARTITION BY ?p USING { ?u a ?p }")
        text = (
            f"PREFIX : <http://ex.org/> SELECT * WITHIN {window} {partition} "
            f"FROM STREAM S1 <http://ex.org/s1> {{ SEQ(B;{dice.pick('++', '{2,}+', '{3,}+')}) "
            f"DEFINE GPM B ON S1 {{ ?s a :{dice.pick('A', 'B')} ; :k ?k ; :v ?v . {kept} }} }} "
            f"AFTER MATCH SKIP PAST LAST EVENT {dice.pick('', 'LIMIT 1')}"
        )
        query = parse(text, "q")
        assert skips_later_starts(compile_program(build(query)).plan)
        arrived = tuple(("S1", *event) for event in drawn_streams(dice, 6, 14)["S1"])
        pair = Pair(query, arrived, tuple(drawn_cuts(dice, len(arrived))) if dice.chance(60) else (len(arrived),))
        expected = expected_rows(pair)
        rows += len(expected)
        assert not difference("runs", pair, expected), shown(pair)
    assert rows > 50


@pytest.mark.parametrize("restarted", [False, True])
def test_random_pairs_equal_the_reference_with_small_indexes_and_after_restarts(
    restarted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "COMPACT_MIN", 1)
    monkeypatch.setattr(active_runs, "_UNSORTED_MAX", 0)
    monkeypatch.setattr(active_runs, "_SCAN_FACTOR", 0)
    if restarted:
        monkeypatch.setattr(pairs, "run_engine", run_restarted)
    rows = 0
    for number in range(120):
        dice = SeededDice(Random(f"possession {number}"))
        query = parse(PossessiveText(dice).whole(), "q")
        declared = {stream.name for stream in query.streams}
        arrivals = {name: events for name, events in drawn_streams(dice, 4, 12).items() if name in declared}
        arrived = tuple(interleaved(arrivals))
        pair = Pair(query, arrived, tuple(drawn_cuts(dice, len(arrived))))
        expected = expected_rows(pair)
        rows += len(expected)
        assert not difference("runs", pair, expected), shown(pair)
    assert rows > 15


def test_a_partition_s_events_decide_an_episode_that_comes_event_by_event() -> None:
    query = parse(
        "SELECT * WITHIN 3 EVENTS SLIDING PARTITION BY ?k FROM STREAM S <http://x/s> "
        "{ SEQ(A ; B;++) DEFINE GPM A ON S { ?a a <http://x/A> ; <http://x/k> ?k } "
        "DEFINE GPM B ON S { ?b a <http://x/B> ; <http://x/k> ?k } }",
        "q",
    )
    arrived = []
    for n, (kind, key) in enumerate(["Ax", "Ay", "Bx", "By", "Bx", "By", "Bx", "By", "Ax"]):
        node = BlankNode(f"b{n}")
        triples = frozenset({(node, A, IRI(f"http://x/{kind}")), (node, IRI("http://x/k"), IRI(f"http://x/{key}"))})
        arrived.append(("S", n * SECOND, f"urn:e{n}", triples))
    for sizes in ((9,), (1,) * 9, (5, 1, 1, 2)):
        pair = Pair(query, tuple(arrived), sizes)
        expected = expected_rows(pair)
        assert len(expected) == 2
        assert not difference("runs", pair, expected)
