"""Random queries with everything at once: times, limits, episodes, partitions by pattern and groups, decided late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tests.strategies.late import LateSequence
from tests.strategies.over import OverText
from tests.strategies.possessive import PossessiveSequence
from tests.strategies.query import WINDOWS, QueryText, StepText
from tests.strategies.sequence import Context, SequenceText, Use

_BRIEF = (
    ("WITHIN 4 SECONDS", 2),
    ("WITHIN 4 SECONDS SLIDING", 6),
    ("WITHIN 5 EVENTS", 2),
    ("WITHIN 5 EVENTS SLIDING", 4),
)


@dataclass(slots=True)
class CombinedSequence(PossessiveSequence, LateSequence):
    """A SEQ with possessive repetitions and limits, at whose end something must not happen at times."""

    def whole(self, limited: int = 50) -> str:
        """See `SequenceText`."""
        context: Context = ((), ())
        if self.dice.chance(40):
            return PossessiveSequence.whole(self, limited)
        self.limited = self.dice.chance(limited)
        first = self.mandatory(context, 1)
        second = self.mandatory(context, 1) if self.dice.chance(50) and not self.full() else None
        last = self.ending(context)
        return "".join([first.text, *(f" : {item.text}" for item in (second, last) if item)])


@dataclass(slots=True)
class CombinedText(OverText):
    """Draws one query; `grouping`: OVER MATCHES; `possessive`: with repetitions that take all they can."""

    PARTITIONED: ClassVar[int] = 30

    grouping: bool = False
    possessive: bool = True

    def sequence(self) -> SequenceText:
        """See `QueryText`."""
        self.grouping = self.dice.chance(35)
        return CombinedSequence(self.dice) if self.possessive else _LimitedSequence(self.dice)

    def partition(self) -> str:
        """See `OverText`, whose windows are of use only there."""
        if not self.grouping:
            self.within = self.within or self.dice.weighted((*WINDOWS, *_BRIEF))
            return QueryText.partition(self)
        return OverText.partition(self)

    def step(self, name: str, uses: tuple[Use, ...], keyed: bool) -> StepText:
        """With times, more often than not."""
        drawn = QueryText.step(self, name, uses, keyed)
        time = f"?t{name}" if self.dice.chance(55) else None
        return StepText(name, uses, drawn.binds_key, drawn.value, drawn.optional, time, drawn.graph)

    def condition(self, step: StepText) -> str | None:
        """Over times at times, and fewer others: many conditions leave no match."""
        if not self.dice.chance(60):
            return None
        return QueryText.condition(self, step)

    def beside(self) -> str:
        """With BINDs and FILTERs over times."""
        times = sorted(step.time for step in self.positive() if step.time)
        text = QueryText.beside(self)
        if len(times) > 1 and self.dice.chance(50):
            text += f"  FILTER ({self.between(self.dice.pick(*times), self.dice.pick(*times))})\n"
        return text

    def form(self) -> str:
        """SELECT or CONSTRUCT, OVER MATCHES at times; DISTINCT more often."""
        if self.grouping:
            return OverText.form(self)
        drawn = QueryText.form(self)
        if drawn.startswith("SELECT ") and "DISTINCT" not in drawn and self.dice.chance(15):
            words = drawn.split(" ")
            words.insert(2 if words[1] in ("ALL", "STRICT", "NEXT", "LAST", "MAX") else 1, "DISTINCT")
            return " ".join(words)
        return drawn

    def modifiers(self) -> str:
        """AFTER MATCH and LIMIT, more often."""
        if self.grouping:
            return OverText.modifiers(self)
        text = f"AFTER MATCH {self.dice.pick(*self.skips())}\n" if self.dice.chance(50) else ""
        return text + (f"LIMIT {self.dice.number(1, 2)}\n" if self.dice.chance(20) else "")


@dataclass(slots=True)
class _LimitedSequence(LateSequence):
    """A SEQ with limits."""

    def whole(self, limited: int = 70) -> str:
        """See `SequenceText`."""
        late = self.dice.chance(50)
        return LateSequence.whole(self, limited) if late else SequenceText.whole(self, limited)


@dataclass(slots=True)
class RegisteredText(CombinedText):
    """A query whose graphs have all that it binds, and are the events of a stream that another query reads."""

    CONSTRUCTED: ClassVar[int] = 100
    READER: ClassVar[str] = (
        "PREFIX : <http://ex.org/>\nSELECT * WITHIN 100 SECONDS FROM STREAM D <http://ex.org/d>\n"
        "WHERE { SEQ(X) DEFINE GPM X ON D { ?x ?p ?o } }"
    )

    def form(self) -> str:
        """See `QueryText`."""
        if self.grouping:
            return f"REGISTER STREAM <http://ex.org/d> AS {OverText.form(self)}"
        variables = sorted({variable for step in self.positive() for variable in step.variables}.union(self.given))
        triples = " ".join(f":m :{name[1:]} {name} ." for name in [*variables, "?none"])
        return f"REGISTER STREAM <http://ex.org/d> AS CONSTRUCT {{ {triples} }}"
