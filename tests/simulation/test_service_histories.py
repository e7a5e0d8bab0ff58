"""Drawn histories of a service: kills, restarts, failing disks and clocks do not show in what its clients see."""

from __future__ import annotations

import pytest

from tests.simulation.running import simulate
from tests.simulation.service_steps import Kill, Pass, Register, Restart, Snapshot
from tests.simulation.service_trial import service_trial
from tests.simulation.subjects import SUBJECTS

HOURS = 4
"""Of each seed; an hour costs a second or two of processor time, the texts of the queries of a seed two."""


@pytest.mark.parametrize("seed", (1, 2))
def test_a_service_is_at_every_step_what_an_undisturbed_one_is(seed: int) -> None:
    ran, failure = simulate(SUBJECTS["service"], seed, HOURS)
    assert failure is None, str(failure and failure.reduced())
    assert all(ran.counts[what] for what in ("kills", "losses of power", "restarts", "checked in a batch"))


ORDINARY = "SELECT * WITHIN 1 HOUR FROM STREAM S <http://ex.org/s1> WHERE { SEQ(A) DEFINE GPM A ON S { ?s ?p ?o } }"
PRODUCER = ORDINARY.replace("SELECT *", "REGISTER STREAM <http://ex.org/d1> AS CONSTRUCT { <urn:x> ?p ?o }")
READER = ORDINARY.replace("/s1>", "/d1>")


@pytest.mark.parametrize("end", [Restart(0), Kill(0)])
def test_queries_keep_their_own_states_whatever_was_registered_before(end: Restart | Kill) -> None:
    with service_trial() as trial:
        for name, text in {"q1": PRODUCER, "q2": READER, "q3": ORDINARY, "q4": ORDINARY + " LIMIT 1"}.items():
            trial.take(Register(name, text))
            trial.take(Snapshot())
        trial.take(end)
        trial.take(Pass(1))
