"""Answers of why-not that name the wrong cause do not pass the properties of `tests.why_pairs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spaseq.outputs.attempts import Fault
from spaseq.runtime.why.faults import Faults
from tests.why_pairs import Property, check_repaired, checked

PAIRS = 40


def none(*_: Any) -> list[Fault]:
    return []


def mislabelled(*_: Any) -> list[Fault]:
    return [Fault("limit", {}, "raise the limit")]


MUTANTS: dict[str, tuple[Property, type, str, Callable[..., Any]]] = {
    "no window": (check_repaired, Faults, "window", none),
    "no join": (check_repaired, Faults, "_join", none),
    "no condition": (check_repaired, Faults, "_failing", none),
    "a limit for a join": (check_repaired, Faults, "_join", mislabelled),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_cause_is_noticed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holds, owner, name, wrong = MUTANTS[mutant]
    monkeypatch.setattr(owner, name, wrong)
    with pytest.raises(AssertionError):
        checked(holds, 32, range(PAIRS))
