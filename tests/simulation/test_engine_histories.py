"""Drawn histories of an engine: one that is restored again and again finds what one finds that never is."""

from __future__ import annotations

from tests.simulation.running import simulate
from tests.simulation.subjects import SUBJECTS

SEED, HOURS = 1, 2


def test_an_engine_is_at_every_step_what_one_is_that_was_never_restored() -> None:
    ran, failure = simulate(SUBJECTS["engine"], SEED, HOURS)
    assert failure is None, str(failure and failure.reduced())
    assert ran.counts["restores"]
