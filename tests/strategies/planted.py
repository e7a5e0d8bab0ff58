"""Random streams in which a way through a query's SEQ( ) is laid out, among other events: most of them match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from automata.plan import expression as nodes
from automata.plan.expression import AnyOrder, Choice, Conjunction, Limited, Negation, Optional, Repetition, Sequence
from sparql_gpm.terms import IRI, RDF, XSD, Literal
from spaseq.lang.ast import Expr, Query
from tests.reference.stream import Arrivals, Triples
from tests.strategies.sequence import Dice
from tests.strategies.stream import EX, ORIGIN, SECOND, drawn_graph

_KIND = re.compile(r"DEFINE GPM (\w+) ON (.+?) (?:A[ST] \?\w+ )*\{ \?\w+ (?:a :(\w)|:q 1)")
_WAY_MAX = 8
"""Steps of a way; the reference is exponential in them."""


def planted_streams(dice: Dice, query: Query, others: int) -> dict[str, Arrivals]:
    """Events on the query's streams in order of time: those of a way, and at most so many others."""
    kinds = {name: (on.split(", "), kind) for name, on, kind in _KIND.findall(query.text)}
    found: dict[str, list[tuple[int, str, Triples]]] = {stream.name: [] for stream in query.streams}
    time, number, value = ORIGIN + dice.number(0, 5) * SECOND, 0, dice.number(0, 2)
    for together in list(_way(dice, query.sequence))[:_WAY_MAX]:
        while others and dice.chance(35):
            name = dice.pick(*found)
            found[name].append((time, f"urn:e{number}", drawn_graph(dice, number)))
            time, number, others = time + int(dice.pick("0", "1", "1")) * SECOND, number + 1, others - 1
        time += int(dice.weighted([("1", 12), ("0", 2), ("2", 1)])) * SECOND // int(dice.pick("1", "1", "2"))
        value = min(value + dice.number(0, 1), 3)
        for step in together:
            on, kind = kinds[step]
            graph = _graph(dice, kind, value)
            found[dice.pick(*on)].append((time, f"urn:e{number}", graph))
            number += 1
    for _ in range(dice.number(0, others)):
        time += int(dice.weighted([("1", 6), ("0", 2), ("3", 2)])) * SECOND
        found[dice.pick(*found)].append((time, f"urn:e{number}", drawn_graph(dice, number)))
        number += 1
    return {name: tuple(events) for name, events in found.items()}


def _way(dice: Dice, node: Expr) -> Iterator[tuple[str, ...]]:
    """Steps that a match may take, those of one time together."""
    match node:
        case nodes.Step(name):
            yield (name,)
        case Choice(branches):
            yield from _way(dice, branches[dice.number(0, len(branches) - 1)])
        case Conjunction(members):
            yield tuple(name for member in members for some in _way(dice, member) for name in some)
        case AnyOrder(members):
            ahead = dice.number(0, len(members) - 1)
            for member in (*members[ahead:], *members[:ahead]):
                yield from _way(dice, member)
        case Repetition(inner, least, most):
            for _ in range(dice.number(least, min(most or least + 2, least + 2))):
                yield from _way(dice, inner)
        case Optional(inner):
            if dice.chance(60):
                yield from _way(dice, inner)
        case Negation():
            pass
        case Sequence(items):
            for item in items:
                yield from _way(dice, item)
        case Limited(inner):
            yield from _way(dice, inner)


def _graph(dice: Dice, kind: str, value: int) -> Triples:
    """A thing of this kind with the usual key and the value; of no kind: one with the mark that a step may ask for."""
    subject = IRI(f"{EX}s{dice.number(0, 2)}")
    properties: Mapping[str, int] = {"v": value, "n": value, "q": 1}
    shown = ["v"] + ["n"] * dice.chance(40) + ["q"] * (not kind or dice.chance(30))
    triples = {(subject, IRI(EX + name), Literal(str(properties[name]), XSD + "integer")) for name in shown}
    of_kind = (subject, IRI(RDF + "type"), IRI(EX + (kind or "A")))
    return frozenset({*triples, of_kind, (subject, IRI(EX + "k"), IRI(EX + dice.weighted([("x", 9), ("y", 1)])))})
