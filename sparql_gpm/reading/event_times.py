"""The time of an event: the values of a property or path inside its graph, and the time that a literal states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, XSD, Literal
from sparql_gpm.times import SECOND_NS, format_time, parse_time

Path = tuple[str, ...]
"""A sequence path: the IRIs of its predicates, at least one."""
Triple = tuple[int, int, int]
CHOICES = ("earliest", "latest")
_PROPERTIES_SHOWN_MAX = 5
_TIME_TYPES = (XSD + "dateTime", XSD + "dateTimeStamp")


@dataclass(frozen=True, slots=True)
class TimeRule:
    """The rule by which an event gets its time, beside the predicates of `ReadOptions`.

    paths       sequence paths of two or more predicates, followed inside the graph
    choice      of several values inside the graph, "earliest" or "latest"; "": two that differ are a fault
    unit_ns     the nanoseconds that a number counts
    origin_ns   the time at which numbers begin
    """

    paths: tuple[Path, ...] = ()
    choice: str = ""
    unit_ns: int = SECOND_NS
    origin_ns: int = 0

    def stated(self, value: object) -> int:
        """The time that a term states; ValueError says what is wrong with it."""
        if not isinstance(value, Literal):
            raise ValueError("it is not a literal")
        return parse_time(value, self.unit_ns, self.origin_ns)

    def chosen(self, times: Iterable[int]) -> int:
        """The one time of a graph of these values; ValueError if they are several and nothing says which."""
        found = sorted(set(times))
        if len(found) > 1 and not self.choice:
            raise ValueError(f"{format_time(found[0])} and {format_time(found[1])}")
        return found[-1] if self.choice == "latest" else found[0]


def values_inside(triples: Sequence[Triple], paths: Iterable[Path], dictionary: Dictionary) -> list[int]:
    """The ids of the values that the paths have in a graph, whatever they begin at; each once."""
    found: dict[int, None] = {}
    for path in paths:
        ends = _ends(triples, [dictionary.find(IRI(predicate)) for predicate in path])
        found |= dict.fromkeys(ends)
    return list(found)


def _ends(triples: Sequence[Triple], predicates: Sequence[int]) -> Iterator[int]:
    """The ends of a path; none if a predicate has no id."""
    if UNBOUND in predicates:
        return
    reached = {subject for subject, predicate, _ in triples if predicate == predicates[0]}
    for position, wanted in enumerate(predicates):
        steps = [target for subject, predicate, target in triples if predicate == wanted and subject in reached]
        if position == len(predicates) - 1:
            yield from steps
        reached = set(steps)


def dated_properties(triples: Sequence[Triple], dictionary: Dictionary) -> list[str]:
    """The IRIs of the properties that have an xsd:dateTime in a graph, at most five."""
    found: dict[str, None] = {}
    for _, predicate, target in triples:
        value = dictionary.term(target)
        if isinstance(value, Literal) and value.datatype in _TIME_TYPES:
            name = dictionary.term(predicate)
            assert isinstance(name, IRI), name
            found[name.value] = None
            if len(found) == _PROPERTIES_SHOWN_MAX:
                break
    return list(found)
