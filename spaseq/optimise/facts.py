"""What rules may ask about data: facts that hold for the whole run, proven before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sparql_gpm.pattern import Pattern


class Facts(Protocol):
    """What is known of the knowledge bases of a run; `kb.base.KnowledgeBases` knows it."""

    def unsettled(self, name: str) -> str | None:
        """Why nothing can be proven about a knowledge base, in words; None if it is known whole and never changes."""

    def one_each(self, name: str, pattern: Pattern, keys: Sequence[str]) -> bool:
        """Whether each solution of the pattern binds the keys, and no two different ones agree in them.

        Only of what is settled, as is the next.
        """

    def covers(self, name: str, pattern: Pattern, given: Pattern, keys: Sequence[str]) -> bool:
        """Whether each solution of `given` agrees in the keys, which it binds, with a solution of the pattern."""
