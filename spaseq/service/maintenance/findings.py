"""Findings of a check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Is told what is read, how much of it has been read, and how much there is, in bytes or entries."""


def numbers(first: int, last: int, kind: str) -> str:
    """Records, or rows, in words: `record 7`, `records 7 to 9`, `rows 7 to 9 of query 'q'`."""
    noun, of, rest = kind.partition(" of ")
    return f"{noun} {first}{of}{rest}" if first == last else f"{noun}s {first} to {last}{of}{rest}"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong.

    file    in the data folder
    what    is wrong, in words
    lost    what cannot be had back, in words; empty if nothing is lost
    """

    file: str
    what: str
    lost: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


@dataclass(slots=True)
class Findings:
    """All that is wrong with a data folder, and what else is worth saying; `on_progress` hears how far the check is."""

    on_progress: Progress = lambda what, done, of: None
    wrong: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, file: str, what: str, lost: str = "") -> None:
        """Something is wrong."""
        self.wrong.append(Finding(file, what, lost))

    @property
    def lost(self) -> list[str]:
        """All that cannot be had back, in words."""
        return [each.lost for each in self.wrong if each.lost]
