"""Random pairs of a query and its streams, by seed and number, and the rows that the reference finds for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from spaseq.errors import QueryError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from tests.driving import Comparable, comparable
from tests.reference.api import Arrivals, evaluate_all
from tests.strategies.combined import CombinedText, RegisteredText
from tests.strategies.iterated import IteratedText
from tests.strategies.keyed import KeyedText
from tests.strategies.late import LateText
from tests.strategies.limited import LimitedLateText, LimitedText
from tests.strategies.over import OverText
from tests.strategies.planted import planted_streams
from tests.strategies.possessive import PossessiveText
from tests.strategies.propagated import PropagatedText
from tests.strategies.query import QueryText, rewindowed, under_any
from tests.strategies.register import FirstQuery, RegisterQuery
from tests.strategies.sequence import Dice, SeededDice
from tests.strategies.stream import Arrived, drawn_cuts, drawn_streams, interleaved, to_trig
from tests.strategies.subsets import SubsetText

BRIEF = ("2 SECONDS SLIDING", "3 SECONDS SLIDING", "3 SECONDS", "3 EVENTS SLIDING", "4 EVENTS")
"""Windows that pass several times in a stream: evaluators are exchanged after one or two."""


def brief(dice: Dice) -> str:
    """A query for the lazy evaluators with a window that is short beside the streams."""
    return rewindowed(any_order(dice), dice.pick(*BRIEF))


def any_order(dice: Dice) -> str:
    """A query for the lazy evaluators."""
    return under_any(QueryText(dice).whole())


def late_any_order(dice: Dice) -> str:
    """The same, with matches that are decided late."""
    return under_any(LateText(dice).whole())


def any_subsets(dice: Dice) -> str:
    """A query for the lazy evaluators of whose matches few count."""
    return under_any(SubsetText(dice).whole())


def limited_any_order(dice: Dice) -> str:
    """A query for the lazy evaluators with limits."""
    return under_any(LimitedText(dice).whole())


def limited_late_any_order(dice: Dice) -> str:
    """The same, with matches that are decided late."""
    return under_any(LimitedLateText(dice).whole())


def over(dice: Dice) -> str:
    """A query OVER MATCHES."""
    return OverText(dice, late=dice.chance(30)).whole()


def any_over(dice: Dice) -> str:
    """The same for the lazy evaluators."""
    return under_any(over(dice))


def counted_over(dice: Dice) -> str:
    """A query OVER MATCHES in windows of events, of which many are decided by what ends the window."""
    text = OverText(dice, late=True).whole()
    return rewindowed(text, dice.pick("6 EVENTS EVERY 2 EVENTS", "4 EVENTS EVERY 2 EVENTS", "5 EVENTS", "3 EVENTS"))


def combined(dice: Dice) -> str:
    """A query of everything that came with times, limits, episodes, partitions by pattern and groups of matches."""
    return CombinedText(dice).whole()


def any_combined(dice: Dice) -> str:
    """The same for the lazy evaluators, which do not take all they can."""
    return under_any(CombinedText(dice, possessive=False).whole())


def any_keyed(dice: Dice) -> str:
    """A query whose steps are related by at most one key, without conditions, in any order that `:` admits."""
    return under_any(KeyedText(dice).keyed())


def any_plain(dice: Dice) -> str:
    """A query for the lazy evaluators without conditions of several steps, in windows that pass several times."""
    return rewindowed(any_keyed(dice), dice.pick(*BRIEF[:3]))


PRODUCTS: Sequence[Callable[[Dice], str]] = (any_keyed, any_plain)
"""Kinds of queries most of whose partial matches only keys relate."""
TEXTS: Sequence[Callable[[Dice], str]] = (
    lambda dice: QueryText(dice).whole(),
    any_order,
    brief,
    lambda dice: KeyedText(dice).keyed(),
    lambda dice: LateText(dice).whole(),
    late_any_order,
    lambda dice: RegisterQuery(dice).whole(),
    lambda dice: FirstQuery(dice).whole(),
    lambda dice: SubsetText(dice).whole(),
    any_subsets,
    lambda dice: LimitedText(dice).whole(),
    lambda dice: LimitedLateText(dice).whole(),
    limited_any_order,
    limited_late_any_order,
    over,
    any_over,
    lambda dice: PossessiveText(dice).whole(),
    lambda dice: PropagatedText(dice).keyed(),
    lambda dice: PropagatedText(dice).keyed(),
    combined,
    any_combined,
    lambda dice: IteratedText(dice).whole(),
    any_combined,
    lambda dice: RegisteredText(dice).whole(),
)
"""Kinds of random queries, one after the other: of the whole language, and of what single evaluators cover."""
_REWRITTEN = (
    any_order, brief, late_any_order, any_subsets, limited_any_order, limited_late_any_order, any_over, any_combined,
    any_keyed, any_plain, counted_over,
)  # fmt: skip
"""Those that may not be valid any more: what they drop may be asked for elsewhere."""

READER = parse(RegisteredText.READER, "reader")
"""Reads the stream that a query REGISTERs."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A query, its events in order of arrival, and the sizes of the batches that they come in.

    Where the query REGISTERs a stream, `READER` runs beside it.
    """

    query: Query
    arrived: tuple[Arrived, ...]
    sizes: tuple[int, ...]

    @property
    def reader(self) -> Query | None:
        """The query that runs beside it."""
        return READER if self.query.register else None

    @property
    def whole(self) -> bool:
        """Whether all events come at once."""
        return len(self.sizes) == 1

    def without(self, number: int) -> Pair:
        """The pair that lacks one event."""
        before, batch = 0, 0
        while before + self.sizes[batch] <= number:
            before, batch = before + self.sizes[batch], batch + 1
        sizes = (*self.sizes[:batch], self.sizes[batch] - 1, *self.sizes[batch + 1 :])
        return replace(self, arrived=self.arrived[:number] + self.arrived[number + 1 :], sizes=sizes)


def drawn(seed: int, number: int, kinds: Sequence[Callable[[Dice], str]] = TEXTS) -> Pair | None:
    """The pair with this number; None where the kind asked for is not valid without what was taken from it."""
    dice, kind = SeededDice(Random(f"{seed} {number}")), kinds[number % len(kinds)]
    try:
        query = parse(kind(dice), "q")
    except QueryError:
        assert kind in _REWRITTEN, number
        return None
    arrivals = _arrivals(dice, query, *((8, 14) if kind is brief else (4, 12)))
    arrived = tuple(interleaved(arrivals))
    sizes = (len(arrived),) if dice.chance(5 if kind is brief else 30) else tuple(drawn_cuts(dice, len(arrived)))
    return Pair(query, arrived, sizes)


def _arrivals(dice: Dice, query: Query, least: int, most: int) -> Mapping[str, Arrivals]:
    """Events on the query's streams; of two thirds of the queries with a way through their sequence among them."""
    if dice.chance(65):
        return planted_streams(dice, query, most - least)
    found, declared = drawn_streams(dice, least, most), [stream.name for stream in query.streams]
    if "S1" in declared and "S2" in declared:
        return found
    return {name: found.get(name, ()) for name in declared}


def expected_rows(pair: Pair) -> list[Comparable]:
    """The reference's: those of the query, then its reader's."""
    arrivals = {s.iri: tuple(e[1:] for e in pair.arrived if e[0] == s.name) for s in pair.query.streams}
    queries = [query for query in (pair.query, pair.reader) if query]
    return [comparable(row) for rows in evaluate_all(queries, arrivals) for row in rows]


def shown(pair: Pair) -> str:
    """The pair to be read."""
    lines = [pair.query.text.rstrip()]
    for stream in pair.query.streams:
        lines.append(f"# {stream.name}\n{to_trig(tuple(e[1:] for e in pair.arrived if e[0] == stream.name)).rstrip()}")
    return "\n".join([*lines, f"# batches of {', '.join(map(str, pair.sizes))} events"])
