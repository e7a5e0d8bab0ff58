"""The numbers in many ranges, one range after the other: what CSR columns and sorted ones are read with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def in_ranges(begins: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """begins[i], begins[i] + 1 and so on, counts[i] of them, for each i in turn."""
    ends = np.cumsum(counts)
    size = int(ends[-1]) if len(ends) else 0
    return np.repeat(begins - ends + counts, counts) + np.arange(size, dtype=np.int64)
