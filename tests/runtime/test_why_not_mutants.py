"""Wrong causes, repairs and partial matches of why-not do not pass the properties of `tests.why_pairs`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from spaseq.outputs.attempts import Attempt, Fault
from spaseq.runtime.why.analysis import Analysis
from spaseq.runtime.why.faults import Faults
from spaseq.runtime.why.furthest import Furthest, Stuck
from tests.why_pairs import Property, check_furthest, check_repaired, checked

PAIRS = 60


def none(*_: Any) -> list[Fault]:
    return []


def mislabelled(*_: Any) -> list[Fault]:
    return [Fault("limit", {}, "raise the limit")]


def with_its_own_term(faults: Faults, *found_by: int, join: Any = Faults.join) -> Fault:
    found: Fault = join(faults, *found_by)
    return replace(found, detail={**found.detail, "run": found.detail["event"]})


def without_the_last_step(analysis: Analysis, attempts: Any = Analysis.attempts) -> list[Attempt]:
    return [replace(attempt, events=attempt.events[:-1]) for attempt in attempts(analysis)]


def the_first_one(furthest: Furthest, stuck: Stuck, note: Any = Furthest._note) -> None:
    if not furthest.kept:
        note(furthest, stuck)


MUTANTS: dict[str, tuple[Property, type, str, Callable[..., Any]]] = {
    "no window": (check_repaired, Faults, "window", none),
    "no join": (check_repaired, Faults, "_join", none),
    "no condition": (check_repaired, Faults, "_failing", none),
    "a limit for a join": (check_repaired, Faults, "_join", mislabelled),
    "a join is repaired with the wrong term": (check_repaired, Faults, "join", with_its_own_term),
    "a partial match lacks a step": (check_furthest, Analysis, "attempts", without_the_last_step),
    "a partial match that does not come furthest": (check_furthest, Furthest, "_note", the_first_one),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_answer_is_noticed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holds, owner, name, wrong = MUTANTS[mutant]
    monkeypatch.setattr(owner, name, wrong)
    with pytest.raises(AssertionError):
        checked(holds, 32, range(PAIRS))
