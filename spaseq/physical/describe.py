"""What `spaseq explain` says about a query, read off its meaning and its automaton."""

from __future__ import annotations

from automata.plan import expression as nodes
from automata.plan.automaton import START, Accept, Action, Automaton, Crossing, Passed, build_automaton
from automata.plan.facts import Analysis, analyse
from sparql_gpm.algebra.describe import describe as describe_pattern
from sparql_gpm.algebra.describe import expression_text
from spaseq.algebra.distribution import distribution, sharding_in_words
from spaseq.algebra.nodes import GraphPattern, TemporalQuery
from spaseq.algebra.words import BETWEEN, sentences, window_in_words
from spaseq.explain.description import (
    Alternative,
    Condition,
    Description,
    Edge,
    Evaluator,
    KnowledgeBase,
    PatternPlan,
    Repetition,
    State,
    Stream,
)
from spaseq.physical.estimates import estimates
from spaseq.physical.plan import PhysicalPlan
from spaseq.physical.planner import EVALUATORS, TOO_SHORT, plan_query
from spaseq.physical.program import Compiled
from spaseq.physical.replanning import SWITCHING


def describe(
    text: str, compiled: Compiled, knowledge: tuple[KnowledgeBase, ...] = (), evaluator: str = "auto"
) -> Description:
    """The description of a query with this text, compiled as it is run.

    Raises InputError for an evaluator that cannot run it.
    """
    meaning = compiled.query
    automaton = build_automaton(meaning.sequence)
    analysis = analyse(compiled.program, automaton)
    drawn = _Drawing(meaning, automaton)
    return Description(
        meaning.name,
        sentences(meaning),
        tuple(Stream(name, iri) for name, iri in meaning.streams),
        window_in_words(meaning.window),
        tuple(_plan(meaning, compiled, analysis, number) for number in range(len(meaning.patterns))),
        drawn.states(),
        drawn.edges(),
        _evaluator(plan_query(compiled, evaluator), plan_query(compiled, evaluator, kernels=False)),
        meaning.partition,
        knowledge,
        _repetitions(text, meaning.sequence),
        f"{sharding_in_words(distribution(meaning))}; in each shard the evaluator above",
    )


def _evaluator(long: PhysicalPlan, short: PhysicalPlan) -> Evaluator:
    """The evaluators of a query on long and on short input."""
    on_short_input = ""
    if (long.evaluator, long.form) != (short.evaluator, short.form):
        on_short_input = f"{EVALUATORS[short.evaluator]}, in {short.form_in_words}: {TOO_SHORT}"
    return Evaluator(
        EVALUATORS[long.evaluator],
        long.reason,
        tuple(Alternative(name, why_not) for name, why_not in long.others),
        estimates(long.compiled.program, long.able),
        SWITCHING if "adaptive" in (long.evaluator, short.evaluator) else "",
        long.form_in_words,
        long.form_reason,
        on_short_input,
    )


def _plan(query: TemporalQuery, compiled: Compiled, analysis: Analysis, symbol: int) -> PatternPlan:
    pattern: GraphPattern = query.patterns[symbol]
    conditions = tuple(
        Condition(expression_text(expression), _decided(query, compiled, analysis, number))
        for number, expression in enumerate(compiled.conditions)
        if compiled.program.conditions[number].symbol == symbol
    )
    streams = tuple(query.streams[stream][0] for stream in pattern.streams)
    lines = tuple(describe_pattern(pattern.pattern).splitlines())
    return PatternPlan(pattern.name, streams, pattern.variables, lines, conditions)


def _decided(query: TemporalQuery, compiled: Compiled, analysis: Analysis, condition: int) -> str:
    """When a condition is decided: at its own step, or when what it waits for is there."""
    waiting: set[int] = set()
    for checks in analysis.checks:
        for check in checks:
            if check.condition == condition and check.at_home:
                waiting |= check.waiting
    own = query.patterns[compiled.program.conditions[condition].symbol].name
    if not waiting:
        return f"when {own} is taken"
    names = ", ".join(f"?{query.variables[number]}" for number in sorted(waiting))
    return f"when {own} is taken if {names} is bound by then, else as soon as it is or no longer can be"


def _repetitions(text: str, sequence: nodes.Expression) -> tuple[Repetition, ...]:
    found = []
    for node in nodes.walk(sequence):
        if isinstance(node, nodes.Repetition):
            assert node.contiguity is not None, node
            span = nodes.extent(node)
            written = text[node.span.start] in ",;:"
            found.append(Repetition(" ".join(text[span.start : span.end].split()), BETWEEN[node.contiguity], written))
    return tuple(found)


class _Drawing:
    """The automaton as states and edges, with one more state where matches end."""

    def __init__(self, query: TemporalQuery, automaton: Automaton) -> None:
        self._query = query
        self._automaton = automaton
        self._accept = len(automaton.positions)
        self._starts = {
            member.start: f"member {number} of ALL"
            for unordered in automaton.unordered
            for number, member in enumerate(unordered.members, 1)
        }

    def states(self) -> tuple[State, ...]:
        found = [State(START, "start", "start")]
        for number, position in enumerate(self._automaton.positions[1:], 1):
            if position.any_order >= 0:
                found.append(State(number, "ALL members there", "any-order"))
            else:
                found.append(State(number, self._starts.get(number) or self._label(number), "step"))
        return (*found, State(self._accept, "match", "accept"))

    def edges(self) -> tuple[Edge, ...]:
        found = []
        for edge in self._automaton.edges:
            joined = self._automaton.positions[edge.target].any_order
            notes = self._notes(edge.passed, edge.actions)
            if joined >= 0:
                for member in self._automaton.unordered[joined].members:
                    found.append(Edge(edge.source, member.start, "", "", ("opens ALL", *notes)))
                continue
            begins = edge.source == START or edge.source in self._starts
            operator = "" if begins else edge.operator.value
            rivals = tuple(f"unless {self._label(self._automaton.edges[r].target)} comes first" for r in edge.rivals)
            found.append(Edge(edge.source, edge.target, self._label(edge.target), operator, notes + rivals))
        for unordered in self._automaton.unordered:
            for member in unordered.members:
                found += [self._ending(accept, unordered.position, "member is there") for accept in member.accepts]
        return (*found, *(self._ending(accept, self._accept, "") for accept in self._automaton.accepts))

    def _ending(self, accept: Accept, target: int, note: str) -> Edge:
        notes = self._notes(accept.passed, accept.actions)
        if accept.passed:
            notes = (*notes, "reported when the window has passed")
        return Edge(accept.position, target, "", "", (note, *notes) if note else notes)

    def _label(self, position: int) -> str:
        symbols = self._automaton.positions[position].symbols
        return " & ".join(self._query.patterns[symbol].name for symbol in symbols)

    def _notes(self, passed: tuple[Passed, ...], actions: tuple[Action, ...]) -> tuple[str, ...]:
        notes = []
        for action in actions:
            repetition = self._automaton.repetitions[action.repetition]
            if action.crossing is Crossing.LOOP:
                limit = "" if repetition.at_most is None else f", at most {repetition.at_most}"
                notes.append(f"next iteration{limit}")
            elif action.crossing is Crossing.LEAVE and repetition.at_least > 1:
                notes.append(f"after {repetition.at_least} or more iterations")
        return (*notes, *(f"no {self._absent(p.absence)} in between" for p in passed))

    def _absent(self, absence: int) -> str:
        symbols = sorted(nodes.symbols(self._automaton.negations[absence].expression))
        return " ".join(self._query.patterns[symbol].name for symbol in symbols)
