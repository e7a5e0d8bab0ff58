"""The counts of a query that runs, on the automaton of its description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spaseq.runtime.order.reorder import BEFORE_ALL
from spaseq.runtime.stages.run_counts import RunCounts
from spaseq.service.core.groups import Group, Running


def counts_of(group: Group, running: Running) -> RunCounts | None:
    """The partial matches of a query now, as far as its group has read; None: it was stopped."""
    if running.error:
        return None
    time = min(group.watermarks.get(iri, BEFORE_ALL) for _, iri in running.meaning.streams)
    return running.reader.run_counts(time)


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
