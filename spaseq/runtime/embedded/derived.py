"""The stream that the rows of a query with REGISTER STREAM make up (specification 3.5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrays.columns import offsets_of
from arrays.times import nearest_time
from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from spaseq.outputs.rows import Row
from spaseq.runtime.state import layouts
from spaseq.runtime.state.snapshot import batch_state, restored_batch


class DerivedStream:
    """The rows of one query as events, in the order of their triggering events, then in output order.

    Rows come in output order; one waits while a match with an earlier triggering event is undecided.
    """

    def __init__(self, iri: str, dictionary: Dictionary) -> None:
        self.iri = iri
        self._dictionary = dictionary
        self._waiting = EventBatch.empty()
        self._triggers = np.zeros(0, dtype=np.int64)

    def events(self, rows: Sequence[Row], before: int) -> EventBatch:
        """Adds rows, and takes out the events before a time; no row to come has an earlier one."""
        if rows:
            self._waiting = EventBatch.concatenate([self._waiting, rows_as_events(rows, self._dictionary)])
            self._triggers = np.concatenate((self._triggers, [row.trigger for row in rows]))
        if not len(self._waiting):
            return self._waiting
        order = np.argsort(self._triggers, kind="stable")
        ready = self._waiting.times[order] < before
        taken = self._waiting.take(order[ready])
        self._waiting, self._triggers = self._waiting.take(order[~ready]), self._triggers[order[~ready]]
        return taken

    def live_ids(self) -> tuple[Ids, ...]:
        """Columns of every term id of the waiting events."""
        return self._waiting.terms

    def snapshot(self) -> dict[str, Any]:
        """The waiting events, for `spaseq.runtime.state.snapshot`."""
        return layouts.DERIVED.written(waiting=batch_state(self._waiting), triggers=self._triggers)

    def restore(self, state: Any) -> None:
        """Continues from a snapshot."""
        state = layouts.DERIVED.read(state)
        self._waiting, self._triggers = restored_batch(state["waiting"]), state["triggers"]


def rows_as_events(rows: Sequence[Row], dictionary: Dictionary) -> EventBatch:
    """The graphs of CONSTRUCT rows as events at the time of their matches."""
    triples = [[dictionary.intern(term) for term in triple] for row in rows for triple in row.triples]
    ids = np.array(triples, dtype=np.int64).reshape(-1, 3)
    return EventBatch(
        np.array([nearest_time(row.time) for row in rows], dtype=np.int64),
        np.zeros(len(rows), dtype=np.int64),
        [row.graph or "" for row in rows],
        offsets_of(np.array([len(row.triples) for row in rows], dtype=np.int64)),
        *(np.ascontiguousarray(ids[:, column]) for column in range(3)),
    )
