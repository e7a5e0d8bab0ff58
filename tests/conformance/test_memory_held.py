"""Memory held: what no later match can need is dropped, for every evaluator."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest

from automata import protocol
from automata.chains import store
from automata.runs.rows import waiting
from spaseq.engine.live import Engine
from spaseq.lang.parse import parse
from spaseq.runtime.embedded import network
from tests.conformance.test_borders import FORMS, events, query
from tests.pairs import EVALUATORS
from tests.restarting import Restarting

ROUNDS = 60
LONG = "100000 SECONDS"
CLOSED = {
    "taken by the next step": ("A ; B", "A@{} B@{}"),
    "taken by the next step, later": ("A ; B", "A@{} | B@{}"),
    "not adjacent": ("A , B", "A@{} Z@{}"),
}


def sizes(
    text: str,
    rounds: str,
    evaluator: str,
    form: str = "rows",
    size: Callable[[Restarting], int] = Restarting.restart,
    third: int = ROUNDS,
) -> list[int]:
    """The size of the state after each third of a stream of rounds; `|` stands between events that come apart."""
    tried, found = EVALUATORS[evaluator], []
    with patch.object(protocol, "FEW_EVENTS_MAX", FORMS[form]):
        running = Restarting(parse(text, "q"), 0, tried.option, tried.compiled)
        for number in range(3 * third):
            steps = rounds.count("@")
            for piece in rounds.format(*(steps * number + n for n in range(steps))).split("|"):
                running.push(events(piece))
            if number % third == third - 1:
                found.append(size(running))
    return found


@pytest.mark.parametrize("evaluator", ["runs", "registers", "cea", "lazy", "tree"])
@pytest.mark.parametrize("window", ["6 SECONDS", "6 SECONDS SLIDING", "6 EVENTS", "6 EVENTS SLIDING"])
@pytest.mark.parametrize("clause", ["", "PARTITION BY ?k"])
def test_a_window_that_has_passed_leaves_nothing(window: str, clause: str, evaluator: str) -> None:
    if evaluator == "cea" and clause and "EVENTS" in window:
        return  # not for this evaluator
    first, _, last = sizes(query("A : B", window, clause), "A@{} Z@{} B@{}", evaluator)
    assert last < 1.3 * first + 200


@pytest.mark.parametrize(("evaluator", "form"), [("runs", "columns"), ("runs", "rows"), ("registers", "columns")])
@pytest.mark.parametrize("name", CLOSED)
def test_a_run_that_nothing_can_extend_is_dropped_within_its_window(name: str, evaluator: str, form: str) -> None:
    sequence, rounds = CLOSED[name]
    found = sizes(query(sequence, LONG), rounds, evaluator, form)
    assert max(found) < 1.3 * found[0] + 200


@pytest.mark.parametrize("evaluator", ["runs", "lazy", "tree"])
@pytest.mark.parametrize("skip", ["SKIP TO NEXT EVENT", "SKIP PAST LAST EVENT", "CONSUME ALL"])
def test_what_after_match_remembers_does_not_grow(skip: str, evaluator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_SEEN_MIN", 4)
    text = query("A : N!", "6 SECONDS SLIDING") + f" AFTER MATCH {skip}"
    first, _, last = sizes(text, "A@{} Z@{}", evaluator)
    assert last < 1.3 * first + 200


@pytest.mark.parametrize(
    ("evaluator", "form"),
    [
        *((evaluator, "columns") for evaluator in ("runs", "registers", "cea", "lazy", "tree", "adaptive")),
        ("runs", "rows"),
        ("adaptive", "rows"),
    ],
)
def test_the_terms_of_what_has_passed_are_not_kept(evaluator: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "COMPACT_MIN", 16)
    text, rounds = query("A : B", "6 SECONDS SLIDING"), "A@{0}={0} Z@{1}={1} B@{2}={2}"
    first, _, last = sizes(text, rounds, evaluator, form, lambda running: len(running.dictionary))
    assert last < 1.3 * first + 20


def test_an_engine_releases_terms_that_nothing_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_TERMS_KEPT_MIN", 50)
    engine = Engine()
    engine.register(parse(query("A : B", "6 SECONDS SLIDING"), "q"))
    for number in range(600):
        engine.push("http://ex.org/s1", f"<urn:s{number}> a <http://ex.org/A> ; <urn:p> {number} .", number)
    assert len(engine._dictionary) < 400
