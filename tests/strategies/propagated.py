"""Random queries OVER MATCHES whose steps are related by at most one key: what is propagated along the automaton."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.strategies.keyed import KeyedText
from tests.strategies.over import WINDOWS

SIMPLE = ("COUNT", "SUM", "AVG", "MIN", "MAX")
NESTED = ("SUM(COUNT", "SUM(SUM", "AVG(COUNT", "MIN(MIN", "MAX(MAX", "MAX(MIN", "MIN(MAX", "MAX(SUM", "MIN(COUNT")


@dataclass(slots=True)
class PropagatedText(KeyedText):
    """Draws one query with a key of PARTITION BY, a variable that every step joins, or none."""

    within: str = ""
    columns: list[str] = field(default_factory=list)

    def window(self) -> str:
        """Of all kinds, but not where each partition would count the events of a window that it shares."""
        return self.within

    def keys(self) -> tuple[str, ...]:
        """See `KeyedText`; drawn after the window."""
        self.within = self.dice.weighted(WINDOWS)
        shared = "EVENTS" in self.within and "SLIDING" not in self.within
        return ("joined", "none") if shared else ("partition", "joined", "joined", "none")

    def form(self) -> str:
        """SELECT OVER MATCHES of some aggregates."""
        aggregates = [self.aggregate() for _ in range(self.dice.number(1, 4))]
        self.columns = [f"?x{number}" for number in range(len(aggregates))]
        shown = [f"({value} AS {name})" for value, name in zip(aggregates, self.columns, strict=True)]
        return f"SELECT OVER MATCHES {' '.join([*self.grouped(), *shown])}"

    def grouped(self) -> list[str]:
        """GROUP BY the key, where there is one, or nothing."""
        return ["?k"] if self.key in ("partition", "joined") and self.by_key else []

    def aggregate(self) -> str:
        """An aggregate over matches."""
        values = [step.value for step in self.steps if step.value and not step.negated]
        if not values or self.dice.chance(30):
            return "COUNT(*)"
        if self.repeated() and self.dice.chance(60):
            return f"{self.dice.pick(*NESTED)}({self.dice.pick(*self.repeated())}))"
        return f"{self.dice.pick(*SIMPLE)}({self.dice.pick(*values)})"

    def modifiers(self) -> str:
        """GROUP BY, HAVING and LIMIT."""
        text = f"GROUP BY {' '.join(self.grouped())}\n" if self.grouped() else ""
        if self.dice.chance(20):
            compared = self.dice.pick("COUNT(*)", *self.columns)
            text += f"HAVING ({compared} {self.dice.pick('>', '<=')} {self.dice.number(1, 3)})\n"
        return text + (f"LIMIT {self.dice.number(1, 2)}\n" if self.dice.chance(10) else "")
