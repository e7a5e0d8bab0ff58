"""Long arrays that outlive the batches they are filled by, in pages of their own.

On the heap such an array stands between those that come and go with each batch: whenever it is exchanged for a longer
one, or for one without what was released, it leaves a gap that fits little, and the heap grows with the stream.
"""

from __future__ import annotations

import mmap
import sys
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

_BYTES_MIN = 1 << 16
"""Shorter arrays stay on the heap."""


def zeros(shape: tuple[int, ...], dtype: type[Scalar]) -> NDArray[Scalar]:
    """An array of zeros whose pages go back to the system with it; a forked process has its own copy."""
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < _BYTES_MIN:
        return np.zeros(shape, dtype)
    if sys.platform == "win32":
        pages = mmap.mmap(-1, size)
    else:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, dtype).reshape(shape)
