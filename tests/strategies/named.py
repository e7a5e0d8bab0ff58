"""Random queries whose graphs show nothing of what their matches bind: only the names of the graphs do."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.strategies.keyed import KeyedText
from tests.strategies.knowledge import KnowingQueryText
from tests.strategies.late import LateText
from tests.strategies.query import QueryText
from tests.strategies.sequence import Dice


@dataclass(slots=True)
class NamedText(QueryText):
    """One of any kind."""

    def form(self) -> str:
        """See `QueryText`."""
        return f"CONSTRUCT {self.dice.pick('', '', 'MAX ', 'LAST ')}{{ :m :is :m }}"


@dataclass(slots=True)
class NamedLateText(LateText):
    """One whose matches are decided late."""

    form = NamedText.form


@dataclass(slots=True)
class NamedKeyedText(KeyedText):
    """One for complex event automata."""

    form = NamedText.form


@dataclass(slots=True)
class NamedKnowingText(KnowingQueryText):
    """One with patterns over a knowledge base."""

    form = NamedText.form


@st.composite
def named_queries(draw: DrawFn) -> str:
    """The text of one."""
    return draw(st.sampled_from((NamedText, NamedLateText, NamedKeyedText)))(Dice(draw)).whole()


@st.composite
def named_knowing_queries(draw: DrawFn) -> str:
    """One with patterns over a knowledge base."""
    return NamedKnowingText(Dice(draw)).whole()
