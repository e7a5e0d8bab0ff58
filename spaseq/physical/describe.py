"""The content of `spaseq explain` for a query, derived from its meaning and its automaton."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from automata.adaptive.costs import CostModel
from automata.adaptive.rates import Rates, related_symbols
from automata.plan import automaton as planned
from automata.plan import expression as nodes
from automata.plan.automaton import START, Accept
from automata.plan.plan import Plan, PlannedEdge
from automata.plan.products import all_products
from automata.plan.program import MATCH, Program
from automata.values import NONE
from sparql_gpm.algebra.describe import describe as describe_pattern
from sparql_gpm.algebra.describe import expression_text
from sparql_gpm.pattern import Expression
from spaseq.algebra.distribution import distribution, sharding_in_words
from spaseq.algebra.nodes import GraphPattern, TemporalQuery
from spaseq.algebra.partitions import as_written, in_writing
from spaseq.algebra.words import BETWEEN, duration_in_words, sentences, window_in_words
from spaseq.explain import description as described
from spaseq.physical.kernels_later import LATER
from spaseq.physical.plan import PhysicalPlan
from spaseq.physical.planner import TITLES, TOO_SHORT, plan_query
from spaseq.physical.program import Compiled
from spaseq.physical.replanning import SWITCHING

_COUNT = 100
"""Solutions of each step that are assumed in a window …"""
_RARE = 1
"""… and of the last step, where it is assumed to be rare."""
_RELATED = 0.1
"""The share assumed of pairs of solutions that join, where a variable or a condition relates two steps."""


def describe(
    text: str, compiled: Compiled, knowledge: tuple[described.KnowledgeBase, ...] = (), evaluator: str = "auto"
) -> described.Description:
    """The description of a query with this text, as it is run; InputError for an evaluator that cannot run it."""
    meaning = compiled.query
    drawn = _Drawing(meaning, compiled.plan)
    return described.Description(
        meaning.name,
        sentences(meaning),
        tuple(described.Stream(name, iri) for name, iri in meaning.streams),
        window_in_words(meaning.window),
        tuple(_pattern(compiled, number) for number in range(len(meaning.patterns))),
        drawn.states(),
        drawn.edges(),
        _evaluator(plan_query(compiled, evaluator), plan_query(compiled, evaluator, kernels=None)),
        tuple(map(as_written, meaning.partition)),
        knowledge,
        _repetitions(text, meaning.sequence),
        f"{sharding_in_words(distribution(meaning))}; in each shard the evaluator above",
        tuple(
            described.Condition(_text(compiled.conditions[number]), _match_decided(compiled, number))
            for number, condition in enumerate(compiled.program.conditions)
            if condition.symbol == MATCH
        ),
        tuple(described.Computed(bind.name, _text(bind.expression)) for bind in meaning.binds),
        meaning.using is not None,
    )


def _evaluator(long: PhysicalPlan, short: PhysicalPlan) -> described.Evaluator:
    """The evaluators of a query on long and on short input."""
    on_short_input = ""
    if (long.evaluator, long.form) != (short.evaluator, short.form):
        on_short_input = f"{TITLES[short.evaluator]}, in {short.form_in_words}: {TOO_SHORT}"
        on_short_input += "" if short.later is None else f". {LATER}"
    return described.Evaluator(
        TITLES[long.evaluator],
        long.reason,
        tuple(described.Alternative(name, why_not) for name, why_not in long.others),
        _estimates(long.compiled.plan, long.able),
        SWITCHING if "adaptive" in (long.evaluator, short.evaluator) else "",
        long.form_in_words,
        long.form_reason,
        on_short_input,
    )


def _estimates(plan: Plan, able: Sequence[str]) -> tuple[str, ...]:
    """One line for each evaluator of those that are able to run the program, as far as it can be said."""
    lines = ["cea: a constant number of nodes for each solution of a step"] if "cea" in able else []
    if all_products(plan):
        lines.append("runs: a row for each solution of a step, and one for each step of a match")
    elif "lazy" in able:
        model = CostModel(plan)
        assumed = f"{_COUNT} solutions of each step in a window and {_RELATED:.0%} of related pairs joining"
        even, rare = (model.estimate(rates) for rates in _assumed(plan.program, model.symbols))
        lines += [
            f"with {assumed}: runs make {even.eager:,.0f} partial matches in a window, lazy chains {even.lazy:,.0f}",
            f"with the last step {_COUNT // _RARE} times rarer: runs {rare.eager:,.0f}, lazy chains {rare.lazy:,.0f}",
        ]
    return tuple(lines)


def _assumed(program: Program, symbols: frozenset[int]) -> tuple[Rates, Rates]:
    shares = {pair: _RELATED for pair in combinations(sorted(symbols), 2) if any(related_symbols(program, *pair))}
    even = dict.fromkeys(sorted(symbols), float(_COUNT))
    return Rates(even, shares), Rates({**even, max(symbols): float(_RARE)}, shares)


def _pattern(compiled: Compiled, symbol: int) -> described.PatternPlan:
    pattern: GraphPattern = compiled.query.patterns[symbol]
    conditions = tuple(
        described.Condition(_text(compiled.conditions[number]), _decided(compiled, number))
        for number in compiled.plan.conditions[symbol]
    )
    streams = tuple(compiled.query.streams[stream][0] for stream in pattern.streams)
    lines = tuple(describe_pattern(pattern.pattern).splitlines())
    variables = tuple(dict.fromkeys(map(as_written, pattern.variables)))
    return described.PatternPlan(pattern.name, streams, variables, lines, conditions)


def _text(expression: Expression) -> str:
    return expression_text(in_writing(expression))


def _decided(compiled: Compiled, condition: int) -> str:
    """The time at which a condition is decided: at its own step, or when what it waits for is there."""
    points = [point for position in compiled.plan.positions for point in position.arriving if point.at_owner]
    waiting = frozenset[int]().union(*(point.waiting for point in points if point.condition == condition))
    own = compiled.query.patterns[compiled.program.conditions[condition].symbol].name
    if not waiting:
        return f"when {own} is taken"
    names = ", ".join(f"?{as_written(compiled.query.variables[number])}" for number in sorted(waiting))
    return f"when {own} is taken if {names} is bound by then, else as soon as it is or no longer can be"


def _match_decided(compiled: Compiled, number: int) -> str:
    condition = compiled.program.conditions[number]
    names = ", ".join(
        f"?{as_written(compiled.query.variables[variable])}" for variable in sorted(condition.variables())
    )
    if condition.at_end or not names:
        return "when the match is complete" if condition.at_end else "when the first step is taken"
    return f"as soon as {names} is bound or no longer can be"


def _repetitions(text: str, sequence: nodes.Expression) -> tuple[described.Repetition, ...]:
    found = []
    for node in nodes.walk(sequence):
        if isinstance(node, nodes.Repetition):
            assert node.contiguity is not None, node
            span = nodes.extent(node)
            written = text[node.span.start] in ",;:"
            goes_on = "; as many as there are" if node.possessive else ""
            shown = " ".join(text[span.start : span.end].split())
            found.append(described.Repetition(shown, BETWEEN[node.contiguity] + goes_on, written))
    return tuple(found)


class _Drawing:
    """The automaton as states and edges, with one more state where matches end."""

    def __init__(self, query: TemporalQuery, plan: Plan) -> None:
        self._query = query
        self._plan = plan
        self._accept = len(plan.positions)
        self._starts = {
            member.start: f"member {number} of ALL"
            for unordered in plan.unordered
            for number, member in enumerate(unordered.members, 1)
        }

    def states(self) -> tuple[described.State, ...]:
        found = [described.State(START, "start", "start")]
        for number, position in enumerate(self._plan.positions[1:], 1):
            if position.any_order != NONE:
                found.append(described.State(number, "ALL members there", "any-order"))
            else:
                found.append(described.State(number, self._starts.get(number) or self._label(number), "step"))
        return (*found, described.State(self._accept, "match", "accept"))

    def edges(self) -> tuple[described.Edge, ...]:
        found = []
        for edge in self._plan.edges:
            joined = self._plan.positions[edge.target].any_order
            notes = self._notes(edge) + self._limits(edge)
            if joined != NONE:
                for member in self._plan.unordered[joined].members:
                    found.append(described.Edge(edge.source, member.start, "", "", ("opens ALL", *notes)))
                continue
            operator = "" if edge.begins else edge.operator.value
            rivals = tuple(f"unless {self._label(self._plan.edges[r].target)} comes first" for r in edge.rivals)
            found.append(described.Edge(edge.source, edge.target, self._label(edge.target), operator, notes + rivals))
        for unordered in self._plan.unordered:
            for member in unordered.members:
                found += [self._ending(accept, unordered.position, "member is there") for accept in member.accepts]
        ends = zip(self._plan.accepts, self._plan.patience, strict=True)
        return (*found, *(self._ending(accept, self._accept, "", patience) for accept, patience in ends))

    def _ending(self, accept: Accept, target: int, note: str, patience: int | None = None) -> described.Edge:
        notes = self._notes(accept)
        if accept.passed:
            passed = "the window" if patience is None else f"{duration_in_words(patience)} or the window"
            notes = (*notes, f"reported when {passed} {'has' if patience is None else 'have'} passed")
        return described.Edge(accept.position, target, "", "", (note, *notes) if note else notes)

    def _label(self, position: int) -> str:
        symbols = self._plan.positions[position].symbols
        return " & ".join(self._query.patterns[symbol].name for symbol in symbols)

    def _notes(self, taken: planned.Edge | planned.Accept) -> tuple[str, ...]:
        least = (self._plan.repetitions[repetition].at_least for repetition in taken.leaves)
        notes = [f"after {iterations} or more iterations" for iterations in least if iterations > 1]
        if isinstance(taken, planned.Edge) and taken.loop != NONE:
            at_most = self._plan.repetitions[taken.loop].at_most
            notes.append("next iteration" if at_most is None else f"next iteration, at most {at_most}")
        return (*notes, *(self._negated(self._plan.negations[passed.negation]) for passed in taken.passed))

    def _negated(self, negation: planned.NegatedPart) -> str:
        names = " ".join(self._query.patterns[symbol].name for symbol in sorted(nodes.symbols(negation.expression)))
        within = "" if negation.limit is None else f", within {duration_in_words(negation.limit)}"
        return f"no {names} in between{within}"

    def _limits(self, edge: PlannedEdge) -> tuple[str, ...]:
        limits = (self._plan.clocks[clock].limit for clock in edge.deadlines)
        within = [f"within {duration_in_words(limit)} of the step's first event" for limit in limits if limit != NONE]
        if edge.limit is not None:
            within.append(f"within {duration_in_words(edge.limit)} of the last event")
        return tuple(within)
