"""The random pairs of `tests.pairs`, each evaluator given up after every batch and going on elsewhere from its state.

python -m tests.restarted_pairs --pairs 500     with each evaluator; arguments as those of tests.pairs

Kernels do not take over while a query runs: one that goes on elsewhere begins with what it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

from spaseq.algebra.nodes import TemporalQuery
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row
from tests import pairs
from tests.restarting import Restarting
from tests.strategies.stream import Arrived


def run_restarted(
    query: Query,
    pieces: Sequence[Sequence[Arrived]],
    evaluator: str,
    compiled: bool,
    reader: Query | None = None,
    built: TemporalQuery | None = None,
) -> list[Row]:
    """The rows of one query over events that arrive in pieces, then those of the query that reads its stream."""
    running = Restarting(query, 0, evaluator, compiled, reader, built)
    for piece in pieces:
        running.push(piece)
        running.restart()
    running.network.finish()
    return running.rows + running.read


if __name__ == "__main__":
    at_once = {name: tried for name, tried in pairs.EVALUATORS.items() if not tried.later}
    with patch.object(pairs, "run_engine", run_restarted), patch.object(pairs, "EVALUATORS", at_once):
        pairs.main()
