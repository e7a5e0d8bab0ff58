"""Integers of any size as columns of limbs, as the kernel adds them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from automata.propagation.kernel_arrays import LIMB
from automata.values import Ids, Mask

_MASK = (1 << LIMB) - 1


def wholes(limbs: NDArray[np.int64]) -> list[int]:
    """The numbers that rows of limbs stand for; the last limb carries the sign."""
    rows, width = limbs.shape
    if width == 1:
        found: list[int] = limbs[:, 0].tolist()
        return found
    numbers = np.zeros(rows, dtype=object)
    for limb in range(width - 1, -1, -1):
        numbers = (numbers << LIMB) + limbs[:, limb].astype(object)
    whole: list[int] = numbers.tolist()
    return whole


def widened(limbs: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """The same numbers in `width` limbs, which are more."""
    wide = np.zeros((*limbs.shape[:-1], width), dtype=np.int64)
    known = limbs.shape[-1]
    wide[..., :known] = limbs
    for limb in range(known - 1, width - 1):
        wide[..., limb + 1] = wide[..., limb] >> LIMB
        wide[..., limb] &= _MASK
    return wide


def narrowed(limbs: NDArray[np.int64]) -> tuple[Mask, NDArray[np.int64]]:
    """The numbers of two limbs or more in one, and a mask of those that are small enough."""
    high, negative = limbs[..., 1], limbs[..., -1] < 0
    small = np.ones(negative.shape, dtype=np.bool_)
    if limbs.shape[-1] > 2:
        middle = np.where(negative, _MASK, 0)[..., np.newaxis]
        small = (limbs[..., 2:-1] == middle).all(axis=-1) & (limbs[..., -1] == -negative.astype(np.int64))
        high = high - (negative.astype(np.int64) << LIMB)
    return small & (np.abs(high) < 1 << (LIMB - 4)), (limbs[..., 0] + (high << LIMB))[..., np.newaxis]


def shifted(magnitudes: Ids, by: Ids, width: int) -> NDArray[np.int64]:
    """int64[n, width]: the magnitudes times two to these powers, none negative, in limbs."""
    limbs = np.zeros((len(magnitudes), width), dtype=np.int64)
    for limb in range(width):
        down = LIMB * limb - by
        right = magnitudes >> np.clip(down, 0, 63)
        left = magnitudes << np.clip(-down, 0, LIMB)
        limbs[:, limb] = np.where(down >= 0, right, np.where(down > -LIMB, left, 0)) & _MASK
    return limbs
