"""The warnings about queries that are allowed but hardly intended (specification 2.4).

Here those about the sequence and the variables of its steps; lint_expressions.py has those about expressions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Span, children, steps, walk
from automata.plan.program import Selector, Skip
from sparql_gpm.algebra.scope import expression_variables, in_scope
from spaseq.lang import ast
from spaseq.lang.codes import Code
from spaseq.lang.drafts import Word
from spaseq.lang.limits import warn_of_limits
from spaseq.lang.lint_expressions import check_expressions, open_variables, places_of
from spaseq.lang.report import Report, listed
from spaseq.lang.trees import Trees

PAIRS_MAX = 200_000
"""Pairs of steps that share a variable, each counted for each level around the one that is repeated; no more are
looked at for a warning (SQ105)."""
_FEWEST = frozenset({Selector.NEXT, Selector.LAST, Selector.MAX})
"""The selectors that compare matches with one another."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A step of SEQ( ) with the nodes around it, outermost first, its GPM and the variables in scope there.

    ids     of the nodes around it
    """

    step: nodes.Step[str]
    around: tuple[ast.Expr, ...]
    define: ast.Define
    binds: frozenset[str]
    ids: frozenset[int]

    @property
    def positive(self) -> bool:
        """True if no `!` is around the step."""
        return not any(isinstance(node, nodes.Negation) for node in self.around)

    def repetitions(self) -> list[nodes.Repetition[str]]:
        """The repetitions around the step, outermost first."""
        return [node for node in self.around if isinstance(node, nodes.Repetition) and node.at_most != 1]


def lint(query: ast.Query, selector: Word | None, trees: Trees, report: Report) -> None:
    """Reports every warning of a query without errors; `selector` is the word after SELECT or CONSTRUCT."""
    defines = {define.name: (define, in_scope(define.pattern)) for define in query.defines}
    places = [
        _Place(step, around, *defines[step.symbol], frozenset(map(id, around)))
        for step, around in steps(query.sequence)
    ]
    if query.selector in {Selector.ALL, Selector.STRICT}:
        _check_subsets(query.sequence, report)
    if query.skip in {Skip.NO_SKIP, Skip.CONSUME_ALL}:
        _check_start(query.sequence, report)
    if selector is not None and query.selector in _FEWEST and not query.partition:
        _check_selector(selector, places, report)
    warn_of_limits(query.sequence, query.window, report)
    _check_iterations(query, places, trees, report)
    _check_parts(query, places, report)
    check_expressions(query, trees, report)


def _check_subsets(node: ast.Expr, report: Report) -> None:
    """Warns of `:+` and `:{n,}` outside of `!`."""
    if isinstance(node, nodes.Negation):
        return
    if isinstance(node, nodes.Repetition) and node.contiguity is Contiguity.ANY and node.at_most is None:
        message = "every subset of the events is a match: their number doubles with each event"
        hint = "SELECT MAX reports the largest only, an upper bound as in ':{1,3}' limits their size"
        if not any(isinstance(inner, nodes.AnyOrder) for inner in walk(node.inner)):
            hint = f"';' before the quantifier takes the next event each time; {hint}"
        report.add(Code.EVERY_SUBSET, node.span, message, hint)
    for child in children(node):
        _check_subsets(child, report)


def _check_start(node: ast.Expr, report: Report) -> None:
    """Warns of possessive repetitions with no positive step before them."""
    if isinstance(node, nodes.Repetition) and node.possessive:
        message = "an episode gives a match from each of its events on: every later start is a match as well"
        hint = "AFTER MATCH SKIP PAST LAST EVENT reports it once, from its first event on"
        report.add(Code.POSSESSIVE_START, node.span, message, hint)
    for child in children(node):
        _check_start(child, report)
        if isinstance(node, nodes.Sequence) and _takes_events(child):
            break


def _takes_events(node: ast.Expr) -> bool:
    """True if a step is inside of no `!`."""
    return any(not any(isinstance(each, nodes.Negation) for each in around) for _, around in steps(node))


def _check_selector(selector: Word, places: Sequence[_Place], report: Report) -> None:
    """Warns of a selector that compares matches of different values of a shared variable."""
    positive = [place for place in places if place.positive]
    counts = Counter(name for place in positive for name in place.binds)
    shared = [name for name, count in counts.items() if count > 1]
    if not shared:
        return
    common = frozenset.intersection(*(place.binds for place in positive))
    name = min(common or shared)
    word = selector.text.upper()
    message = f"{word} compares the matches of all values of ?{name}, and drops those of one value for another's"
    bind = "" if common else f"bind ?{name} in every step and "
    report.add(Code.SELECTOR_ACROSS_VALUES, selector.span, message, f"{bind}write PARTITION BY ?{name}")


# --- a variable that a repetition binds and a step outside of it uses ---


def _check_iterations(query: ast.Query, places: Sequence[_Place], trees: Trees, report: Report) -> None:
    """Warns, once for each variable, of a step that meets the last of many values that a repetition binds."""
    users = _users(places)
    warned = set(query.partition)
    found: dict[str, Mapping[str, Span]] = {}
    pairs = 0
    for binder in (place for place in places if place.positive and place.repetitions()):
        for name in sorted(binder.binds - warned):
            pairs += len(users[name]) * len(binder.around)
            if pairs > PAIRS_MAX:
                return
            repetitions = _first_bound_inside(name, binder, users[name])
            for user in users[name]:
                outside = any(id(node) not in user.ids for node in repetitions)
                if name not in warned and outside and _follows(binder, user):
                    warned.add(name)
                    define = user.define
                    if define.name not in found:
                        found[define.name] = places_of(trees.bodies[define.name])
                    at = found[define.name].get(name) or user.step.span
                    _warn_iterations(name, binder, user, at, places, report)
                    break


def _users(places: Sequence[_Place]) -> Mapping[str, list[_Place]]:
    """For each variable the steps that bind it or use its value in a condition."""
    users: defaultdict[str, list[_Place]] = defaultdict(list)
    used: dict[str, frozenset[str]] = {}
    for place in places:
        define = place.define
        if define.name not in used:
            used[define.name] = place.binds.union(*(open_variables(found.expression) for found in define.filters))
        for name in used[define.name]:
            users[name].append(place)
    return users


def _first_bound_inside(name: str, binder: _Place, users: Sequence[_Place]) -> list[nodes.Repetition[str]]:
    """The repetitions around a step that binds a variable outside of which no earlier step binds it."""
    earlier = [p for p in users if p.positive and name in p.binds and _precedes(p, binder)]
    return [node for node in binder.repetitions() if all(id(node) in place.ids for place in earlier)]


def _joint(one: _Place, other: _Place) -> ast.Expr | None:
    """The innermost node around both steps; None where the sequence has one step."""
    return next((node for node in reversed(one.around) if id(node) in other.ids), None)


def _precedes(one: _Place, other: _Place) -> bool:
    """True if a step is before another one wherever a match has both."""
    ordered = one.step.span.start < other.step.span.start
    return ordered and not isinstance(_joint(one, other), nodes.Choice | nodes.AnyOrder)


def _follows(binder: _Place, user: _Place) -> bool:
    """True if a match can have both, and the second one is not before the first."""
    return _precedes(binder, user) or (binder is not user and isinstance(_joint(binder, user), nodes.AnyOrder))


def _warn_iterations(
    name: str, binder: _Place, user: _Place, at: Span, places: Sequence[_Place], report: Report
) -> None:
    step, repeated = user.step.symbol, binder.step.symbol
    message = f"the iterations of {repeated} may differ in ?{name}, and {step} meets its value at the last one"
    if all(name in place.binds for place in places if place.positive):
        hint = f"PARTITION BY ?{name} makes them agree"
    elif name in user.binds:
        hint = f"bind ?{name} in a step before {repeated}, or in every step and write PARTITION BY ?{name}"
    else:
        hint = f"LAST(?{name}) says that the last one is meant; FIRST, MIN, MAX, AVG range over all of them"
    report.add(Code.LAST_ITERATION, at, message, hint)


# --- parts of a sequence that nothing relates ---


def _check_parts(query: ast.Query, places: Sequence[_Place], report: Report) -> None:
    """Warns of the first positive step that nothing relates to one before it in the same match; USING relates all."""
    if query.using is not None:
        return
    part = _parts(query, places)
    seen = [place for place in places if place.positive and place.binds]
    if len({part[id(place)] for place in seen}) == 1:
        return
    for one, other in combinations(seen, 2):
        if part[id(one)] != part[id(other)] and not isinstance(_joint(one, other), nodes.Choice):
            first = listed(p.step.symbol for p in seen if part[id(p)] == part[id(one)])
            second = listed(p.step.symbol for p in seen if part[id(p)] == part[id(other)])
            message = (
                f"{second} and {first} share neither a variable nor a condition: each {second} goes with any {first}"
            )
            hint = "join them by a variable of both, such as the sensor or the house, or compare them in a FILTER"
            report.add(Code.UNRELATED_PARTS, other.step.span, message, hint)
            return


def _parts(query: ast.Query, places: Sequence[_Place]) -> Mapping[int, int]:
    """For each step, by its id, the number of the part that it belongs to: those of a union-find forest."""
    above = list(range(len(places)))

    def part(number: int) -> int:
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    for first, *others in _relations(query, places):
        for other in others:
            above[part(other)] = part(first)
    return {id(place): part(number) for number, place in enumerate(places)}


def _relations(query: ast.Query, places: Sequence[_Place]) -> Iterator[list[int]]:
    """The numbers of the steps that one variable, condition or conjunction relates."""
    binders: defaultdict[str, list[int]] = defaultdict(list)
    conjunctions: defaultdict[int, list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        for name in place.binds:
            binders[name].append(number)
        for node in place.around:
            if isinstance(node, nodes.Conjunction):
                conjunctions[id(node)].append(number)
    yield from (*binders.values(), *conjunctions.values())
    for number, place in enumerate(places):
        for name in frozenset[str]().union(*(expression_variables(f.expression) for f in place.define.filters)):
            yield [number, *binders.get(name, [])[:1]]
    yield from _related_beside(query, {name: numbers[0] for name, numbers in binders.items()})


def _related_beside(query: ast.Query, binders: Mapping[str, int]) -> Iterator[list[int]]:
    """The steps that a FILTER beside the DEFINEs relates: those that bind what it and its BINDs are computed from.

    What a BIND is computed from is followed once: a second FILTER that uses it relates its own steps to one of those.
    """
    computed: dict[str, frozenset[str]] = {}
    for bind in query.binds:
        computed[bind.variable] = expression_variables(bind.expression) if bind.expression else frozenset()
    followed: dict[str, int] = {}
    for condition in query.filters:
        related: list[int] = []
        new: set[str] = set()
        waiting = sorted(expression_variables(condition.expression), reverse=True)
        while waiting:
            name = waiting.pop()
            if name in binders:
                related.append(binders[name])
            elif name in followed:
                related.append(followed[name])
            elif name in computed and name not in new:
                new.add(name)
                waiting += sorted(computed[name], reverse=True)
        if related:
            followed.update(dict.fromkeys(new, related[0]))
            yield related
