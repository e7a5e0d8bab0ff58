"""The counts of a query that runs, on the automaton of its description, and the partial matches at its states."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from arrays.times import BEFORE_ALL
from spaseq.outputs.rows import term_json, time_text
from spaseq.runtime.stages.run_counts import RunCounts, WaitingRun
from spaseq.service.core.groups import Group, Running
from spaseq.service.errors import Refused


def counts_of(group: Group, running: Running) -> RunCounts | None:
    """The partial matches of a query now, as far as its group has read; None: it was stopped."""
    return None if running.error else running.reader.run_counts(_read_to(group, running))


def waiting_at(group: Group, running: Running, state: int, limit: int) -> list[dict[str, Any]]:
    """The newest partial matches at a state, `limit` at most; Refused (409) if they are not kept one by one."""
    if running.error:
        raise Refused(409, "Conflict", f"query '{running.name}' was stopped: {running.error}")
    found = running.reader.waiting(state, limit, _read_to(group, running))
    if found is None:
        detail = (
            f"the evaluator of query '{running.name}' does not keep the partial matches at state {state} one by one"
        )
        raise Refused(409, "Conflict", f"{detail}; explain says which evaluator it is")
    return list(map(_shown, found))


def _read_to(group: Group, running: Running) -> int:
    """The time before which no event is to come."""
    return min(group.watermarks.get(iri, BEFORE_ALL) for _, iri in running.meaning.streams)


def _shown(run: WaitingRun) -> dict[str, Any]:
    return {
        "events": {step: list(names) for step, names in run.events},
        "bindings": {name: json.loads(term_json(term)) for name, term in run.bindings},
        "until": None if run.until is None else time_text(run.until),
    }


def with_counts(description: dict[str, Any], counts: RunCounts | None) -> dict[str, Any]:
    """The description with `runs` on states and `taken` on edges; null where they are not known."""
    states, edges = description["states"], description["edges"]
    standing = None if counts is None else counts.standing
    taken = [None] * len(edges) if counts is None else _taken(counts, len(edges))
    description["states"] = [{**state, "runs": None if standing is None else standing[state["id"]]} for state in states]
    description["edges"] = [{**edge, "taken": count} for edge, count in zip(edges, taken, strict=True)]
    return description


def _taken(counts: RunCounts, drawn: int) -> Sequence[int | None]:
    """By drawn edge: those of the plan come first, the ends of matches last."""
    ends: list[int | None] = [counts.matches if len(counts.plan.accepts) == 1 else None] * len(counts.plan.accepts)
    between = drawn - len(ends)
    steps = list(counts.taken or ())
    return [*(steps if len(steps) == between else [None] * between), *ends]
