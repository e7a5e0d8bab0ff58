"""The funnels of a job of two stages, from the tally of all of its tasks."""

from __future__ import annotations

from spaseq.engine.funnels import funnel_of
from spaseq.engine.staged import PlannedQuery, StagedJob
from spaseq.explain.funnel import Funnel
from spaseq.runtime.funnel.counting import ordered_steps
from spaseq.runtime.funnel.tally import FunnelTally, StepTally
from spaseq.runtime.zero_rows.tally import JobStep, Tally


def staged_funnels(job: StagedJob, tally: Tally) -> list[Funnel]:
    """The funnel of each query so far; none where they are not counted. Partial matches and matches are not."""
    return [_funnel(plan, tally) for plan in job.plans] if job.options.analyze else []


def _funnel(plan: PlannedQuery, tally: Tally) -> Funnel:
    ordered = enumerate(ordered_steps(plan.query))
    steps = [tally.steps.get(JobStep(plan.number, symbol)) or StepTally(stages) for symbol, stages in ordered]
    counted = FunnelTally(steps, rows=tally.by_query[plan.query.name], seconds=None)
    return funnel_of(plan.query, plan.plan.compiled.plan, counted)
