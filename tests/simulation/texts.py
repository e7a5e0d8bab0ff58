"""Texts of queries of every kind that find something, but not too much, in streams without an end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import TypeAlias

from spaseq.engine.live import Engine
from spaseq.errors import InputError, QueryError, RunError
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from tests.random_pairs import PRODUCTS, TEXTS
from tests.strategies.combined import RegisteredText
from tests.strategies.knowledge import DB, KnowingQueryText
from tests.strategies.query import TYPES, QueryText
from tests.strategies.sequence import Dice, SeededDice
from tests.strategies.stream import drawn_streams, to_trig

INPUTS = ("http://ex.org/s1", "http://ex.org/s2")
"""The streams that drawn texts read."""
DERIVED = ("http://ex.org/d1", "http://ex.org/d2")
"""The streams that queries make; the second one of the first."""
WINDOWS = ("8 SECONDS SLIDING", "6 SECONDS SLIDING", "5 SECONDS", "10 SECONDS")
"""In place of windows in which a stream without an end has too many matches."""
SAMPLE_EVENTS, SAMPLE_ROWS_MIN, SAMPLE_ROWS_MAX, SAMPLE_RUNS_MAX = 80, 2, 20, 60
"""A query is used if it has so many rows in so many events, and needs no more partial matches."""
_SWELLS = re.compile(r"ALL\(.*[+*{]")
"""An ALL( ) with a repetition: of n events of one time, ALL(A:{1,3}, B) finds the fourth power of n."""
_LONG = re.compile(r"(?m)^WITHIN (?:100|10) SECONDS\b.*$")
Draw: TypeAlias = Callable[[Dice], str]


@dataclass(slots=True)
class ProducerText(QueryText):
    """A query that makes a stream whose events other drawn queries match; `made` is its IRI."""

    made: str = DERIVED[0]

    def form(self) -> str:
        """REGISTER STREAM … AS CONSTRUCT, a thing with a type, a key and a value."""
        keys = ["?k" for step in self.positive() if step.binds_key]
        values = [step.value for step in self.positive() if step.value]
        thing = f"{self.dice.pick('_:m', ':s0', ':s1')} a :{self.dice.weighted(TYPES)}"
        key, value = self.dice.pick(*keys or [":x"]), self.dice.pick(*values or ["1"])
        return f"REGISTER STREAM <{self.made}> AS CONSTRUCT {{ {thing} ; :k {key} ; :v {value} }}"


def _registered(dice: Dice) -> str:
    return RegisteredText(dice).whole()


_PLAIN: Sequence[Draw] = [*(kind for kind in TEXTS if kind is not TEXTS[-1]), *PRODUCTS]
KINDS: dict[str, Sequence[Draw]] = {
    "plain": _PLAIN,
    "knowing": [lambda dice: KnowingQueryText(dice).whole()],
    "producer": [lambda dice: ProducerText(dice).whole(), lambda dice: ProducerText(dice).whole(), _registered],
}
"""Ways of drawing a text, by what it needs and makes."""


class Texts:
    """Texts that have been tried on a sample of events, `each` of every kind; they cost some 50 ms each to find.

    knowledge   the file of the knowledge base for the trial
    """

    def __init__(self, random: Random, each: dict[str, int], knowledge: Path) -> None:
        self._knowledge = str(knowledge)
        dice = SeededDice(random)
        sample = drawn_streams(dice, SAMPLE_EVENTS, SAMPLE_EVENTS)
        self._sample = [(iri, to_trig(sample[name])) for iri, name in zip(INPUTS, ("S1", "S2"), strict=True)]
        self._known = {
            kind: [text for text, _ in zip(self._usable(dice, KINDS[kind]), range(number), strict=False)]
            for kind, number in each.items()
        }

    def plain(self, random: Random, inputs: Sequence[str]) -> str:
        """A query over one or two of these streams."""
        return _over(random, random.choice(self._fit("plain", inputs)), inputs)

    def knowing(self, random: Random, inputs: Sequence[str]) -> str:
        """A query that asks the knowledge base."""
        return _over(random, random.choice(self._known["knowing"]), inputs)

    def producer(self, random: Random, inputs: Sequence[str], made: str) -> str:
        """A query that makes a stream."""
        text = random.choice(self._fit("producer", inputs))
        return _over(random, re.sub(r"REGISTER STREAM <[^>]*>", f"REGISTER STREAM <{made}>", text), inputs)

    def any_reader(self, made: str) -> str:
        """A query with a row for each triple of a stream that another one makes."""
        return RegisteredText.READER.replace("<http://ex.org/d>", f"<{made}>").replace("100 SECONDS", "5 SECONDS")

    def _fit(self, kind: str, inputs: Sequence[str]) -> Sequence[str]:
        """The texts of a kind for some streams: where many rows are made at one time, some have no bound."""
        if not set(DERIVED) & set(inputs):
            return self._known[kind]
        return [text for text in self._known[kind] if not _SWELLS.search(text)] or self._known[kind]

    def _usable(self, dice: Dice, kinds: Sequence[Draw]) -> Iterator[str]:
        begin = dice.number(0, len(kinds) - 1)
        for number in count(begin):
            text = _LONG.sub(lambda _: f"WITHIN {dice.pick(*WINDOWS)}", kinds[number % len(kinds)](dice))
            if SAMPLE_ROWS_MIN <= self._rows(text) <= SAMPLE_ROWS_MAX:
                yield text

    def _rows(self, text: str) -> int:
        """The number of rows in the sample; 0 for a text that is wrong, or needs too much."""
        found: list[Row] = []
        try:
            query = parse(text, "tried")
            engine = Engine(kb={DB: self._knowledge} if f"<{DB}>" in text else None, max_runs=SAMPLE_RUNS_MAX)
            engine.register(query, found.append)
            read = {iri for _, iri in engine.pushed_streams()}
            for iri, body in self._sample:
                if iri in read:
                    engine.push_batch(iri, body, "trig")
            engine.close()
        except (QueryError, InputError, RunError):
            return 0
        return len(found)


def _over(random: Random, text: str, inputs: Sequence[str]) -> str:
    """The text over other streams; one that needs two keeps the second of its own where one is given."""
    chosen = random.sample(inputs, min(len(INPUTS), len(inputs)))
    first, second = (*chosen, INPUTS[1])[: len(INPUTS)]
    return (
        text.replace(f"<{INPUTS[0]}>", "<first>")
        .replace(f"<{INPUTS[1]}>", f"<{second}>")
        .replace("<first>", f"<{first}>")
    )
