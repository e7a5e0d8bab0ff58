"""The warnings about expressions: PREV without a guard, numbers compared with strings (specification 2.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from automata.plan.expression import Repetition, Span, steps
from sparql_gpm.algebra.scope import in_scope, mentioned
from sparql_gpm.algebra.traversal import operands, subexpressions
from sparql_gpm.pattern import Aggregate, Call, Exists, Expression, Iteration, Variable
from sparql_gpm.syntax.names import Names
from sparql_gpm.syntax.tokens import Token, Tree
from sparql_gpm.terms import XSD, Literal
from spaseq.lang import ast
from spaseq.lang.codes import Code
from spaseq.lang.report import Report
from spaseq.lang.trees import Trees, divided, is_a, nodes, variables, word

_NUMERIC = frozenset({"+", "-", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN", "COUNT", "SUM", "AVG"})
"""The functions, aggregates and signs of one operand that give numbers."""
_NUMERALS = frozenset({XSD + "integer", XSD + "decimal", XSD + "double"})

_Repeated = Mapping[str, Sequence[Repetition[str]]]
"""For each variable the innermost repetitions around the steps that bind it."""


def check_expressions(query: ast.Query, trees: Trees, report: Report) -> None:
    """Reports the warnings about the expressions of a query without errors."""
    repeated = _repetitions(query)
    around: defaultdict[str, set[int]] = defaultdict(set)
    for step, nodes_around in steps(query.sequence):
        around[step.symbol].update(map(id, nodes_around))
    for define in query.defines:
        filters, _ = divided(trees.bodies[define.name])
        for found, tree in zip(define.filters, filters, strict=True):
            _check_prev(found.expression, tree, repeated, around[define.name], report)
    for condition, tree in zip(query.filters, trees.conditions, strict=True):
        _check_prev(condition.expression, tree, repeated, set(), report)
    names = Names(dict(query.prefixes), query.base)
    for node in nodes((*trees.bodies.values(), *trees.conditions, *trees.others)):
        if is_a(node, "comparison") and not is_a(node.children[-1], "list"):
            _check_comparison(node.children[0], node.children[2], names, report)


def open_variables(expression: Expression) -> frozenset[str]:
    """The variables of an expression whose plain value it uses, EXISTS included: not those of aggregates and PREV."""
    match expression:
        case Variable(name):
            return frozenset({name})
        case Exists(pattern, _):
            return mentioned(pattern)
        case Aggregate():
            return frozenset()
    return frozenset[str]().union(*map(open_variables, operands(expression)))


def places_of(body: Tree) -> Mapping[str, Span]:
    """The first place of each variable in the body of a GPM outside of aggregates, PREV, FIRST and LAST."""
    return {found.text[1:]: found.span for found in variables(nodes([body], "aggregate", "iteration"))}


# --- PREV ---


def _check_prev(condition: Expression, tree: Tree, repeated: _Repeated, around: set[int], report: Report) -> None:
    """Warns of a FILTER that is false where PREV has no value; `around` are the ids of the nodes around its step."""
    found = (node.children for node in nodes([tree]) if is_a(node, "iteration") and node.children[0].is_word("PREV"))
    places: dict[str, Span] = {}
    for keyword, variable, *_ in found:
        places.setdefault(variable.text[1:], word(keyword).span)
    unguarded = (_failing(condition) - _guarded(condition)) if places else frozenset()
    for name in filter(unguarded.__contains__, places):
        inside = any(id(node) in around for node in repeated[name])
        if not inside and all(node.at_least >= 2 for node in repeated[name]):
            continue
        message = f"PREV(?{name}) has no value where there is one iteration only: this FILTER is false there"
        if inside:
            message = (
                f"PREV(?{name}) has no value at the first iteration: this FILTER is false, and no repetition begins"
            )
        hint = f"write FILTER (!BOUND(PREV(?{name})) || …), or COALESCE(PREV(?{name}), …)"
        report.add(Code.UNGUARDED_PREV, places[name], message, hint)


def _repetitions(query: ast.Query) -> _Repeated:
    """For each variable the innermost repetitions around the steps that bind it."""
    scopes = {define.name: in_scope(define.pattern) for define in query.defines}
    repeated: defaultdict[str, list[Repetition[str]]] = defaultdict(list)
    for step, around in steps(query.sequence):
        innermost = next((node for node in reversed(around) if isinstance(node, Repetition)), None)
        if innermost is not None:
            for name in scopes[step.symbol]:
                repeated[name].append(innermost)
    return repeated


def _guarded(expression: Expression) -> frozenset[str]:
    """The names for which BOUND or COALESCE asks for the value of PREV."""
    match expression:
        case Call("BOUND" | "COALESCE"):
            return frozenset(
                each.variable
                for each in subexpressions(expression)
                if isinstance(each, Iteration) and each.name == "PREV"
            )
    return frozenset[str]().union(*map(_guarded, operands(expression)))


def _failing(expression: Expression) -> frozenset[str]:
    """The names such that the expression is an error or false whenever their PREV is unbound."""
    match expression:
        case Call("&&", arguments):
            return frozenset[str]().union(*map(_failing, arguments))
        case Call("||", arguments):
            return frozenset.intersection(*map(_failing, arguments))
    return _erring(expression)


def _erring(expression: Expression) -> frozenset[str]:
    """The names such that the expression is an error whenever their PREV is unbound."""
    match expression:
        case Iteration("PREV", variable):
            return frozenset({variable})
        case Call("&&" | "||", arguments):
            return frozenset.intersection(*map(_erring, arguments))
        case Call("IF" | "IN" | "NOTIN", arguments):
            return _erring(arguments[0])
        case Call("BOUND" | "COALESCE"):
            return frozenset()
    return frozenset[str]().union(*map(_erring, operands(expression)))


# --- numbers and strings ---


def _check_comparison(left: Tree, right: Tree, names: Names, report: Report) -> None:
    """Warns of a plain string that a number is compared with."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Token) and one.type == "STRING" and _is_number(other, names):
            message = "a number or duration is never equal to a string, nor less or greater, whatever its value is"
            hint = 'write the number without quotation marks, or a typed literal such as "PT5M"^^xsd:dayTimeDuration'
            report.add(Code.STRING_COMPARISON, word(one).span, message, hint)


def _is_number(tree: Tree, names: Names) -> bool:
    """True for a numeral, arithmetic, and an aggregate that is a number whatever it ranges over."""
    if isinstance(tree, Token) or tree.data == "typed":
        term = names.term(tree)
        return isinstance(term, Literal) and term.datatype in _NUMERALS
    if tree.data in ("built_in", "aggregate", "unary"):
        return tree.children[0].text.upper() in _NUMERIC
    return tree.data in ("sum", "product")
