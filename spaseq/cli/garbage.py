"""How often the process of a command looks for garbage in cycles: seldom, as nearly all it makes it keeps, or frees."""

from __future__ import annotations

import atexit
import gc

_ALLOCATIONS_MIN = 50_000
"""Objects more than before that have to be there before the youngest are looked at; Python's own choice is 700."""


def collect_garbage_seldom() -> None:
    """For the rest of the process, at whose end nothing is looked at again: the memory goes back as a whole."""
    gc.set_threshold(_ALLOCATIONS_MIN)
    atexit.register(gc.freeze)
