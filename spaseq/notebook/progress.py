"""The progress line of a run below a cell of a notebook."""

from __future__ import annotations

import time
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from spaseq.cli.progress import Meter

if TYPE_CHECKING:
    from spaseq.engine.options import Statistics


class CellProgress:
    """Events, events per second, matches and lag in one display of a cell, which is written again and again.

    show    displays a value and returns a handle with `update`, as `IPython.display.display` does with `display_id`
    """

    def __init__(self, show: Callable[[Any], Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._show = show
        self._handle: Any = None
        self._meter = Meter(clock)

    def update(self, statistics: Statistics) -> None:
        """Show the line, a few times a second; a run that is over before shows none."""
        text = self._meter.line(statistics)
        if text is not None:
            self._write(text)

    def finish(self, statistics: Statistics) -> None:
        """Show the summary of the whole run in its place."""
        self._write(self._meter.summary(statistics))

    def _write(self, text: str) -> None:
        if self._handle is None:
            self._handle = self._show(_Line(text))
        else:
            self._handle.update(_Line(text))


class _Line:
    """A line of text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<small>{escape(self._text)}</small>"
