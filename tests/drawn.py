"""The number of examples that a property draws."""

from __future__ import annotations

from hypothesis import settings

USUAL = 50
"""Examples of a property in the profiles `dev` and `ci` that names no number itself."""


def drawn(most: int) -> int:
    """Half of `most` in `dev` and `ci`; in `thorough` as many times more as there of a property without a number."""
    return max(1, most * settings().max_examples // (2 * USUAL))
