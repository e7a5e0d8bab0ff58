"""The parts of a pattern that can be left out, each by itself: triple patterns, filters, knowledge bases, groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.expression_text import path_text
from sparql_gpm.algebra.rewrite import conjuncts, connected
from sparql_gpm.algebra.triple_terms import statements, with_terms
from sparql_gpm.pattern import EMPTY, Expression, Member, Node, PathTriple, Pattern, TermParts, Triple, Variable
from sparql_gpm.terms import IRI, to_ntriples


@dataclass(frozen=True, slots=True)
class Part:
    """A part: a triple pattern, a condition of a FILTER, or a group (OPTIONAL apart, which takes nothing away).

    terms   the triple terms in the triple pattern
    """

    triple: Triple | PathTriple | None = None
    terms: tuple[TermParts, ...] = ()
    condition: Expression | None = None
    group: Pattern | None = None

    @property
    def home(self) -> str | None:
        """The IRI or variable of the knowledge base or endpoint that it asks; None: of none."""
        match self.group:
            case algebra.Graph(name) | algebra.Service(name):
                return f"?{name.name}" if isinstance(name, Variable) else to_ntriples(name).strip("<>")
        return None


def parts_of(pattern: Pattern) -> list[Part]:
    """The parts of a pattern, in the order of the text."""
    found: list[Part] = []
    _kept(pattern, None, count(), found)
    return found


OPENED = " predicate"
"""The variable in place of the predicate of an opened triple pattern; no variable of a query has this name."""


def with_open_predicate(pattern: Pattern, part: int) -> Pattern | None:
    """The pattern with OPENED for the predicate of a triple pattern; None where that part is none with an IRI there."""
    triple = parts_of(pattern)[part].triple
    if not isinstance(triple, Triple) or not isinstance(triple.predicate, IRI):
        return None
    place, other = count(), Triple(triple.subject, Variable(OPENED), triple.object)
    return _kept(pattern, None, place, [], {part: other})


def with_parts(pattern: Pattern, kept: Set[int]) -> Pattern:
    """The pattern with these of its parts only, by their places in `parts_of`."""
    return _kept(pattern, kept, count(), [])


def _kept(
    pattern: Pattern,
    kept: Set[int] | None,
    numbers: Iterator[int],
    found: list[Part],
    others: Mapping[int, Triple] = MappingProxyType({}),
) -> Pattern:
    def stays(part: Part) -> bool:
        found.append(part)
        number = next(numbers)
        return kept is None or number in kept

    def inside(one: Pattern) -> Pattern:
        return _kept(one, kept, numbers, found, others)

    match pattern:
        case algebra.BGP(triples):
            members: list[Member] = []
            for place, (triple, terms) in enumerate(statements(triples), len(found)):
                if stays(Part(triple, terms)):
                    members += [others.get(place, triple), *terms]
            return algebra.BGP(tuple(members))
        case algebra.Join(left, right):
            return algebra.Join(inside(left), inside(right))
        case algebra.Filter(condition, inner):
            below = inside(inner)
            left_over = [each for each in conjuncts(condition) if stays(Part(condition=each))]
            return algebra.Filter(connected("&&", left_over), below) if left_over else below
        case algebra.Extend(inner, variable, expression):
            return algebra.Extend(inside(inner), variable, expression)
        case algebra.LeftJoin(left, right, condition):
            return algebra.LeftJoin(inside(left), right, condition)
        case algebra.Minus(left, right):
            below = inside(left)
            return algebra.Minus(below, right) if stays(Part(group=pattern)) else below
        case algebra.EventData():
            return pattern
    return pattern if stays(Part(group=pattern)) else EMPTY


def triple_text(triple: Triple | PathTriple, terms: Iterable[TermParts]) -> str:
    """A triple pattern, and the triple terms in it, as SPARQL has it."""
    text = with_terms(node_text, terms)
    predicate = path_text(triple.path) if isinstance(triple, PathTriple) else text(triple.predicate)
    return f"{text(triple.subject)} {predicate} {text(triple.object)}"


def node_text(node: Node) -> str:
    """A term or variable as SPARQL has it."""
    if isinstance(node, Variable):
        return node.name if node.name.startswith("_:") else f"?{node.name}"
    return to_ntriples(node)
