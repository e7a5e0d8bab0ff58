"""A query whose funnel is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import thread_time

from automata.plan.program import Demand
from sparql_gpm.shared import Slice
from spaseq.outputs.row_table import Rows
from spaseq.physical.plan import PhysicalPlan
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.funnel.tally import FunnelTally
from spaseq.runtime.stages.pattern_stage import PatternStage, SolutionSource
from spaseq.runtime.stages.sequence_stage import SequenceStage
from spaseq.runtime.zero_rows.observed import Observed


class CountedOperator(QueryOperator):
    """A query whose rows and processor time are counted; it sees every event, however few arrive at once.

    lost    what edges lose is counted, too; the state is then not taken out
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        patterns: SolutionSource,
        sequence: SequenceStage,
        observed: Observed | None,
        release: Callable[[], object],
        tally: FunnelTally,
        lost: bool,
    ) -> None:
        self._lost = lost
        super().__init__(plan, patterns, sequence, observed, release)
        self.automaton = plan.compiled.plan
        self._tally = tally
        self._seconds = 0.0

    def _run_by(self, plan: PhysicalPlan, sequence: SequenceStage, release: Callable[[], object]) -> None:
        super()._run_by(plan, sequence, release)
        sequence.count_edges(self._lost)
        compiled = plan.compiled
        self._matches_are_whole = sequence.propagated is None and not compiled.lanes and not compiled.plan.selects

    @property
    def tally(self) -> FunnelTally:
        """The counts so far."""
        tally, sequence, program = self._tally, self._sequence, self.automaton.program
        tally.seconds, tally.idle = self._seconds, not sequence.events
        counted = [taken for taken in sequence.edges_taken or () if taken is not None]
        tally.took = counted if len(counted) == len(self.automaton.edges) else None
        tally.lost = None if tally.took is None else sequence.edges_lost
        every = program.first is None and program.demand is Demand.EVERY
        if self._matches_are_whole and (every or tally.took is not None):
            tally.matches = sequence.matches
            tally.removed = None if self.query.over is not None else sequence.removed
        return tally

    def on_batch(self, slice_: Slice) -> Iterator[Rows]:
        """The rows after the next events."""
        return self._counted(super().on_batch(slice_))

    def on_watermark(self, time: int) -> Iterator[Rows]:
        """The rows once no event at or before `time` will arrive."""
        return self._counted(super().on_watermark(time))

    def finish(self) -> Iterator[Rows]:
        """The last rows; the input has ended."""
        return self._counted(super().finish())

    @property
    def touching(self) -> PatternStage | None:
        """None: it must see every event."""
        return None

    def _counted(self, pieces: Iterator[Rows]) -> Iterator[Rows]:
        while True:
            begun = thread_time()
            rows = next(pieces, None)
            self._seconds += thread_time() - begun
            if rows is None:
                return
            self._tally.rows += len(rows)
            yield rows
