"""Graph patterns over one event, row at a time in plain Python, where columns do not pay for a handful of triples.

Joins of triple patterns, filters, and inputs that are the same for every event (VALUES, GRAPH over solved knowledge
bases) are nested loops in a fixed order, with filters as early as possible. Other patterns are matched in columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sparql_gpm.columns import UNBOUND, EventBatch, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.row_conditions import row_reader
from sparql_gpm.matching import operators
from sparql_gpm.matching.background_operators import GraphOperator, StaticOperator
from sparql_gpm.matching.bgp import Scan
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.frames import Frames
from sparql_gpm.matching.pattern_expression import Operator, PatternExpression
from sparql_gpm.matching.term_parts import TermPattern, parts_of_one
from sparql_gpm.relations.relation import Relation
from sparql_gpm.relations.rows_by_key import RowsByKey, SolutionTuple

Triples = Mapping[int, Sequence[tuple[int, int]]]
"""One event: predicate → its (subject, object) pairs."""
_PAIRS_MAX = 100_000
"""Pairs of rows and triples in one join, and rows of one event; more are matched in columns."""
_Test = Callable[[Sequence[int]], bool]

_NO_EVENT = Frames(BatchView(EventBatch.empty()))


def by_predicate(event: RowEvent) -> Triples:
    """The triples of an event."""
    found: dict[int, list[tuple[int, int]]] = {}
    for subject, predicate, target in event.triples:
        if predicate in found:
            found[predicate].append((subject, target))
        else:
            found[predicate] = [(subject, target)]
    return found


class RowMatcher:
    """Matches one pattern against one event at a time; an event without one of the `predicates` has no solution."""

    def __init__(self, operator: operators.Join, variables: Sequence[str], dictionary: Dictionary) -> None:
        self._operator = operator
        self._variables = tuple(variables)
        self._dictionary = dictionary
        self._generation = -1
        self._relations: list[Relation] = []
        self._plan: _Plan | None = None
        self._event_data = next(iter(_event_data(operator)), None)
        self.has_conditions = bool(operator.conditions)
        self.predicates = frozenset(int(scan.predicate) for scan in operator.scans if isinstance(scan, Scan))

    def solutions(self, triples: Triples, event: RowEvent) -> list[SolutionTuple] | None:
        """The distinct solutions, as values of the variables, UNBOUND for none; None: match in columns.

        triples     of the event, which has all `predicates`
        """
        if self._event_data is not None:
            triples = {**triples, UNBOUND: [self._event_data.row(event)]}
        if self._plan is not None and not self._relations:
            return self._plan.solutions(triples)
        relations = [_everywhere(other) for other in self._operator.others if other is not self._event_data]
        if self._generation != self._dictionary.generation or not _same(relations, self._relations):
            self._generation, self._relations = self._dictionary.generation, relations
            usable = all(relation.binds(name) for relation in relations for name in relation.columns)
            self._plan = _Plan(self._operator, relations, self._variables) if usable else None
        return None if self._plan is None else self._plan.solutions(triples)


def row_matcher(operator: Operator, variables: Sequence[str], dictionary: Dictionary) -> RowMatcher | None:
    """The row matcher of a compiled pattern; None if the pattern is of another kind."""
    if not isinstance(operator, operators.Join) or operator.bind_joins or not operator.scans:
        return None
    plain = all(isinstance(scan, Scan) and isinstance(scan.predicate, int) for scan in operator.scans)
    kinds = GraphOperator | operators.Constant | StaticOperator | operators.EventData
    static = all(isinstance(other, kinds) for other in operator.others) and len(_event_data(operator)) <= 1
    decided = all(not condition.tests and not condition.volatile for condition in operator.conditions)
    return RowMatcher(operator, variables, dictionary) if plain and static and decided else None


@dataclass(frozen=True, slots=True)
class _Join:
    """One triple pattern joined with rows of known width. Places are those of the row, -1: a new value.

    subject, object     the constant, UNBOUND if it is a variable
    same                both are one variable, new here
    new_subject, new_object     values that a row gets
    """

    predicate: int
    subject: int
    subject_at: int
    object: int
    object_at: int
    same: bool
    new_subject: bool = field(init=False)
    new_object: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "new_subject", not self.subject and self.subject_at < 0)
        object.__setattr__(self, "new_object", not self.object and self.object_at < 0 and not self.same)

    def extend(self, rows: Iterable[SolutionTuple], triples: Triples) -> list[SolutionTuple]:
        """The rows joined with the matching pairs."""
        found: list[SolutionTuple] = []
        pairs, same, new_subject, new_object = triples[self.predicate], self.same, self.new_subject, self.new_object
        for row in rows:
            subject = row[self.subject_at] if self.subject_at >= 0 else self.subject
            object_ = row[self.object_at] if self.object_at >= 0 else self.object
            for one, other in pairs:
                if (subject and one != subject) or (object_ and other != object_) or (same and one != other):
                    continue
                if new_subject:
                    found.append((*row, one, other) if new_object else (*row, one))
                else:
                    found.append((*row, other) if new_object else row)
        return found


class _Lookup:
    """A relation that binds all its variables, looked up by those of the rows."""

    def __init__(self, relation: Relation, keys: Mapping[str, int]) -> None:
        self._at = tuple(keys.values())
        self.added = tuple(name for name in relation.columns if name not in keys)
        self._rows = RowsByKey(relation, tuple(keys), self.added)

    def extend(self, rows: Iterable[SolutionTuple], triples: Triples) -> list[SolutionTuple]:
        """The rows joined with those of the relation, not all if they are more than _PAIRS_MAX."""
        found = []
        for row in rows:
            found += [row + more for more in self._rows.of(tuple([row[at] for at in self._at]))]
            if len(found) > _PAIRS_MAX:
                break
        return found


class _Apart:
    """A triple term of the rows, taken apart: its parts are checked, or added where their variables are new."""

    def __init__(self, pattern: TermPattern, places: dict[str, int]) -> None:
        """Gives places to the new variables."""
        self._at = places[pattern.term]
        self._dictionary = pattern.dictionary
        self._constants = tuple(slot if isinstance(slot, int) else UNBOUND for slot in pattern.parts)
        named = (slot if isinstance(slot, str) else None for slot in pattern.parts)
        self._places = tuple(-1 if name is None else places.setdefault(name, len(places)) for name in named)

    def extend(self, rows: Iterable[SolutionTuple], triples: Triples) -> list[SolutionTuple]:
        """The rows whose term has such parts, with these."""
        found: list[SolutionTuple] = []
        for row in rows:
            longer, parts = list(row), parts_of_one(row[self._at], self._dictionary)
            for part, constant, place in zip(parts, self._constants, self._places, strict=False):
                if place == len(longer):
                    longer.append(part)
                elif part != (constant or longer[place]):
                    break
            else:
                found += [tuple(longer)] if parts else []
        return found


class _Plan:
    """The order of the joins, and the place of each variable in the rows that they extend."""

    def __init__(self, operator: operators.Join, relations: Sequence[Relation], variables: Sequence[str]) -> None:
        self._places: dict[str, int] = {}
        self._steps: list[tuple[_Join | _Lookup | _Apart, list[_Test]]] = []
        self._waiting = list(operator.conditions)
        self._first = self._tests()
        scans = [scan for scan in operator.scans if isinstance(scan, Scan)]
        # the event's graph name and time are the one triple whose predicate is UNBOUND
        events = _event_data(operator)
        scans += [Scan(data.graph or "_:graph of event", UNBOUND, data.time or "_:time of event") for data in events]
        while scans:
            scan = min(scans, key=self._cost)
            scans.remove(scan)
            self._steps.append((self._join(scan), self._tests()))
            for term in scan.terms:
                self._steps.append((_Apart(term, self._places), self._tests()))
        for relation in relations:
            lookup = _Lookup(relation, {v: self._places[v] for v in relation.columns if v in self._places})
            self._places |= {name: len(self._places) + place for place, name in enumerate(lookup.added)}
            self._steps.append((lookup, self._tests()))
        self._last = [self._test(condition) for condition in self._waiting]
        self._project = row_reader(variables, self._places)

    def solutions(self, triples: Triples) -> list[SolutionTuple] | None:
        """The distinct solutions in one event; None: they are too many for rows."""
        rows: list[SolutionTuple] = [()]
        if self._first:
            rows = [row for row in rows if all(test(row) for test in self._first)]
        for step, tests in self._steps:
            if len(rows) > 1 and isinstance(step, _Join) and len(rows) * len(triples[step.predicate]) > _PAIRS_MAX:
                return None
            rows = step.extend(rows, triples)
            if len(rows) > _PAIRS_MAX:
                return None
            for test in tests:
                rows = [row for row in rows if test(row)]
            if not rows:
                return []
        for test in self._last:
            rows = [row for row in rows if test(row)]
        projected = [self._project(row) for row in rows]
        return list(dict.fromkeys(projected)) if len(projected) > 1 else projected

    def _cost(self, scan: Scan) -> tuple[bool, int]:
        """The cost of joining it next: (a product, number of new variables)."""
        free = [slot for slot in (scan.subject, scan.object) if isinstance(slot, str) and slot not in self._places]
        return bool(self._places) and len(free) == 2, len(free)

    def _join(self, scan: Scan) -> _Join:
        subject, object_ = (
            (UNBOUND, self._places.get(slot, -1)) if isinstance(slot, str) else (slot, -1)
            for slot in (scan.subject, scan.object)
        )
        same = scan.subject == scan.object and isinstance(scan.subject, str) and scan.subject not in self._places
        for slot in (scan.subject, scan.object):
            if isinstance(slot, str):
                self._places.setdefault(slot, len(self._places))
        assert isinstance(scan.predicate, int)
        return _Join(scan.predicate, *subject, *object_, same)

    def _tests(self) -> list[_Test]:
        """The conditions whose variables are all in the rows by now."""
        ready = [condition for condition in self._waiting if condition.variables <= self._places.keys()]
        self._waiting = [condition for condition in self._waiting if condition not in ready]
        return [self._test(condition) for condition in ready]

    def _test(self, condition: PatternExpression) -> _Test:
        return condition.evaluator.test(condition.expression, dict(self._places))


def _event_data(operator: operators.Join) -> list[operators.EventData]:
    return [other for other in operator.others if isinstance(other, operators.EventData)]


def _everywhere(operator: Operator) -> Relation:
    """The relation of an input that does not read the event."""
    if isinstance(operator, GraphOperator):
        return operator.known.get()
    return operator.evaluate(_NO_EVENT)


def _same(relations: Sequence[Relation], others: Sequence[Relation]) -> bool:
    return len(relations) == len(others) and all(a is b for a, b in zip(relations, others, strict=True))
