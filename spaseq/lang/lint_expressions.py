"""The warnings about expressions: PREV without a guard, numbers compared with strings (specification 2.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from automata.plan.expression import Repetition, Span, steps
from sparql_gpm.algebra.scope import in_scope, iterations, mentioned
from sparql_gpm.algebra.traversal import exists_in, expressions_of, operands, subexpressions, walk
from sparql_gpm.pattern import Aggregate, Call, Constant, Exists, Expression, Iteration, Pattern, Variable
from sparql_gpm.syntax.tokens import Token, string_value
from sparql_gpm.terms import XSD, XSD_STRING, Literal
from spaseq.lang import ast
from spaseq.lang.codes import Code
from spaseq.lang.cut import sparql_tokens
from spaseq.lang.report import Report

_COMPARISONS = frozenset({"=", "!=", "<", ">", "<=", ">="})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "NEG", "POS", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN"})
_OPERATORS = frozenset({"+", "-", "*", "/"})
_SUMS = frozenset({"COUNT", "SUM", "AVG"})
"""The aggregates that give numbers whatever they range over."""
_NUMERALS = frozenset({XSD + "integer", XSD + "decimal", XSD + "double"})
_FOLDS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT", "PREV", "FIRST", "LAST")

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
    for column in (*(query.columns or ()), *query.binds):
        if column.expression is not None and (compared := list(_strings(column.expression))):
            _warn_strings(compared, _tokens(query.text, Span(0, column.span.start))[::-1], report)


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


def place_of(text: str, define: ast.Define, name: str) -> Span | None:
    """The first place of a variable in the body of a GPM outside of aggregates, PREV, FIRST and LAST."""
    read = _tokens(text, define.body)
    for index, token in enumerate(read):
        before = [each for each in read[max(index - 3, 0) : index] if not each.is_word("DISTINCT")][-2:]
        folded = len(before) == 2 and before[0].is_word(*_FOLDS) and before[1].text == "("
        if token.kind == "variable" and token.text[1:] == name and not folded:
            return Span(token.start, token.end)
    return None


def _tokens(text: str, span: Span) -> list[Token]:
    return list(sparql_tokens(text[: span.end], span.start, []))


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
    for name in dict.fromkeys(each.variable for each in iterations(found.expression) if each.name == "PREV"):
        if _guarded(found.expression, name) or not _fails(found.expression, name):
            continue
        inside = any(id(node) in around for node in repeated[name])
        if not inside and all(node.at_least >= 2 for node in repeated[name]):
            continue
        message = f"PREV(?{name}) has no value where there is one iteration only: this FILTER is false there"
        if inside:
            message = (
                f"PREV(?{name}) has no value at the first iteration: this FILTER is false, and no repetition begins"
            )
        hint = f"write FILTER (!BOUND(PREV(?{name})) || …), or COALESCE(PREV(?{name}), …)"
        report.add(Code.UNGUARDED_PREV, _prev(_tokens(text, found.span), name), message, hint)


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


def _prev(read: Sequence[Token], name: str) -> Span:
    """The place of `PREV(?name)` in the tokens of a FILTER."""
    places = (
        token for token, after in zip(read, read[2:], strict=False) if token.is_word("PREV") and after.text[1:] == name
    )
    token = next(places)
    return Span(token.start, token.end)


def _guarded(expression: Expression, name: str) -> bool:
    """True if BOUND or COALESCE asks for the value of PREV."""
    guards = (
        each for each in subexpressions(expression) if isinstance(each, Call) and each.name in {"BOUND", "COALESCE"}
    )
    return any(Iteration("PREV", name) in subexpressions(guard) for guard in guards)


def _fails(expression: Expression, name: str) -> bool:
    """True if the expression is an error or false whenever PREV(?name) is unbound."""
    match expression:
        case Call("&&", arguments):
            return any(_fails(each, name) for each in arguments)
        case Call("||", arguments):
            return all(_fails(each, name) for each in arguments)
    return _errs(expression, name)


def _errs(expression: Expression, name: str) -> bool:
    """True if the expression is an error whenever PREV(?name) is unbound."""
    match expression:
        case Iteration("PREV", variable):
            return variable == name
        case Call("&&" | "||", arguments):
            return all(_errs(each, name) for each in arguments)
        case Call("IF" | "IN" | "NOTIN", arguments):
            return _errs(arguments[0], name)
        case Call("BOUND" | "COALESCE"):
            return False
    return any(_errs(each, name) for each in operands(expression))


# --- numbers and strings ---


def _warn_strings(compared: Iterable[str], read: Sequence[Token], report: Report) -> None:
    """Warns of strings that numbers are compared with; `read` holds their tokens."""
    taken: set[int] = set()
    for value in compared:
        index = _string_place(value, read, taken)
        if index is not None:
            taken.add(index)
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


def _string_place(value: str, read: Sequence[Token], taken: Collection[int]) -> int | None:
    """The index of a plain string next to a comparison, rather of a number than of a variable."""
    places = [
        index
        for index, token in enumerate(read)
        if index not in taken and token.kind == "string" and string_value(token.text) == value
    ]
    compared = [index for index in places if any(sign in _COMPARISONS for sign, _, _ in _sides(index, read))]
    numbers = [
        index
        for index in compared
        if any(
            sign in _COMPARISONS and (not other.startswith(("?", "$")) or beyond in _OPERATORS)
            for sign, other, beyond in _sides(index, read)
        )
    ]
    return next(iter(numbers or compared or places), None)


def _sides(index: int, read: Sequence[Token]) -> Iterator[tuple[str, str, str]]:
    """The texts of the three tokens before a token, and of those after it, the nearest first."""
    for step in (-1, 1):
        ahead = [read[at].text if 0 <= (at := index + step * far) < len(read) else "" for far in (1, 2, 3)]
        yield ahead[0], ahead[1], ahead[2]
