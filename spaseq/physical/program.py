"""From a query's meaning to a program for an evaluator: names become numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from automata.plan.plan import Plan, compile_plan
from automata.plan.program import (
    MATCH,
    RUNS_MAX,
    Condition,
    Demand,
    FoldValue,
    IterationValue,
    Program,
    Reference,
    Selector,
    Skip,
    Symbol,
)
from automata.values import NONE
from sparql_gpm.algebra.scope import expression_variables
from sparql_gpm.algebra.traversal import exists_in
from sparql_gpm.expressions.expression_evaluator import column_name
from sparql_gpm.pattern import Aggregate, Exists, Expression, Iteration, Variable
from spaseq.algebra.build import plain_nodes
from spaseq.algebra.nodes import TemporalQuery
from spaseq.algebra.partitions import as_written
from spaseq.errors import InputError
from spaseq.physical.hopping import LANES_MAX, lane_windows, sliding_once, why_by_window

GROUPS_MAX = 1_000_000
"""The default bound on the groups of OVER MATCHES of one query, and on the values that their aggregates hold."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A query compiled once: its plan, and what the numbers in it stand for.

    query       its meaning, as it is run
    conditions  the expression of each condition
    folds       the aggregate of each `FoldValue.fold`
    outputs     the expression nodes whose values the matches carry, in the order of `Program.outputs`
    nodes       reference → the variable, iteration or aggregate it stands for
    lanes       of hopping windows that are evaluated one by one: the plan of every so manieth of them; else ()
    groups_max  the most groups of OVER MATCHES, and values in them
    """

    query: TemporalQuery
    plan: Plan
    conditions: tuple[Expression, ...]
    folds: tuple[Aggregate, ...]
    outputs: tuple[Iteration | Aggregate, ...]
    nodes: dict[Reference, Variable | Iteration | Aggregate]
    lanes: tuple[Plan, ...] = ()
    groups_max: int = GROUPS_MAX

    @property
    def program(self) -> Program:
        """The program, the same for every evaluator."""
        return self.plan.program

    @property
    def keeps_graphs(self) -> bool:
        """True if a condition reads the graphs of events (EXISTS)."""
        return any(condition.needs_event for condition in self.program.conditions)

    @property
    def reads_graphs(self) -> bool:
        """True if, once patterns are matched, something reads graphs of events: a condition, or a name (CONSTRUCT)."""
        return self.keeps_graphs or self.query.orders_solutions

    def name(self, reference: Reference) -> str:
        """The name of what a reference stands for, in expressions: of a variable, or of a column of iterations."""
        node = self.nodes[reference]
        return node.name if isinstance(node, Variable) else column_name(node)


def compile_program(query: TemporalQuery, runs_max: int = RUNS_MAX, groups_max: int = GROUPS_MAX) -> Compiled:
    """The plan of a query; its automaton and what follows from it are worked out here and nowhere else."""
    numbering = _Numbering(query.variables)
    symbols = tuple(
        Symbol(
            pattern.name,
            frozenset(numbering.variables[name] for name in pattern.variables),
            frozenset(numbering.variables[name] for name in pattern.certain),
            frozenset(pattern.streams),
        )
        for pattern in query.patterns
    )
    owned = [(symbol, e, False) for symbol, pattern in enumerate(query.patterns) for e in pattern.conditions]
    expressions = owned + [(MATCH, each.expression, each.at_end) for each in query.filters]
    conditions = tuple(
        Condition(symbol, numbering.references(expression), bool(exists_in(expression)), at_end)
        for symbol, expression, at_end in expressions
    )
    shown = (node for expression in query.output_expressions() for node in plain_nodes(expression))
    outputs = tuple(dict.fromkeys(node for node in shown if isinstance(node, Iteration | Aggregate)))
    program = Program(
        query.sequence,
        symbols,
        len(numbering.variables),
        conditions,
        sliding_once(query.window) if query.window.overlaps else query.window,
        tuple(numbering.variables[name] for name in query.partition),
        query.selector,
        query.skip,
        tuple(numbering.iterated(node) for node in outputs),
        len(query.streams),
        _wanted(query),
        *_first(query, bool(outputs)),
        runs_max,
        NONE if query.skip_to is None else [pattern.name for pattern in query.patterns].index(query.skip_to),
        NONE if query.using is None else query.using.symbol,
        _given(query, numbering.variables),
    )
    folds = tuple(numbering.folds)
    plan = compile_plan(program)
    lanes = _lanes(query, plan)
    return Compiled(
        query,
        lanes[0] if lanes else plan,
        tuple(e for _, e, _ in expressions),
        folds,
        outputs,
        numbering.nodes,
        lanes,
        groups_max,
    )


def _given(query: TemporalQuery, numbers: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
    """`Program.given`: of each variable of a partition by USING the number, and that of the steps' own."""
    if query.using is None:
        return ()
    return tuple((numbers[name], numbers.get(as_written(name), NONE)) for name in query.partition)


def _lanes(query: TemporalQuery, plan: Plan) -> tuple[Plan, ...]:
    """`Compiled.lanes`; raises InputError where there are too many."""
    if not query.window.overlaps or (reason := why_by_window(plan)) is None:
        return ()
    windows = lane_windows(query.window)
    if len(windows) > LANES_MAX:
        raise InputError(
            f"query '{query.name}': {len(windows)} windows overlap, and each must be evaluated by itself: {reason}",
            hint=f"{LANES_MAX} windows may overlap: write a longer EVERY",
        )
    return tuple(compile_plan(replace(plan.program, window=window)) for window in windows)


def _wanted(query: TemporalQuery) -> Demand:
    """The demand that LIMIT 1 or NEXT leaves of the matches of an event, where nothing but their order decides it."""
    if query.selector is Selector.NEXT:
        return Demand.FIRST
    alone = query.limit == 1 and query.over is None
    if not alone or query.selector is not Selector.ALL or query.skip is not Skip.NO_SKIP:
        return Demand.EVERY
    bare = query.template is None and not any(expression_variables(column.expression) for column in query.columns)
    return Demand.HAPPENED if bare else Demand.FIRST


def _first(query: TemporalQuery, iterates: bool) -> tuple[int | None, bool]:
    """`Program.first` and `Program.first_of_values`: what AFTER MATCH, DISTINCT and LIMIT leave, without a selector.

    Under OVER MATCHES, DISTINCT and LIMIT are about groups and leave every match.

    iterates    values are made of iterations, so that those of a match say nothing of them
    """
    if query.selector is not Selector.ALL or query.skip in (Skip.TO_FIRST, Skip.TO_LAST):
        return None, False
    if query.skip in (Skip.TO_NEXT, Skip.PAST_LAST):
        return 1, False
    if query.over is not None:
        return None, False
    if query.distinct:
        return (None, False) if iterates or query.enrichments else (1, True)
    return query.limit, False


class _Numbering:
    def __init__(self, variables: tuple[str, ...]) -> None:
        self.variables = {name: number for number, name in enumerate(variables)}
        self.folds: dict[Aggregate, int] = {}
        self.nodes: dict[Reference, Variable | Iteration | Aggregate] = {}

    def references(self, expression: Expression) -> tuple[Reference, ...]:
        """The references of an expression, each once; variables that no step binds are left out: they stay unbound."""
        found: dict[Reference, None] = {}
        for node in plain_nodes(expression):
            match node:
                case Variable(name) if name in self.variables:
                    found[self._plain(name)] = None
                case Iteration() | Aggregate():
                    found[self.iterated(node)] = None
                case Exists():
                    found |= {self._plain(n): None for n in sorted(expression_variables(node)) if n in self.variables}
        return tuple(found)

    def iterated(self, node: Iteration | Aggregate) -> IterationValue | FoldValue:
        """The reference for a value made of iterations."""
        reference: IterationValue | FoldValue
        if isinstance(node, Iteration):
            reference = IterationValue(node.name, self.variables[node.variable])
        else:
            assert isinstance(node.argument, Variable), node
            number = self.folds.setdefault(node, len(self.folds))
            reference = FoldValue(number, self.variables[node.argument.name])
        self.nodes[reference] = node
        return reference

    def _plain(self, name: str) -> int:
        number = self.variables[name]
        self.nodes[number] = Variable(name)
        return number
