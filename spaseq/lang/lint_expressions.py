"""The warnings about expressions: PREV without a guard, numbers compared with strings (specification 2.4)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from automata.plan.expression import Repetition, Span, steps
from sparql_gpm.algebra.scope import in_scope, iterations, mentioned
from sparql_gpm.algebra.traversal import exists_in, expressions_of, operands, subexpressions, walk
from sparql_gpm.pattern import Aggregate, Call, Constant, Exists, Expression, Iteration, Pattern, Variable
from sparql_gpm.syntax.tokens import Token, string_value, tokens
from sparql_gpm.syntax.words import AGGREGATES, ITERATIONS
from sparql_gpm.terms import XSD, XSD_STRING, Literal
from spaseq.lang import ast
from spaseq.lang.codes import Code
from spaseq.lang.report import Report

_COMPARISONS = frozenset({"=", "!=", "<", ">", "<=", ">="})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "NEG", "POS", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN"})
_OPERATORS = frozenset({"+", "-", "*", "/"})
_SUMS = frozenset({"COUNT", "SUM", "AVG"})
"""The aggregates that give numbers whatever they range over."""
_NUMERALS = frozenset({XSD + "integer", XSD + "decimal", XSD + "double"})

_Repeated = Mapping[str, Sequence[Repetition[str]]]
"""For each variable the innermost repetitions around the steps that bind it."""


def check_expressions(query: ast.Query, report: Report) -> None:
    """Reports the warnings about the expressions of a query without errors."""
    repeated = _repetitions(query)
    around: defaultdict[str, set[int]] = defaultdict(set)
    for step, nodes in steps(query.sequence):
        around[step.symbol].update(map(id, nodes))
    for define in query.defines:
        for found in define.filters:
            _check_prev(query.text, found, repeated, around[define.name], report)
        if compared := [value for expression in _expressions(define) for value in _strings(expression)]:
            _warn_strings(compared, _tokens(query.text, define.body), report)
    if query.using and (compared := [v for e in _below([query.using.pattern]) for v in _strings(e)]):
        _warn_strings(compared, _tokens(query.text, query.using.body), report)
    for condition in query.filters:
        _check_prev(query.text, condition, repeated, set(), report)
    for condition in (*query.filters, *filter(None, [query.having])):
        if compared := list(_strings(condition.expression)):
            _warn_strings(compared, _tokens(query.text, condition.span), report)
    for columns in (query.columns or (), query.binds):
        end = 0
        for column in columns:
            if column.expression is not None and (compared := list(_strings(column.expression))):
                _warn_strings(compared, _tokens(query.text, Span(end, column.span.start))[::-1], report)
            end = column.span.end


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


def places_of(text: str, define: ast.Define) -> Mapping[str, Span]:
    """The first place of each variable in the body of a GPM outside of aggregates, PREV, FIRST and LAST."""
    places: dict[str, Span] = {}
    read = _tokens(text, define.body)
    for index, token in enumerate(read):
        if token.kind != "variable" or token.text[1:] in places:
            continue
        before = [each for each in read[max(index - 3, 0) : index] if not each.is_word("DISTINCT")][-2:]
        if not (len(before) == 2 and before[0].is_word(*AGGREGATES, *ITERATIONS) and before[1].text == "("):
            places[token.text[1:]] = Span(token.start, token.end)
    return places


def _tokens(text: str, span: Span) -> list[Token]:
    return list(tokens(text, span.start, span.end))


def _expressions(define: ast.Define) -> Iterator[Expression]:
    """Every expression of a GPM, those inside EXISTS included."""
    patterns: list[Pattern] = [define.pattern]
    for found in define.filters:
        yield found.expression
        patterns += (exists.pattern for exists in exists_in(found.expression))
    yield from _below(patterns)


def _below(patterns: Iterable[Pattern]) -> Iterator[Expression]:
    """Every expression of the patterns, those inside EXISTS included."""
    for pattern in patterns:
        for node in walk(pattern):
            yield from expressions_of(node)


# --- PREV ---


def _check_prev(text: str, found: ast.TopLevelFilter, repeated: _Repeated, around: set[int], report: Report) -> None:
    """Warns of a FILTER that is false where PREV has no value; `around` are the ids of the nodes around its step."""
    names = list(dict.fromkeys(each.variable for each in iterations(found.expression) if each.name == "PREV"))
    unguarded = (_failing(found.expression) - _guarded(found.expression)) if names else frozenset()
    places = _prev_places(_tokens(text, found.span)) if unguarded else {}
    for name in filter(unguarded.__contains__, names):
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


def _prev_places(read: Sequence[Token]) -> Mapping[str, Span]:
    """The first place of each `PREV(?name)` in the tokens of a FILTER, by name."""
    places: dict[str, Span] = {}
    for token, after in zip(read, read[2:], strict=False):
        if token.is_word("PREV"):
            places.setdefault(after.text[1:], Span(token.start, token.end))
    return places


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


def _warn_strings(compared: Iterable[str], read: Sequence[Token], report: Report) -> None:
    """Warns of strings that numbers are compared with; `read` holds their tokens."""
    places = _string_places(read)
    for value in compared:
        if waiting := places.get(value):
            index = waiting.popleft()
            span = Span(read[index].start, read[index].end)
            message = "a number or duration is never equal to a string, nor less or greater, whatever its value is"
            hint = 'write the number without quotation marks, or a typed literal such as "PT5M"^^xsd:dayTimeDuration'
            report.add(Code.STRING_COMPARISON, span, message, hint)


def _strings(expression: Expression) -> Iterator[str]:
    """The plain strings that are compared with a numeral, arithmetic or a sum."""
    for each in subexpressions(expression):
        if isinstance(each, Call) and each.name in _COMPARISONS:
            for one, other in (each.arguments, each.arguments[::-1]):
                if isinstance(one, Constant) and _is_string(one) and _is_number(other):
                    yield one.term.lexical  # type: ignore[union-attr]


def _is_string(constant: Constant) -> bool:
    return isinstance(constant.term, Literal) and constant.term.datatype == XSD_STRING


def _is_number(expression: Expression) -> bool:
    match expression:
        case Constant(Literal(_, datatype)):
            return datatype in _NUMERALS
        case Call(name):
            return name in _ARITHMETIC
        case Aggregate(name):
            return name in _SUMS
    return False


def _string_places(read: Sequence[Token]) -> Mapping[str, deque[int]]:
    """The indexes of each plain string: next to a comparison of a number, then of a variable, then elsewhere."""
    ranked: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for index, token in enumerate(read):
        if token.kind == "string":
            ranked[string_value(token.text)].append((_rank(index, read), index))
    return {value: deque(index for _, index in sorted(places)) for value, places in ranked.items()}


def _rank(index: int, read: Sequence[Token]) -> int:
    """The rank of a string among equal ones: the greater, the less it looks like the one that is compared."""
    compared = [(other, beyond) for sign, other, beyond in _sides(index, read) if sign in _COMPARISONS]
    if any(not other.startswith(("?", "$")) or beyond in _OPERATORS for other, beyond in compared):
        return 0
    return 1 if compared else 2


def _sides(index: int, read: Sequence[Token]) -> Iterator[tuple[str, str, str]]:
    """The texts of the three tokens before a token, and of those after it, the nearest first."""
    for step in (-1, 1):
        ahead = [read[at].text if 0 <= (at := index + step * far) < len(read) else "" for far in (1, 2, 3)]
        yield ahead[0], ahead[1], ahead[2]
