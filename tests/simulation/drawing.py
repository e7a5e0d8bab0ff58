"""What histories of services and engines have in common: kinds that follow each other, queries and their streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from tests.simulation.history import Follows
from tests.simulation.texts import DERIVED, INPUTS, Texts
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import ORIGIN, SECOND

HOUR_NS = 3_600 * SECOND
LEAST = {"steps": 100, "events": 1_000, "rows": 50}
"""What happens at least in an hour: until then it goes on, and counts once."""
QUERIES_MIN, QUERIES_MANY, QUERIES_MAX = 2, 3, 8
"""Of queries at a time; where there are many, they are deleted sooner."""
MANY = 80, 160
"""Events in a body, at least and at most, where there have been few."""
NEW_TO_IT = 4
"""By how much likelier a kind of step is that never followed the one before."""


@dataclass(slots=True)
class Put:
    """A query as the drawing remembers it: its kind of text, the stream that it makes, whether it is paused."""

    kind: str
    made: str = ""
    text: str = ""
    paused: bool = False


@dataclass(slots=True)
class Hour:
    """What of an hour has been drawn, and the events that have been accepted in it."""

    begin: int
    steps: int = 0
    events: int = 0

    def is_ahead(self, now: int) -> bool:
        """More of its time has passed than of its steps."""
        return (now - self.begin) / HOUR_NS > self.steps / (LEAST["steps"] * 1.05)

    @property
    def is_short(self) -> bool:
        """It has fewer events than go with its steps."""
        return self.events / (LEAST["events"] * 1.05) < self.steps / LEAST["steps"]


@dataclass(slots=True)
class Drawing(ABC):
    """Draws steps, each when those before have been taken; `now` is the time of the simulation then.

    follows     how often each kind has been followed by each other
    queries     by name
    cursors     by stream, the time of its last event
    first       the number of the next event
    """

    WEIGHTS: ClassVar[Mapping[str, int]]
    REGISTER: ClassVar[str] = "register"
    DELETE: ClassVar[str] = "delete"
    OTHERS: ClassVar[tuple[str, ...]] = ()

    random: Random
    texts: Texts
    follows: Follows
    now: int = ORIGIN
    before: str | None = None
    queries: dict[str, Put] = field(default_factory=dict)
    cursors: dict[str, int] = field(default_factory=dict)
    first: int = 0
    hour: Hour = field(default_factory=lambda: Hour(ORIGIN))

    @property
    def dice(self) -> SeededDice:
        """Choices, as the strategies draw them."""
        return SeededDice(self.random)

    def next(self) -> Any:
        """The next step."""
        kinds = [kind for kind in self.WEIGHTS if self._is_possible(kind)]
        new = [1 if self.follows.counts[self.before or "", kind] else NEW_TO_IT for kind in kinds]
        weights = [self.WEIGHTS[kind] * factor for kind, factor in zip(kinds, new, strict=True)]
        if len(self.queries) < QUERIES_MIN:
            kinds, weights = [*kinds, self.REGISTER], [*weights, sum(weights)]
        elif len(self.queries) > QUERIES_MANY:
            kinds, weights = [*kinds, self.DELETE], [*weights, sum(weights) // 8]
        (kind,) = self.random.choices(kinds, weights)
        step = self._drawn(kind, self.dice)
        self.follows.note(self.before, kind)
        self.before = kind
        self.hour.steps += 1
        return step

    def next_hour(self) -> None:
        """Another hour begins."""
        self.hour = Hour(self.now)

    @abstractmethod
    def _is_possible(self, kind: str) -> bool:
        """True if a step of a kind makes sense now."""

    @abstractmethod
    def _drawn(self, kind: str, dice: SeededDice) -> Any:
        """A step of a kind."""

    # --- queries ----------------------------------------------------------------------------------

    def _free_name(self) -> str:
        return next(f"q{number}" for number in range(1, QUERIES_MAX + 1) if f"q{number}" not in self.queries)

    def _any_name(self) -> str:
        return self.random.choice(list(self.queries))

    def _name_of(self, paused: bool) -> str:
        """A query, one that is paused or is not if there is one."""
        names = [name for name, query in self.queries.items() if query.paused == paused]
        return self.random.choice(names or list(self.queries))

    def _is_read(self, name: str) -> bool:
        made = self.queries[name].made
        readers = {DERIVED[0]: ("chain", "reader"), DERIVED[1]: ("reader",)}.get(made, ())
        return any(query.kind in readers for query in self.queries.values())

    def _new_query(self, dice: SeededDice, knows: bool) -> Put:
        """A query whose streams are there; `knows`: so is the knowledge base."""
        made = {query.made for query in self.queries.values()}
        if DERIVED[0] not in made:
            put = Put("producer", DERIVED[0]) if dice.chance(40) else Put("plain")
        elif DERIVED[1] not in made and dice.chance(35):
            put = Put("chain", DERIVED[1])
        elif dice.chance(35):
            put = Put("reader")
        else:
            put = Put("knowing" if knows and dice.chance(35) else "plain")
        put.text = self._text(put, dice)
        return put

    def _text(self, put: Put, dice: SeededDice) -> str:
        """Another text of the kind of a query."""
        inputs = [*INPUTS, *INPUTS, dice.pick(*self.OTHERS)]
        one = dice.pick(*inputs)
        two = [one, dice.pick(*(iri for iri in inputs if iri != one))]
        derived = dice.pick(*(sorted({query.made for query in self.queries.values()} - {""}) or [DERIVED[0]]))
        match put.kind:
            case "producer":
                return self.texts.producer(self.random, two, DERIVED[0])
            case "chain":
                return self.texts.producer(
                    self.random, DERIVED[:1] if dice.chance(50) else [DERIVED[0], one], DERIVED[1]
                )
            case "reader" if dice.chance(30):
                return self.texts.any_reader(derived)
            case "reader":
                return self.texts.plain(self.random, [derived, one])
            case "knowing":
                return self.texts.knowing(self.random, two)
        return self.texts.plain(self.random, two)
