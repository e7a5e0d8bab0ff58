"""The number of examples that a property draws."""

from __future__ import annotations

from hypothesis import settings

_USUAL = 100
"""Examples of a property in the profiles `dev` and `ci` that names no number itself."""


def drawn(usual: int) -> int:
    """`usual` examples in `dev` and `ci`; in `thorough` as many times more as there of a property without a number."""
    return usual * settings().max_examples // _USUAL
