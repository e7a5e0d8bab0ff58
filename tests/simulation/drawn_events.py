"""Events and knowledge bases of the vocabulary of drawn queries."""

from __future__ import annotations

from sparql_gpm.terms import IRI, XSD, Literal, to_ntriples
from tests.simulation.bodies import Event, joined
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import EX, SECOND, drawn_graph

THINGS = ("x", "y", "s0", "s1", "s2")
ROOMS = ("room0", "room1")


def drawn_events(dice: SeededDice, number: int, begin: int, first: int, single: bool = False) -> list[Event]:
    """Events in order of time, some a second apart, from `begin` (nanoseconds) on.

    first   the number in the name of the first one
    single  the one event has no name
    """
    events, time = [], begin
    for each in range(first, first + number):
        time += int(dice.weighted([("1", 8), ("0", 3), ("2", 1), ("4", 1)])) * SECOND
        triples = tuple(sorted(drawn_graph(dice, each), key=joined))
        events.append(Event(time, None if single else f"urn:e{each}", triples))
    return events


def drawn_knowledge(dice: SeededDice) -> str:
    """N-Triples: labels, rooms and floors, mostly one for each thing."""
    lines = []
    for thing in THINGS:
        if dice.chance(80):
            lines.append(_line(thing, "label", Literal(str(dice.number(0, 3)), XSD + "integer")))
        if dice.chance(80):
            lines.append(_line(thing, "in", IRI(EX + dice.pick(*ROOMS))))
    lines += [_line(room, "floor", Literal(str(dice.number(0, 2)), XSD + "integer")) for room in ROOMS]
    return "".join(lines)


def _line(subject: str, predicate: str, target: IRI | Literal) -> str:
    return f"<{EX}{subject}> <{EX}{predicate}> {to_ntriples(target)} .\n"
