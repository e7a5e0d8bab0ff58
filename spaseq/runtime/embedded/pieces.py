"""Work that can stop after each piece of rows."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")
InPieces = Generator[None, None, Result]
"""Work that stops after each piece of rows, so that none need be kept, and its result."""


def at_once(pieces: InPieces[Result]) -> Result:
    """The result of what can stop after each piece of rows, and does not."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            result: Result = end.value
            return result
