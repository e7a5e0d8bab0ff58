"""From a parsed query to its meaning: conditions of steps, projected columns, knowledge bases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from automata.plan import expression
from sparql_gpm.algebra.rewrite import filtered
from sparql_gpm.algebra.scope import aggregates, background_names, certain, expression_variables, in_scope, iterations
from sparql_gpm.algebra.traversal import map_operands, operands
from sparql_gpm.pattern import FALSE, Aggregate, Call, Cast, Constant, Exists, Expression, Iteration, Pattern, Variable
from sparql_gpm.syntax.tokens import tokens
from sparql_gpm.terms import IRI
from spaseq.algebra.nodes import AnyQuery, Column, GraphPattern, MatchCondition, OverMatches, TemporalQuery, Using
from spaseq.algebra.partitions import USING, as_written, in_template, of_match, partition_variable
from spaseq.algebra.sequence import normal_form
from spaseq.lang.ast import Define, Projection, Query, TemplateTriple
from spaseq.lang.canonical import canonical_text


def build(query: AnyQuery) -> TemporalQuery:
    """The meaning of a parsed query; a meaning is its own."""
    if isinstance(query, TemporalQuery):
        return query
    names = expression.symbols(query.sequence)
    defines = {define.name: define for define in query.defines}
    given = {name: partition_variable(name) for name in query.partition} if query.using else {}
    bound = frozenset(given).union(*(in_scope(defines[name].pattern) for name in names))
    streams = tuple((stream.name, stream.iri) for stream in query.streams)
    positions = {name: position for position, (name, _) in enumerate(streams)}
    apart = _shown_apart(query) if given and query.template is None else frozenset[str]()
    steps = tuple(_graph_pattern(query, defines[name], positions, bound, given, apart) for name in names)
    patterns = (*steps, *_using(query, given))
    columns, values = _columns(query, steps, given), _values(query)
    template = None
    if query.template is not None:
        template = tuple(in_template(triple, given, query.over_matches) for triple in query.template)
    return TemporalQuery(
        query.name,
        streams,
        patterns,
        normal_form(query.sequence, {name: number for number, name in enumerate(names)}),
        tuple(dict.fromkeys(variable for pattern in patterns for variable in pattern.variables)),
        query.window,
        tuple(given.values()) or query.partition,
        Using(len(steps), query.partition) if query.using else None,
        query.selector,
        query.skip,
        query.skip_to,
        query.distinct,
        query.limit,
        tuple(_match_condition(each.expression, values, given) for each in query.filters),
        tuple(_column(bind, given) for bind in query.binds),
        columns,
        template,
        query.register,
        _knowledge(query, patterns),
        query,
        b"" if query.template is None else sha256(canonical_text(query).encode(errors="surrogatepass")).digest(),
        over=_over_matches(query, columns, template or (), given) if query.over_matches else None,
    )


def _over_matches(
    query: Query, columns: Sequence[Column], template: Sequence[TemplateTriple], given: Mapping[str, str]
) -> OverMatches:
    shown = [column.expression for column in columns]
    shown += [triple.object for triple in template if triple.object is not None]
    having = None if query.having is None else of_match(query.having.expression, given, over=True)
    found = (each for expression in (*shown, *((having,) if having else ())) for each in _outermost(expression))
    return OverMatches(tuple(given.get(name, name) for name in query.group), having, tuple(dict.fromkeys(found)))


def _outermost(expression: Expression) -> Iterator[Aggregate]:
    """The aggregates that no other is around."""
    if isinstance(expression, Aggregate):
        yield expression
        return
    for operand in operands(expression):
        yield from _outermost(operand)


def _graph_pattern(
    query: Query,
    define: Define,
    positions: dict[str, int],
    bound: frozenset[str],
    given: Mapping[str, str],
    apart: frozenset[str],
) -> GraphPattern:
    """The GPM of a step.

    given   the partition's variables under USING
    apart   those of the steps that are shown apart from them
    """
    scope = in_scope(define.pattern)
    conditions: list[Expression] = []
    own_filters: list[Expression] = []
    for condition in define.filters:
        if is_condition(condition.expression, scope, bound):
            conditions.append(of_match(condition.expression, given))
        else:
            own_filters.append(condition.expression)
    pattern = filtered(own_filters, define.pattern)
    body = query.text[define.body.start : define.body.end]
    written = (token.text[1:] for token in tokens(body) if token.text[:1] in "?$")
    bare, own = certain(define.pattern), (*define.event.variables, *written)
    equal = (given.keys() & bare) - apart if query.template is None else frozenset[str]()
    shown = scope - equal
    variables = (*given.values(), *dict.fromkeys(name for name in own if name in shown))
    streams = tuple(dict.fromkeys(positions[name] for name in define.streams))
    return GraphPattern(
        define.name, streams, pattern, variables, (bare - equal).union(given.values()), tuple(conditions)
    )


def _shown_apart(query: Query) -> frozenset[str]:
    """The variables over whose iterations something ranges: those of the steps are not the partition's."""
    written = [each.expression for each in query.filters]
    written += [each.expression for define in query.defines for each in define.filters]
    written += [query.having.expression] if query.having is not None else []
    written += [each.expression for each in (*(query.columns or ()), *query.binds) if each.expression is not None]
    folded: list[Expression] = [node for each in written for node in aggregates(each)]
    folded += [node for each in written for node in iterations(each)]
    return frozenset[str]().union(*map(expression_variables, folded))


def _using(query: Query, given: Mapping[str, str]) -> Iterator[GraphPattern]:
    """The GPM of USING, if there is one."""
    if query.using is not None:
        variables, streams = tuple(given.values()), tuple(range(len(query.streams)))
        yield GraphPattern(USING, streams, query.using.pattern, variables, frozenset(variables), ())


def _match_condition(
    expression: Expression, values: Mapping[str, Expression], given: Mapping[str, str]
) -> MatchCondition:
    """A FILTER beside the DEFINEs, with the values of its BINDs in their places."""
    inlined = _inlined(expression, values)
    at_end = inlined != expression or bool(aggregates(expression) or iterations(expression))
    return MatchCondition(of_match(inlined, given), at_end)


def _values(query: Query) -> Mapping[str, Expression]:
    """The value of each BIND beside the DEFINEs, with those of earlier ones in their places."""
    values: dict[str, Expression] = {}
    for bind in query.binds:
        if bind.expression is not None:
            values[bind.variable] = _inlined(bind.expression, values)
    return values


def _inlined(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with values in place of variables; BOUND becomes a test that the value is no error."""
    match expression:
        case Variable(name):
            return values.get(name, expression)
        case Call("BOUND", (Variable(name),)) if name in values:
            value = values[name]
            return Call("COALESCE", (Call("SAMETERM", (value, value)), Constant(FALSE)))
    return map_operands(expression, lambda operand: _inlined(operand, values))


def is_condition(expression: Expression, scope: frozenset[str], bound: frozenset[str]) -> bool:
    """True if a top-level FILTER is a condition of its step, False if it is part of the pattern (specification 3.1).

    scope   the variables in scope in its GPM
    bound   the variables that any step binds: inside EXISTS only these count
    """
    if aggregates(expression) or iterations(expression):
        return True
    outside = {node.name for node in plain_nodes(expression) if isinstance(node, Variable)}
    inside = expression_variables(expression) - outside
    return not outside | (inside & bound) <= scope


def plain_nodes(expression: Expression) -> Iterator[Expression]:
    """Every node of an expression, without entering the patterns of EXISTS."""
    yield expression
    match expression:
        case Call(_, arguments) | Cast(_, arguments):
            for argument in arguments:
                yield from plain_nodes(argument)
        case Aggregate(_, inner) if inner is not None:
            yield from plain_nodes(inner)
        case Exists() | Iteration():
            return


def _column(written: Projection, given: Mapping[str, str], over: bool = False) -> Column:
    return Column(written.variable, of_match(written.expression or Variable(written.variable), given, over))


def _columns(query: Query, steps: tuple[GraphPattern, ...], given: Mapping[str, str]) -> tuple[Column, ...]:
    """The columns of SELECT; `*` is the variables of positive steps, BINDs beside the DEFINEs and PARTITION BY."""
    if query.columns is not None:
        return tuple(_column(each, given, query.over_matches) for each in query.columns)
    positive = expression.symbols(query.sequence, negated=False)
    names = {as_written(variable) for step in steps if step.name in positive for variable in step.variables}
    names.update(bind.variable for bind in query.binds)
    return tuple(Column(name, of_match(Variable(name), given)) for name in sorted(names))


def _knowledge(query: Query, patterns: tuple[GraphPattern, ...]) -> tuple[str, ...]:
    named: list[str] = list(query.knowledge)
    for pattern in patterns:
        found: list[Pattern] = [pattern.pattern]
        found += [node.pattern for e in pattern.conditions for node in plain_nodes(e) if isinstance(node, Exists)]
        named += [name.value for each in found for name in background_names(each) if isinstance(name, IRI)]
    return tuple(dict.fromkeys(named))
