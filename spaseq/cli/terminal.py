"""The terminal that a user watches a run on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def terminal() -> Console | None:
    """The terminal that stderr is, None if it is none: what draws on it is imported for it alone."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_terminal else None
