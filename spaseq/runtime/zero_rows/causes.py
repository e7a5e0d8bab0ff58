"""The cause of zero rows: the first element of SEQ( ) that nothing can take, and the constraint that is in the way.

Every count is one of matches that the events have when a single constraint is left out. If no single one helps, all are
left out, and put back one by one as long as there are matches: those that cannot be put back are in the way together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression, symbols
from automata.plan.program import Selector
from sparql_gpm.algebra.traversal import exists_in
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matching.needs import Need, Needs
from sparql_gpm.matching.unseen import RDF_TYPE, Unseen
from sparql_gpm.pattern import Expression as Condition
from sparql_gpm.terms import IRI
from spaseq.algebra.nodes import TemporalQuery
from spaseq.algebra.words import window_in_words
from spaseq.algebra.written import elements_written, filter_written, text_at
from spaseq.explain.zero_rows import Constraint, Loss, StepSeen, Stuck, UnseenConstant, ZeroRows, most_similar
from spaseq.runtime.zero_rows import variants
from spaseq.runtime.zero_rows.observed import Observed
from spaseq.runtime.zero_rows.trials import Trials
from spaseq.runtime.zero_rows.variants import Variant

_CONSTANTS_MAX = 2
_TOGETHER_MAX = 6
"""Constraints that are tried together."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A query that gave no row, what it has seen, and the needs of its patterns."""

    query: TemporalQuery
    observed: Observed
    needs: Sequence[Needs]


def zero_rows(
    watched: Watched, lost: Mapping[str, int], dictionary: Dictionary, evaluator: ExpressionEvaluator
) -> ZeroRows:
    """The facts about a query without a row; `lost` are the events that no query read, by reason."""
    query, observed, parts = watched.query, watched.observed, watched.observed.parts()
    names = [name for name, _ in query.streams]
    steps = {symbol: _step(watched, symbol) for symbol in symbols(query.sequence, negated=False)}
    known = ZeroRows(
        query.name,
        {name: observed.events[position] for position, name in enumerate(names)},
        {reason: count for reason, count in lost.items() if count},
        tuple(steps.values()),
        using=query.using is not None,
    )
    if not any(known.events.values()) or _too_early(query, observed):
        return replace(known, too_early=any(known.events.values()))
    lacking = [symbol for symbol, step in steps.items() if not step.solutions]
    if lacking and not _possible(query.sequence, frozenset(steps) - frozenset(lacking)):
        required = [s for s in lacking if not _possible(query.sequence, frozenset(steps) - {s})] or lacking
        unseen = [each for symbol in required for each in _unseen(watched, symbol, dictionary)]
        shown = tuple(steps[symbol] for symbol in required)
        return replace(known, required=shown, unseen=tuple(unseen[:_CONSTANTS_MAX]))
    if not parts:
        return replace(known, searched=False)
    looked_at = None if observed.whole else sum(len(part.events) for part in parts)
    search = _Search(query, Trials(query, parts, dictionary, evaluator), frozenset(observed.narrowed))
    stuck, kept_back = search.found()
    return replace(known, stuck=stuck, kept_back=kept_back, looked_at=looked_at)


def _step(watched: Watched, symbol: int) -> StepSeen:
    pattern, observed = watched.query.patterns[symbol], watched.observed
    streams = tuple(watched.query.streams[position][0] for position in pattern.streams)
    named = all(watched.needs[symbol]) and not observed.unseen.missing(watched.needs[symbol])
    return StepSeen(pattern.name, streams, observed.solutions[symbol], observed.narrowed.get(symbol), named)


def _too_early(query: TemporalQuery, observed: Observed) -> bool:
    """True if all events came before STARTING AT."""
    window, last = query.window, observed.last_time
    if window.in_events:
        last = observed.events.total() - 1
    return window.anchored and last is not None and last < window.start


def _possible(node: Expression, able: frozenset[int]) -> bool:
    """True if the expression can match with these symbols alone."""
    match node:
        case nodes.Step(symbol):
            return symbol in able
        case nodes.Choice(branches):
            return any(_possible(branch, able) for branch in branches)
        case nodes.Optional() | nodes.Negation():
            return True
    return all(_possible(child, able) for child in nodes.children(node))


def _unseen(watched: Watched, symbol: int, dictionary: Dictionary) -> Iterator[UnseenConstant]:
    unseen: Unseen = watched.observed.unseen
    name = watched.query.patterns[symbol].name
    if not any(watched.observed.events[position] for position in watched.query.patterns[symbol].streams):
        return
    for need in unseen.missing(watched.needs[symbol]):
        kind, iri, similar = _constant(need, unseen, dictionary)
        if iri is not None:
            yield UnseenConstant(name, kind, iri, most_similar(iri, similar))


def _constant(need: Need, unseen: Unseen, dictionary: Dictionary) -> tuple[str, str | None, Sequence[str]]:
    """The missing constant, in words; its IRI; and the IRIs that events have in its place."""
    if need.subject is None and need.object is None:
        term = dictionary.term(need.predicate)
        return "the property", term.value if isinstance(term, IRI) else None, unseen.vocabulary.names()[0]
    term = dictionary.term(need.object if need.object is not None else need.subject or 0)
    iri = term.value if isinstance(term, IRI) else None
    if need.object is not None and dictionary.term(need.predicate) == RDF_TYPE:
        return "the class", iri, unseen.vocabulary.names()[1]
    predicate = dictionary.term(need.predicate)
    where = predicate.value if isinstance(predicate, IRI) else ""
    return f"<{where}> of" if need.subject is not None else f"<{where}> with", iri, ()


class _Search:
    """The search for the constraint that is in the way of a query."""

    def __init__(self, query: TemporalQuery, counts: Trials, narrowed: frozenset[int]) -> None:
        self._query = query
        self._counts = counts
        self._narrowed = narrowed

    def found(self) -> tuple[Stuck | None, str]:
        """The place and the constraint, or what removes complete matches; neither where that cannot be told."""
        exact = variants.plain(self._query)
        matches = self._counts.matches(exact)
        if matches is None:
            return None, ""
        if matches:
            return self._beyond(matches)
        base = exact.where(sequence=_positive(exact.query.sequence))
        if (matches := self._counts.matches(base)) is None:
            return None, ""
        return (self._absence(exact, matches) if matches else self._stuck(base)), ""

    def _beyond(self, matches: int) -> tuple[Stuck | None, str]:
        """There are matches without what was left out in all trials."""
        graphs = [e for pattern in self._query.patterns for e in pattern.conditions if exists_in(e)]
        if graphs:
            lost = Loss(Constraint.CONDITION, filter_written(self._query, graphs[0]), matches)
            elements = variants.items(self._query.sequence)
            return Stuck("", matches, self._text(elements, self._query.sequence), len(elements), (lost,)), ""
        if self._query.selector is not Selector.ALL:
            return None, f"SELECT {self._query.selector.value}"
        over, hops = self._query.over, self._query.window.hop is not None  # a match may lie in no window that hops
        return None, "HAVING" if over is not None and over.having is not None and not hops else ""

    def _absence(self, exact: Variant, matches: int) -> Stuck:
        """There are matches without `!`: which of them is in the way."""
        whole = exact.query.sequence
        found = variants.negations(whole)
        losses = []
        for each in found:
            if count := self._counts.matches(exact.where(sequence=variants.without_negations(whole, each.__eq__))):
                losses.append(Loss(Constraint.ABSENCE, self._text([each]), count))
        together = tuple(Loss(Constraint.ABSENCE, self._text([each]), matches) for each in found)
        return Stuck("", matches, self._text([whole]), 1, _worst_first(losses), () if losses else together)

    def _stuck(self, base: Variant) -> Stuck | None:
        """The first element of the sequence up to which there is no match."""
        elements = variants.items(base.query.sequence)
        reached = 0
        for count in range(1, len(elements) + 1):
            part = variants.beginning(base, count)
            matches = self._counts.matches(part)
            if matches == 0:
                losses, together = self._losses(part)
                before, last = self._text(elements[: count - 1], part.query.sequence), elements[count - 1]
                own = symbols(last)
                narrowed = not self._narrowed.isdisjoint(own)
                too_soon = count > 1 and not narrowed and self._counts.precede(own, symbols(elements[count - 2]))
                return Stuck(before, reached, self._text([last]), len(own), losses, together, too_soon, narrowed)
            reached = matches or reached
        return None

    def _losses(self, part: Variant) -> tuple[tuple[Loss, ...], tuple[Loss, ...]]:
        """The constraints that are in the way, each alone or together."""
        changes = list(self._changes(part))
        losses = []
        for loss, change in changes:
            if count := self._counts.matches(change(part)):
                losses.append(replace(loss, matches=count))
        return (_worst_first(losses), ()) if losses else ((), self._together(part, changes))

    def _together(self, part: Variant, changes: Sequence[tuple[Loss, _Change]]) -> tuple[Loss, ...]:
        """The constraints that have to be left out together; none if even then there is no match."""
        left_out = list(changes)

        def matches(without: Sequence[tuple[Loss, _Change]]) -> int | None:
            variant = part
            for _, change in without:
                variant = change(variant)
            return self._counts.matches(variant)

        if not 1 < len(left_out) <= _TOGETHER_MAX or not matches(left_out):
            return ()
        for each in changes:
            fewer = [other for other in left_out if other is not each]
            if matches(fewer):
                left_out = fewer
        return tuple(loss for loss, _ in left_out)

    def _changes(self, part: Variant) -> Iterator[tuple[Loss, _Change]]:
        """Each constraint of the last element, and the query without it; joins last, for they name steps anew."""
        query = part.query
        last = variants.items(query.sequence)[-1]
        for condition in variants.conditions(part):
            yield _without_condition(condition, filter_written(self._query, condition))
        yield Loss(Constraint.WINDOW, window_in_words(query.window).removeprefix("within "), 0), variants.without_window
        if (kinds := _contiguities(query.sequence)) and variants.without_contiguity(part) != part:
            yield Loss(Constraint.CONTIGUITY, f"'{kinds}'", 0), variants.without_contiguity
        if often := variants.counted(last):
            yield Loss(Constraint.ITERATIONS, str(often[0].at_least), 0), variants.without_counts
        if found := variants.limits(part):
            yield Loss(Constraint.LIMIT, text_at(self._query, found[0].span), 0), variants.without_limits
        for variable in variants.joins(part):
            yield _without_join(variable)

    def _text(self, elements: Sequence[Expression], sequence: Expression | None = None) -> str:
        return elements_written(self._query, elements, sequence)


_Change = Callable[[Variant], Variant]


def _without_condition(condition: Condition, text: str) -> tuple[Loss, _Change]:
    loss = Loss(Constraint.CONDITION, text, 0)
    return loss, lambda variant: variants.without_condition(variant, condition)


def _without_join(variable: str) -> tuple[Loss, _Change]:
    return Loss(Constraint.JOIN, f"?{variable}", 0), lambda variant: variants.without_join(variant, variable)


def _contiguities(sequence: Expression) -> str:
    """The strictest contiguity before the last element and inside of it."""
    last = variants.items(sequence)[-1]
    found = [sequence.operators[-1]] if isinstance(sequence, nodes.Sequence) else []
    for node in nodes.walk(last):
        if isinstance(node, nodes.Sequence):
            found += node.operators
        elif isinstance(node, nodes.Repetition) and node.contiguity is not None and node.at_most != 1:
            found.append(node.contiguity)
    strictest = (each for each in (Contiguity.STRICT, Contiguity.NEXT) if each in found)
    return next((each.value for each in strictest), "")


def _positive(node: Expression) -> Expression:
    """The expression without any `!`."""
    return variants.without_negations(node, lambda negation: True)


def _worst_first(losses: Sequence[Loss]) -> tuple[Loss, ...]:
    return tuple(sorted(losses, key=lambda loss: -loss.matches))
