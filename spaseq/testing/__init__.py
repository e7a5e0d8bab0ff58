"""Tests of queries: a TriG file has the events, the background knowledge and the rows that are expected of them.

    from spaseq.testing import report, run_test
    outcome = run_test("cold.trig")
    assert outcome.passed, report(outcome)

What is named here is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spaseq.testing.differences import Difference
    from spaseq.testing.running import Outcome, run_test
    from spaseq.testing.texts import report

_HOMES = {"Difference": "differences", "Outcome": "running", "report": "texts", "run_test": "running"}

__all__ = ["Difference", "Outcome", "report", "run_test"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"spaseq.testing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'spaseq.testing' has no attribute '{name}'")
