"""Long arrays that outlive batches, in memory-mapped pages of their own.

On the heap, between the arrays of each batch, every replacement would leave a gap, and the heap would grow with the
stream.
"""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

_BYTES_MIN = 1 << 16
"""Shorter arrays stay on the heap."""
_HUGE_BYTES_MIN = 1 << 22
"""Longer ones take large pages where the system has them: terms are looked for all over a table."""


def zeros(shape: tuple[int, ...], dtype: type[Scalar]) -> NDArray[Scalar]:
    """An array of zeros whose pages are returned to the system with it; a forked process has its own copy."""
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < _BYTES_MIN:
        return np.zeros(shape, dtype)
    if sys.platform == "win32":
        pages = mmap.mmap(-1, size)
    else:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if size >= _HUGE_BYTES_MIN and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # of a system that has none
                pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype).reshape(shape)
