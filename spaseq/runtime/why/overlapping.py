"""Complete runs in windows that overlap (specification 3.3): in each of them the query is evaluated by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spaseq.runtime.why.runs import Run
from spaseq.runtime.why.search import Search


def in_windows(search: Search, run: Run) -> Iterator[Search]:
    """The search in each window in which a complete run may be a match.

    Only what is absent as far as the window reaches depends on the window, so elsewhere all of them are one.
    """
    frame = search.world.frame
    at_edge = run.open or run.left or any(gap.before is None for gap in run.gaps)
    if not (frame.window.overlaps and at_edge and run.events):
        yield search
        return
    for begin in frame.windows(run.events):
        world = search.world.in_window(begin)
        yield replace(search, world=world, admits=world.frame.holds)


def is_match(search: Search, run: Run) -> bool:
    """True if a complete run is a match in some window."""
    return any(each.matches(run) for each in in_windows(search, run))
