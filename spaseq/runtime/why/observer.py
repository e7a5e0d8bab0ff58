"""Whoever searches for runs: what is wished for, and what is heard of on the way."""

from __future__ import annotations

from spaseq.runtime.why.places import Before, Step
from spaseq.runtime.why.runs import Run, Values


class Observer:
    """The wishes of whoever searches: by default every match, and to hear of nothing."""

    def attempt(self, run: Run, step: Step, before: Before) -> bool:
        """Hears of a run that is to take a step; False: it is not to go on."""
        return not run.lacks

    def fits(self, symbol: int, event: int, values: Values) -> bool:
        """True if a run may take an event as a step with this solution."""
        return True

    def goes_on(self, run: Run) -> bool:
        """True if more events may be tried as the next step of a run; hears of each that is."""
        return True


ANYTHING = Observer()
