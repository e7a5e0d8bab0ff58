"""Late enrichment: patterns over knowledge bases that decide nothing are joined with matches, not with events.

In each GPM the rules lift a pattern over a knowledge base to the end; `late` removes it from the GPM if nothing before
the output reads its variables. The knowledge base is then queried once for each reported match, not for each event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sparql_gpm.algebra.canonical import renamed
from sparql_gpm.algebra.scope import certain, in_scope
from sparql_gpm.algebra.traversal import walk
from sparql_gpm.pattern import EMPTY, Graph, Pattern, Service, Variable
from sparql_gpm.terms import IRI
from spaseq.algebra.nodes import Enrichment, TemporalQuery
from spaseq.algebra.partitions import partition_variable
from spaseq.optimise.rules import Form, forms, is_keyed, keys_of, new_variables
from spaseq.optimise.uses import Place, needed_before_output, places, read_by_output

_UNKNOWN = "the knowledge base is not loaded here; with at most one solution for each key it is joined with the match"
_PARTLY_UNKNOWN = "; the knowledge base is not loaded here, and parts of it may be joined with the match"
"""The reasons for patterns that could be removed if the required facts were proven, while there are no facts."""


class Facts(Protocol):
    """The provable facts about the knowledge bases of a run; `kb.base.KnowledgeBases` implements it."""

    def unprovable(self, name: str) -> str | None:
        """The reason why nothing can be proven about a knowledge base; None if it is loaded and never changes."""

    def one_each(self, name: str, pattern: Pattern, keys: Sequence[str]) -> bool:
        """True if each solution of the pattern binds the keys, and no two different ones agree in them.

        To be called, like `covers`, only where `unprovable` is None.
        """

    def covers(self, name: str, pattern: Pattern, given: Pattern, keys: Sequence[str]) -> bool:
        """True if each solution of `given` binds the keys and agrees in them with a solution of the pattern."""


@dataclass(frozen=True, slots=True)
class NothingProven(Facts):
    """Of no knowledge base anything can be proven."""

    reason: str

    def unprovable(self, name: str) -> str | None:
        """The reason."""
        return self.reason

    def one_each(self, name: str, pattern: Pattern, keys: Sequence[str]) -> bool:
        """Never."""
        return False

    def covers(self, name: str, pattern: Pattern, given: Pattern, keys: Sequence[str]) -> bool:
        """Never."""
        return False


@dataclass(frozen=True, slots=True)
class Placement:
    """The place where a pattern over a knowledge base is joined.

    step        the name of the GPM
    knowledge   the IRI of the knowledge base or endpoint, or the variable that stands for it
    variables   that it binds
    late        with matches, or never; else with every event
    reason      in words
    dropped     never: the output does not depend on it
    """

    step: str
    knowledge: str
    variables: tuple[str, ...]
    late: bool
    reason: str
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Optimised:
    """An equivalent query, and the reasons for its form."""

    query: TemporalQuery
    placements: tuple[Placement, ...]


def optimise(query: TemporalQuery, facts: Facts | None) -> Optimised:
    """The query without the patterns that can be joined late; facts None: nothing is known of the data."""
    placements: list[Placement] = []
    for step in range(len(query.patterns)):
        if query.using is not None and step == query.using.symbol:
            placements += _remaining(query, step, {})
            continue
        refusals: dict[Graph, str] = {}
        while (found := _next(query, step, facts, refusals)) is not None:
            query, placement = found
            placements.append(placement)
        placements += _remaining(query, step, refusals)
    kept = _without_unread(query)
    read = {(query.patterns[each.step].name, each.variables) for each in kept.enrichments}
    return Optimised(kept, tuple(_marked(each, read) for each in placements))


def _next(
    query: TemporalQuery, step: int, facts: Facts | None, refusals: dict[Graph, str]
) -> tuple[TemporalQuery, Placement] | None:
    """The query with one more pattern of the step joined late; notes the reasons why others are not."""
    for form in forms(query.patterns[step].pattern):
        refusal = why_not(query, step, form, facts)
        if refusal is None:
            return late(query, step, form)
        known = refusals.setdefault(form.of, refusal)
        if refusal == _UNKNOWN and known not in (_UNKNOWN, known.removesuffix(_PARTLY_UNKNOWN) + _PARTLY_UNKNOWN):
            refusals[form.of] = known + _PARTLY_UNKNOWN
    return None


def why_not(query: TemporalQuery, step: int, form: Form, facts: Facts | None) -> str | None:
    """The reason why the end of a form cannot be joined at the output; None if it can."""
    if any(isinstance(node, Graph | Service) for node in walk(form.last.inner)):
        return "it has another knowledge base inside"
    if form.condition or not is_keyed(form.rest, form.last):
        return "what it adds depends on more than the variables that it shares with the rest"
    if form.beside is not None and not _evidence(form):
        return "an event without a solution in it is no match"
    needed = needed_before_output(query, step)
    for name in sorted(new_variables(form.rest, form.last)):
        if name in needed:
            return f"?{name} is needed {needed[name]}"
    found = places(query.sequence, step)
    if form.beside is None and all(place.negated for place in found):
        return None
    return _unreadable(found) or _unproven(form, facts)


def late(query: TemporalQuery, step: int, form: Form) -> tuple[TemporalQuery, Placement]:
    """Match(step: LeftJoin(p, k)) -> Enrich(Match(step: p), k), where `why_not` has no objection.

    With at most one solution of k for each value of key(k), which p binds, ν in [[p]] and ν ∪ k(ν) in
    [[LeftJoin(p, k)]] correspond one to one; nothing between reads new(k), so the same events match, in the same
    order, under the same selector, and k is computed from key(k), whose value in the match is its value at the
    step, or at the last iteration of it; where the partition of USING alone shows it, the partition's variable has it.
    For a step that only stands in `!` k is dropped.
    """
    assert isinstance(form.last.name, IRI), form
    name, knowledge, found = query.patterns[step].name, form.last.name.value, places(query.sequence, step)
    keys, new = keys_of(form.rest, form.last), tuple(sorted(new_variables(form.rest, form.last)))
    without = _reduced(query, step, form.rest)
    if all(place.negated for place in found):
        reason = "a negated step only needs the existence of an event"
        return without, Placement(name, knowledge, new, True, reason, dropped=True)
    missing = "it is optional" if form.beside is None else "it has one for each that the rest finds"
    shown = ", ".join(f"?{key}" for key in keys) or "every event"
    reason = f"{missing}, and has at most one solution for {shown}"
    skippable = any(place.skippable for place in found)
    given = {key: partition_variable(key) for key in keys if key not in query.patterns[step].variables}
    matched, inner = tuple(given.get(key, key) for key in keys), renamed(form.last.inner, given)
    enrichment = Enrichment(step, knowledge, inner, matched, new, skippable)
    joined = replace(without, enrichments=(enrichment, *query.enrichments))
    return joined, Placement(name, knowledge, new, True, reason)


def _reduced(query: TemporalQuery, step: int, rest: Pattern) -> TemporalQuery:
    """The query with a part of a GPM's pattern in place of the pattern."""
    pattern, scope = query.patterns[step], in_scope(rest)
    given = frozenset(query.partition) if query.using else frozenset[str]()
    kept = tuple(name for name in pattern.variables if name in scope | given)
    changed = replace(pattern, pattern=rest, variables=kept, certain=pattern.certain & (certain(rest) | given))
    patterns = (*query.patterns[:step], changed, *query.patterns[step + 1 :])
    variables = tuple(dict.fromkeys(name for each in patterns for name in each.variables))
    return replace(query, patterns=patterns, variables=variables)


def _evidence(form: Form) -> list[Pattern]:
    """Patterns over the same knowledge base that bind the keys, for the proof that each key has a solution."""
    keys = frozenset(keys_of(form.rest, form.last))
    if not keys:
        return [EMPTY]
    beside = [part for part in form.beside or () if isinstance(part, Graph) and part.name == form.last.name]
    return [part.inner for part in beside if keys <= certain(part.inner)]


def _unreadable(found: tuple[Place, ...]) -> str | None:
    if len(found) != 1:
        return "the step stands in SEQ more than once"
    if found[0].negated:
        return "an event without a solution in it is no match"
    if found[0].sometimes:
        return "an iteration may be without the step"
    return None


def _unproven(form: Form, facts: Facts | None) -> str | None:
    assert isinstance(form.last.name, IRI), form
    if facts is None:
        return _UNKNOWN
    name, inner, keys = form.last.name.value, form.last.inner, keys_of(form.rest, form.last)
    shown = ", ".join(f"?{key}" for key in keys) or "an event"
    unprovable = facts.unprovable(name)
    if unprovable is not None:
        return unprovable
    if form.beside is not None and not any(facts.covers(name, inner, given, keys) for given in _evidence(form)):
        return f"some {shown} has no solution in it"
    if not facts.one_each(name, inner, keys):
        return f"one {shown} may have several solutions in it, each of which makes a match"
    return None


def _remaining(query: TemporalQuery, step: int, refusals: dict[Graph, str]) -> Iterator[Placement]:
    """The patterns over knowledge bases that stay in the GPM, with the reasons."""
    pattern = query.patterns[step]
    nodes = dict.fromkeys(node for node in walk(pattern.pattern) if isinstance(node, Graph | Service))
    for node in nodes:
        named = node.name if isinstance(node, Graph) else node.endpoint
        name = f"?{named.name}" if isinstance(named, Variable) else named.value
        reason = refusals.get(node) if isinstance(node, Graph) else None
        variables = tuple(sorted(in_scope(node.inner)))
        yield Placement(pattern.name, name, variables, False, reason or "it decides whether and how an event matches")


def _without_unread(query: TemporalQuery) -> TemporalQuery:
    """Enrich(m, k) -> m, where neither the output nor a later enrichment reads new(k); names of graphs read all."""
    if query.orders_solutions:
        return query
    read = set(read_by_output(query))
    kept: list[Enrichment] = []
    for enrichment in reversed(query.enrichments):
        if read & set(enrichment.variables):
            read |= set(enrichment.keys)
            kept.insert(0, enrichment)
    return replace(query, enrichments=tuple(kept))


def _marked(placement: Placement, read: set[tuple[str, tuple[str, ...]]]) -> Placement:
    """The placement, as dropped if it is late and nothing reads it."""
    if not placement.late or placement.dropped or (placement.step, placement.variables) in read:
        return placement
    return replace(placement, dropped=True, reason=f"nothing reads it, {placement.reason}")
