"""Memory follows the limit, not the window: what its limit has left behind is dropped, for every evaluator."""

from __future__ import annotations

import pytest

from automata.chains import store
from automata.runs.rows import live_evaluator, waiting
from tests.conformance.test_borders import query
from tests.conformance.test_memory_held import LONG, sizes

LIMITED = {
    "operator": ("A ; WITHIN 6 SECONDS B", "A@{} Z@{}"),
    "operator, any": ("A : WITHIN 6 SECONDS B : WITHIN 3 SECONDS N", "A@{} B@{}"),
    "operator before ALL": ("A : WITHIN 6 SECONDS ALL(B, N)", "A@{} Z@{}"),
    "group": ("(A : B : N) WITHIN 6 SECONDS", "A@{} B@{} Z@{}"),
    "repetition": ("A:{2,3} WITHIN 6 SECONDS", "Z@{} A@{} Z@{} Z@{} Z@{} Z@{} Z@{}"),
    "ALL": ("ALL(A, B) WITHIN 6 SECONDS", "A@{} Z@{}"),
    "trailing absence": ("A : N! WITHIN 6 SECONDS", "A@{} Z@{}"),
    "leading absence": ("N! WITHIN 6 SECONDS : A", "N@{} Z@{}"),
}
FORMS = [("runs", "columns"), ("runs", "rows"), ("lazy", "columns"), ("tree", "columns")]


@pytest.mark.parametrize(("evaluator", "form"), FORMS)
@pytest.mark.parametrize("window", [LONG, f"{LONG} SLIDING", "100000 EVENTS SLIDING"])
@pytest.mark.parametrize("name", LIMITED)
def test_what_a_limit_has_left_behind_is_dropped_within_the_window(
    name: str, window: str, evaluator: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequence, rounds = LIMITED[name]
    if evaluator != "runs" and ";" in sequence:
        return  # not for this evaluator
    monkeypatch.setattr(store, "COMPACT_MIN", 16)
    monkeypatch.setattr(waiting, "_SEEN_MIN", 4)
    monkeypatch.setattr(live_evaluator, "_NEW_MIN", 16)
    first, _, last = sizes(query(sequence, window), rounds, evaluator, form, third=40)
    assert last < 1.3 * first + 200
