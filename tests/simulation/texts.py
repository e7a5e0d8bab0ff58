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
from tests.strategies.stream import EX, GENERATED, drawn_streams, to_trig

INPUTS = ("http://ex.org/s1", "http://ex.org/s2")
"""The streams that drawn texts read."""
DERIVED = ("http://ex.org/d1", "http://ex.org/d2")
"""The streams that queries make; the second one of the first."""
WINDOWS = ("8 SECONDS SLIDING", "6 SECONDS SLIDING", "5 SECONDS", "10 SECONDS")
"""In place of windows in which a stream without an end has too many matches."""
ALIKE, ALIKE_MAX = 24, 2_000
"""A query reads a derived stream, which may have many rows of one time and type, if it needs no more partial matches
and has no more rows for so many events alike: ALL(A:{1,3}, B) finds the fourth power, (A | B){2,} a power of two."""
SAMPLE_EVENTS, SAMPLE_ROWS_MIN, SAMPLE_ROWS_MAX, SAMPLE_RUNS_MAX = 80, 2, 20, 60
"""A query is used if it has so many rows in so many events, and needs no more partial matches."""
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


def _alike(kind: str) -> str:
    """Events of one time, with a thing each of this type, and the same key and value."""
    graph = f"[ a <{EX}{kind}> ; <{EX}k> <{EX}x> ; <{EX}v> 1 ; <{EX}q> 1 ]"
    stamp = f'<{GENERATED.value}> "2026-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    return "".join(f"<urn:e{number}> {stamp} .\n<urn:e{number}> {{ {graph} . }}\n" for number in range(ALIKE))


_ALIKE = [_alike(kind) for kind, _ in TYPES]
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
        self._bounded = {
            kind: [text for text in texts if not self._swells(text)]
            or [next(text for text in self._usable(dice, KINDS[kind]) if not self._swells(text))]
            for kind, texts in self._known.items()
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
        """The texts of a kind for some streams."""
        return (self._bounded if set(DERIVED) & set(inputs) else self._known)[kind]

    def _swells(self, text: str) -> bool:
        """True if events alike give too much."""
        return any(
            self._found(text, [(iri, alike) for iri in INPUTS], ALIKE_MAX) not in range(ALIKE_MAX) for alike in _ALIKE
        )

    def _usable(self, dice: Dice, kinds: Sequence[Draw]) -> Iterator[str]:
        begin = dice.number(0, len(kinds) - 1)
        for number in count(begin):
            text = _LONG.sub(lambda _: f"WITHIN {dice.pick(*WINDOWS)}", kinds[number % len(kinds)](dice))
            if SAMPLE_ROWS_MIN <= self._rows(text) <= SAMPLE_ROWS_MAX:
                yield text

    def _rows(self, text: str) -> int:
        """The number of rows in the sample; 0 for a text that is wrong, or needs too much."""
        return self._found(text, self._sample, SAMPLE_RUNS_MAX) or 0

    def _found(self, text: str, sample: Sequence[tuple[str, str]], runs_max: int) -> int | None:
        """The number of rows in some events; None for a text that is wrong, or needs too much."""
        found: list[Row] = []
        try:
            query = parse(text, "tried")
            engine = Engine(kb={DB: self._knowledge} if f"<{DB}>" in text else None, max_runs=runs_max)
            engine.register(query, found.append)
            read = {iri for _, iri in engine.pushed_streams()}
            for iri, body in sample:
                if iri in read:
                    engine.push_batch(iri, body, "trig")
            engine.close()
        except (QueryError, InputError, RunError):
            return None
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
