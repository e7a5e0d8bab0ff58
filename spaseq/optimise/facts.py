"""Facts about knowledge bases that hold for the whole run, proven before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sparql_gpm.pattern import Pattern


class Facts(Protocol):
    """The provable facts about the knowledge bases of a run; `kb.base.KnowledgeBases` implements it."""

    def unprovable(self, name: str) -> str | None:
        """The reason why nothing can be proven about a knowledge base; None if it is loaded and never changes."""

    def one_each(self, name: str, pattern: Pattern, keys: Sequence[str]) -> bool:
        """True if each solution of the pattern binds the keys, and no two different ones agree in them.

        To be called, like `covers`, only where `unprovable` is None.
        """

    def covers(self, name: str, pattern: Pattern, given: Pattern, keys: Sequence[str]) -> bool:
        """True if each solution of `given` binds the keys and agrees in them with a solution of the pattern."""
