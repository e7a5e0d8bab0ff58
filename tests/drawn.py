"""The number of examples that a property draws."""

from __future__ import annotations

from hypothesis import settings

USUAL = 40
"""Examples of a property in the profiles `dev` and `ci` that names no number itself."""
THOROUGH = 200
"""The same in `thorough`, unless EXAMPLES says otherwise."""


def drawn(most: int) -> int:
    """A third of `most` in `dev` and `ci`, always the same; twice `most` in `thorough`, each time others."""
    examples = settings().max_examples
    return max(1, most // 3 if examples == USUAL else 2 * most * examples // THOROUGH)
