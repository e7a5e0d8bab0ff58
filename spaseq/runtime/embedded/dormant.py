"""Queries that no event has touched so far: all that is there of them is their patterns.

Most of thousands of queries wait for things that do not happen. What they wait for is in the index of their audience;
the evaluator and the projection, two thirds of the memory of a query, are made when the first event touches it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparql_gpm.background import Background
from spaseq.algebra.nodes import TemporalQuery
from spaseq.physical.plan import Form, PhysicalPlan
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.stages.pattern_stage import PatternStage


@dataclass(frozen=True, slots=True, eq=False)
class DormantOperator:
    """A query before its first solution.

    make    the whole operator, which must not fail
    """

    plan: PhysicalPlan
    patterns: PatternStage
    background: Background | None
    make: Callable[[DormantOperator], QueryOperator]

    @property
    def query(self) -> TemporalQuery:
        """Its meaning, as it is run."""
        return self.plan.compiled.query

    def release(self) -> None:
        """Lets go of all that it holds; nobody asks for it again."""
        self.patterns.release()

    def wake(self) -> QueryOperator:
        """The operator, which has seen nothing."""
        return self.make(self)


def may_sleep(plan: PhysicalPlan) -> bool:
    """True if nothing can come of a query before its first solution, and nothing can fail when it is made then.

    A stream that it derives has to hear of all times, register automata count events, groups of queries are formed of
    those that are there, and of simultaneous events on one stream the query has to see each.
    """
    compiled = plan.compiled
    if compiled.plan.whole_slots and compiled.program.streams == 1:
        return False
    return plan.form is not Form.KERNELS and compiled.query.register is None
