"""Random queries of which most have limits, of operators, of steps and of absences."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.strategies.late import LateSequence, LateText
from tests.strategies.query import QueryText
from tests.strategies.sequence import Dice, SequenceText


@dataclass(slots=True)
class LimitedSequence(SequenceText):
    """A SEQ with limits."""

    def whole(self, limited: int = 95) -> str:
        """See `SequenceText`."""
        return SequenceText.whole(self, limited)


@dataclass(slots=True)
class LimitedLateSequence(LateSequence):
    """A SEQ with limits, at whose end something must not happen."""

    def whole(self, limited: int = 95) -> str:
        """See `SequenceText`."""
        return LateSequence.whole(self, limited)


@dataclass(slots=True)
class LimitedText(QueryText):
    """Draws one query."""

    def sequence(self) -> SequenceText:
        """See `QueryText`."""
        return LimitedSequence(self.dice)


@dataclass(slots=True)
class LimitedLateText(LateText):
    """Draws one query whose matches are decided late."""

    def sequence(self) -> SequenceText:
        """See `QueryText`."""
        return LimitedLateSequence(self.dice)


@st.composite
def limited_queries(draw: DrawFn) -> str:
    """A query with limits."""
    text = draw(st.sampled_from((LimitedText, LimitedLateText)))
    return text(Dice(draw)).whole()
