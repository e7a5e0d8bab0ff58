"""Random queries whose GPMs ask a knowledge base for more, and random small knowledge bases for them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from sparql_gpm.terms import IRI, XSD, Literal, Term
from tests.strategies.query import QueryText, StepText
from tests.strategies.sequence import Dice, Use
from tests.strategies.stream import EX

DB = "http://ex.org/db"
Triples = frozenset[tuple[Term, Term, Term]]


@dataclass(frozen=True, slots=True)
class KnowingStep(StepText):
    """A step that also asks the knowledge base.

    part    of its GPM
    brings  the variables that the part binds
    """

    part: str = ""
    brings: tuple[str, ...] = ()

    @property
    def variables(self) -> list[str]:
        """The variables in scope in the GPM."""
        return [*StepText.variables.fget(self), *self.brings]  # type: ignore[attr-defined]


class KnowingQueryText(QueryText):
    """Draws one query over events and a knowledge base."""

    def step(self, name: str, uses: tuple[Use, ...], keyed: bool) -> StepText:
        """A step as any, that asks the knowledge base at times."""
        plain = super().step(name, uses, keyed)
        known = {field.name: getattr(plain, field.name) for field in fields(StepText)}
        if self.dice.chance(15):
            return plain
        part, brings = self.part(plain)
        return KnowingStep(**known, part=part, brings=brings)

    def part(self, step: StepText) -> tuple[str, tuple[str, ...]]:
        """What is asked, and the variables that it binds: mostly the step's own."""
        subject = "?k" if step.binds_key and self.dice.chance(75) else f"?s{step.name}"
        end = "" if self.dice.chance(15) else step.name
        label, room, floor = f"?l{end}", f"?r{end}", f"?f{end}"
        graph = f"GRAPH <{DB}>"
        kind = self.dice.weighted(
            [("label", 4), ("chain", 3), ("inner", 3), ("filter", 1), ("outside", 1), ("two", 2), ("loose", 1)]
        )
        match kind:
            case "chain":
                return f"OPTIONAL {{ {graph} {{ {subject} :in {room} . {room} :floor {floor} }} }}", (room, floor)
            case "inner":
                more = self.dice.pick(f"{room} :floor {floor}", f"OPTIONAL {{ {room} :floor {floor} }}")
                return f"{graph} {{ {subject} :in {room} . {more} }}", (room, floor)
            case "filter":
                return f"OPTIONAL {{ {graph} {{ {subject} :label {label} FILTER({label} > 1) }} }}", (label,)
            case "outside":
                return f"OPTIONAL {{ {graph} {{ {subject} :label {label} }} FILTER({label} > 1) }}", (label,)
            case "two":
                first, second = f"{subject} :label {label}", f"{subject} :in {room}"
                return f"OPTIONAL {{ {graph} {{ {first} }} }} OPTIONAL {{ {graph} {{ {second} }} }}", (label, room)
            case "loose":
                return f"OPTIONAL {{ {graph} {{ :x :in {room} }} }}", (room,)
        return f"OPTIONAL {{ {graph} {{ {subject} :label {label} }} }}", (label,)

    def define(self, step: StepText) -> str:
        """DEFINE GPM … with the part somewhere among the others, and a filter over what it binds at times."""
        text = super().define(step)
        if not isinstance(step, KnowingStep):
            return text
        part = step.part
        if self.dice.chance(12):
            variable = self.dice.pick(*step.brings)
            part += f" FILTER({self.dice.pick(f'BOUND({variable})', f'!BOUND({variable}) || {variable} != 1')})"
        place = text.index(" .") + 2 if self.dice.chance(50) else text.rindex(" }")
        return f"{text[:place]} {part}{text[place:]}"


@st.composite
def knowing_queries(draw: DrawFn) -> str:
    """A random query text that may ask the knowledge base DB."""
    return KnowingQueryText(Dice(draw)).whole()


@st.composite
def knowing_in_partitions(draw: DrawFn) -> str:
    """One whose partitions have the values of a key that each step binds; most events match."""
    dice = Dice(draw)
    steps = [StepText(name, (), True, None, None) for name in ("A", "B")]
    parts = {step.name: KnowingQueryText(dice).part(step)[0] for step in steps}
    defines = "\n".join(f"  DEFINE GPM {name} ON S1 {{ ?s{name} :k ?k . {part} }}" for name, part in parts.items())
    head = f"PREFIX : <{EX}>\nSELECT *\nWITHIN 100 SECONDS\nPARTITION BY ?k USING {{ ?u :k ?k }}"
    body = f"  SEQ({dice.pick('A : B', 'A : B?', 'A:+ : B', 'A | B')})\n{defines}"
    return f"{head}\nFROM STREAM S1 <{EX}s1>\nWHERE {{\n{body}\n}}\n"


@st.composite
def knowledge(draw: DrawFn) -> Triples:
    """Labels, rooms and floors: mostly one for each thing, at times none or two."""
    dice = Dice(draw)
    found: set[tuple[Term, Term, Term]] = set()
    rooms = ("room0", "room1")
    for thing in ("x", "y", "s0", "s1", "s2"):
        for _ in range(int(dice.weighted([("1", 8), ("0", 2), ("2", 1)]))):
            found.add((IRI(EX + thing), IRI(EX + "label"), Literal(str(dice.number(0, 3)), XSD + "integer")))
        for _ in range(int(dice.weighted([("1", 8), ("0", 1), ("2", 1)]))):
            found.add((IRI(EX + thing), IRI(EX + "in"), IRI(EX + dice.pick(*rooms))))
    for room in rooms:
        for _ in range(int(dice.weighted([("1", 8), ("0", 1), ("2", 1)]))):
            found.add((IRI(EX + room), IRI(EX + "floor"), Literal(str(dice.number(0, 2)), XSD + "integer")))
    return frozenset(found)
