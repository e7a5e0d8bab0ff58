"""Random streams of small graphs, cuts into batches, and disorder; and their text on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from sparql_gpm.terms import IRI, RDF, XSD, BlankNode, Literal, Term, to_ntriples
from tests.conformance.times import from_iso, to_iso
from tests.reference.stream import Arrivals, Triples
from tests.strategies.query import TYPES
from tests.strategies.sequence import Dice

EX = "http://ex.org/"
ORIGIN = from_iso("2026-01-01T00:00:00Z")
SECOND = 1_000_000_000
GENERATED = IRI("http://www.w3.org/ns/prov#generatedAtTime")


@st.composite
def streams(draw: DrawFn, least: int = 4, most: int = 10) -> dict[str, Arrivals]:
    """Events on S1 and S2 in order of time: few types, keys and small integers, ties within and across streams."""
    return drawn_streams(Dice(draw), least, most)


def drawn_streams(dice: Dice, least: int = 4, most: int = 10) -> dict[str, Arrivals]:
    """See `streams`."""
    second: dict[str, list[tuple[int, str, Triples]]] = {"S1": [], "S2": []}
    time = ORIGIN
    for number in range(max(dice.number(least, most), dice.number(least, most))):
        time += int(dice.weighted([("1", 8), ("0", 3), ("2", 1), ("4", 1)])) * SECOND
        stream = "S2" if dice.chance(30) else "S1"
        second[stream].append((time, f"urn:e{number}", drawn_graph(dice, number)))
    return {name: tuple(events) for name, events in second.items()}


def drawn_graph(dice: Dice, number: int) -> Triples:
    """One thing with a type, a key, a value; a second one, or nothing at all, at times."""
    if dice.chance(2):
        return frozenset()
    things = [_thing(dice, number, 0)]
    if dice.chance(10):
        things.append(_thing(dice, number, 1))
    return frozenset(triple for thing in things for triple in thing)


def _thing(dice: Dice, number: int, which: int) -> list[tuple[Term, Term, Term]]:
    subject: Term = BlankNode(f"b{number}.{which}") if dice.chance(30) else IRI(f"{EX}s{dice.number(0, 2)}")
    triples: list[tuple[Term, Term, Term]] = [(subject, IRI(RDF + "type"), IRI(EX + dice.weighted(TYPES)))]
    if not dice.chance(5):
        triples.append((subject, IRI(EX + "k"), IRI(EX + dice.weighted([("x", 3), ("y", 1)]))))
    if not dice.chance(5):
        triples.append((subject, IRI(EX + "v"), _value(dice)))
    if dice.chance(25):
        triples.append((subject, IRI(EX + "n"), _value(dice)))
    if dice.chance(30):
        triples.append((subject, IRI(EX + "q"), Literal("1", XSD + "integer")))
    return triples


def _value(dice: Dice) -> Literal:
    """Mostly small integers; equal values of other forms and types now and then."""
    number = dice.number(0, 3)
    if dice.chance(6):
        return Literal(f"{number}.0", XSD + "decimal")
    return Literal(str(number), XSD + "integer")


@st.composite
def cuts(draw: DrawFn, events: int) -> list[int]:
    """Sizes of consecutive batches that add up to the number of events; empty batches at times."""
    return drawn_cuts(Dice(draw), events)


def drawn_cuts(dice: Dice, events: int) -> list[int]:
    """See `cuts`."""
    sizes: list[int] = []
    left = events
    while left > 0:
        size = min(left, int(dice.pick("1", "1", "2", "3", "0", "7")))
        sizes.append(size)
        left -= size
    return sizes


@st.composite
def late(draw: DrawFn, arrivals: Arrivals, delay_ns: int) -> Arrivals:
    """The same events in an order of arrival in which none is late, given the delay.

    Events of equal time keep their order among themselves: it is part of their meaning.
    """
    lag = {time: draw(st.integers(0, 4)) * delay_ns // 4 for time in sorted({time for time, _, _ in arrivals})}
    return tuple(sorted(arrivals, key=lambda event: event[0] + lag[event[0]]))


@st.composite
def too_late(draw: DrawFn, arrivals: Arrivals) -> Arrivals:
    """The same events in any order of arrival: some may be late, whatever the delay."""
    return tuple(draw(st.permutations(arrivals)))


# --- on the wire ----------------------------------------------------------------------------------


def to_nquads(arrivals: Arrivals) -> str:
    """N-Quads by the stream convention: each event's timestamp in the default graph, right before its quads."""
    lines: list[str] = []
    for time, name, triples in arrivals:
        graph = to_ntriples(IRI(name))
        stamp = Literal(to_iso(time), XSD + "dateTime")
        lines.append(f"{graph} {to_ntriples(GENERATED)} {to_ntriples(stamp)} .")
        lines += sorted(f"{' '.join(map(to_ntriples, triple))} {graph} ." for triple in triples)
    return "".join(f"{line}\n" for line in lines)


def to_trig(arrivals: Arrivals) -> str:
    """TriG by the stream convention."""
    blocks: list[str] = []
    for time, name, triples in arrivals:
        graph = to_ntriples(IRI(name))
        stamp = Literal(to_iso(time), XSD + "dateTime")
        inside = " ".join(sorted(f"{' '.join(map(to_ntriples, triple))} ." for triple in triples))
        blocks.append(f"{graph} {to_ntriples(GENERATED)} {to_ntriples(stamp)} .\n{graph} {{ {inside} }}\n")
    return "".join(blocks)


Arrived = tuple[str, int, str, Triples]
"""(stream, time, name, triples)."""


def batches(merged: Sequence[Arrived], sizes: Sequence[int]) -> list[list[Arrived]]:
    """The events cut into batches of the given sizes."""
    found, start = [], 0
    for size in sizes:
        found.append(list(merged[start : start + size]))
        start += size
    return found


def interleaved(arrivals: Mapping[str, Arrivals]) -> list[Arrived]:
    """All streams' events, by time; each stream keeps its order of arrival."""
    waiting = {name: list(events) for name, events in arrivals.items()}
    order: list[Arrived] = []
    while any(waiting.values()):
        name = min((name for name in waiting if waiting[name]), key=lambda name: (waiting[name][0][0], name))
        order.append((name, *waiting[name].pop(0)))
    return order
