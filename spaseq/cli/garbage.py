"""Rare garbage collection for the process of a command, whose objects are seldom in cycles."""

from __future__ import annotations

import atexit
import gc

_ALLOCATIONS_MIN = 50_000
"""The threshold of the youngest generation; Python's default is 700."""


def collect_garbage_seldom() -> None:
    """Collect rarely from now on, and not at exit, when the memory is released as a whole."""
    gc.set_threshold(_ALLOCATIONS_MIN)
    atexit.register(gc.freeze)
