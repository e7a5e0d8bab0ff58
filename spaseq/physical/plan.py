"""The physical plan of a query: a value that the planner makes once, and that explain, the operator and Spark read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from spaseq.physical.program import Compiled


class Form(Enum):
    """The representation of partial matches, or of what is known of them, in an evaluator."""

    COLUMNS = "columns"
    ROWS = "columns, row at a time for short slices"
    KERNELS = "compiled kernels"
    VALUES = "exact values, one event at a time"


PROPAGATION = "propagation"
"""The name of the evaluator of OVER MATCHES that builds no match; it is chosen wherever it can be."""


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """The evaluator of one query and the form in which it runs.

    evaluator       the name that `--evaluator` takes, or PROPAGATION
    reason          for the evaluator, in words
    form_reason     for the form, in words
    others          the evaluators that were not chosen, each with the reason
    able            the evaluators that can run the query
    row_events_max  slices of at most so many events are evaluated row at a time
    conjunctions    sets of symbols that are only ever taken together; their patterns are matched lazily
    later           the evaluator in kernels that takes over while the query runs, once they pay: "cea", "registers"
    shares          its lanes may be those of other queries over the same events, which are advanced together
    asked           the evaluator was asked for by its name
    """

    compiled: Compiled
    evaluator: str
    form: Form
    reason: str
    form_reason: str
    others: tuple[tuple[str, str], ...]
    able: tuple[str, ...]
    row_events_max: int
    conjunctions: tuple[tuple[int, ...], ...]
    later: str | None = None
    shares: bool = False
    asked: bool = False

    @property
    def form_in_words(self) -> str:
        """The form, for `explain`."""
        rows = f"columns, row at a time for up to {self.row_events_max} events that arrive together"
        return rows if self.form is Form.ROWS else self.form.value

    def in_columns(self) -> PhysicalPlan:
        """The plan for input that always arrives in long slices: no event is evaluated row at a time."""
        if self.form is Form.VALUES:
            return replace(self, row_events_max=0)
        if self.form is not Form.ROWS:
            return replace(self, later=None)
        columns, reason = Form.COLUMNS, "events arrive in long slices"
        return replace(self, form=columns, form_reason=reason, row_events_max=0, later=None)
