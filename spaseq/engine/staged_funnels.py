"""The funnels of a job of two stages, from the tally of all of its tasks and shards."""

from __future__ import annotations

from dataclasses import replace

from spaseq.engine.funnels import funnel_of
from spaseq.engine.staged import PlannedQuery, StagedJob
from spaseq.explain.funnel import Funnel
from spaseq.runtime.funnel.counting import ordered_steps
from spaseq.runtime.funnel.tally import FunnelTally, StepTally
from spaseq.runtime.zero_rows.tally import JobStep, Tally


def staged_funnels(job: StagedJob, tally: Tally) -> list[Funnel]:
    """The funnel of each query so far; none where they are not counted."""
    if not job.options.analyze:
        return []
    return [funnel_of(plan.query, plan.plan.compiled.plan, funnel_tally(plan, tally)) for plan in job.plans]


def funnel_tally(plan: PlannedQuery, tally: Tally) -> FunnelTally:
    """The counts of a query: of its steps from the tasks that read its streams, of its sequence from the shards."""
    ordered = enumerate(ordered_steps(plan.query))
    steps = [tally.steps.get(JobStep(plan.number, symbol)) or StepTally(stages) for symbol, stages in ordered]
    shards = tally.sequences.get(plan.number, FunnelTally((), seconds=None))
    seconds = None if shards.seconds is None else shards.seconds + sum(step.seconds for step in steps)
    return replace(shards, steps=steps, rows=tally.by_query[plan.query.name], seconds=seconds)
