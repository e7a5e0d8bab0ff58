"""The parser's actions: they make clauses and sequence expressions from the rules of grammar.lark."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from lark import Token, Transformer

from automata.plan import expression as nodes
from automata.plan.expression import UNREADABLE, Contiguity, Limit, Sequence, Span, extent, flattened
from automata.plan.program import Skip
from spaseq.lang import drafts
from spaseq.lang.ast import Expr, Unit
from spaseq.lang.drafts import Word

REPETITIONS_MAX = 2**31 - 1
"""The largest number a quantifier may hold."""
_DIGITS_MAX = 20
"""So many significant digits of a limit tell that it is too large."""

_BOUNDS = re.compile(r"\{\s*([0-9]+)\s*(,)?\s*([0-9]+)?\s*\}")
Children = list[Any]
"""The results of the parts of a rule."""


_CLAUSES: dict[str, Callable[..., Any]] = {
    "base": partial(drafts.Declaration, None), "prefix": drafts.Declaration, "register": drafts.RegisterClause,
    "within": drafts.WithinClause, "stream": drafts.StreamClause, "knowledge": drafts.KnowledgeClause,
    "filter": drafts.FilterClause, "bind": drafts.BindClause, "limit": drafts.LimitClause, "every": drafts.EveryDraft,
    "where": drafts.UnreadClause, "lbrace": drafts.UnreadClause, "rbrace": drafts.UnreadClause,
}  # fmt: skip
"""For each rule that has no method in `Build` the clause that its parts make up, in order."""


class Build(Transformer[Token, Any]):
    """The other rules of grammar.lark, a method each; none can fail."""

    def __default__(self, data: str, children: Children, meta: Any) -> Any:
        clause = _CLAUSES.get(data)
        return super().__default__(data, children, meta) if clause is None else clause(*map(_part, children))  # type: ignore[no-untyped-call]

    def select(self, children: Children) -> drafts.Clause:
        """SELECT."""
        selector, over, distinct, *columns = children
        if isinstance(columns[0], Token):
            return drafts.FormClause(selector, over, distinct is not None, None, star=_word(columns[0]))
        return drafts.FormClause(selector, over, distinct is not None, tuple(columns))

    def column(self, children: Children) -> drafts.ColumnDraft:
        """A projected variable or expression."""
        *expression, variable = map(_word, children)
        return drafts.ColumnDraft(variable, expression[0] if expression else None)

    def construct(self, children: Children) -> drafts.Clause:
        """CONSTRUCT."""
        selector, over, _, template = children
        return drafts.FormClause(selector, over, False, (), _word(template))

    def over(self, children: Children) -> Word:
        """The first word of OVER MATCHES."""
        return _word(children[0])

    def group_by(self, children: Children) -> drafts.Clause:
        """GROUP BY."""
        return drafts.GroupClause(_word(children[0]), tuple(map(_word, children[1:])))

    def having(self, children: Children) -> drafts.Clause:
        """HAVING."""
        return drafts.HavingClause(*map(_word, children))

    def selector(self, children: Children) -> Word:
        """One of CEL's strategies."""
        return _word(children[0])

    def starting(self, children: Children) -> drafts.StartingDraft:
        """STARTING AT."""
        keyword, value, *datatype = children
        return drafts.StartingDraft(_word(keyword), _word(value), _word(datatype[1]) if any(datatype) else None)

    def partition(self, children: Children) -> drafts.Clause:
        """PARTITION BY."""
        *variables, _, body = children
        return drafts.PartitionClause(tuple(map(_word, variables)), _word(body) if body else None)

    def define(self, children: Children) -> drafts.Clause:
        """DEFINE GPM."""
        name, *between, _, body = children
        event = tuple(part for part in between if isinstance(part, drafts.EventVariable))
        streams = tuple(_word(part) for part in between if isinstance(part, Token))
        return drafts.DefineClause(_word(name), streams, event, _word(body))

    def event_variable(self, children: Children) -> drafts.EventVariable:
        """AS or AT of DEFINE GPM."""
        return drafts.EventVariable(*map(_word, children))

    def after(self, children: Children) -> drafts.Clause:
        """AFTER MATCH."""
        *words, last = children[0]
        if last.type == "NAME":
            return drafts.AfterClause(Skip(" ".join(words).upper()), _word(last))
        return drafts.AfterClause(Skip(" ".join(children[0]).upper()), None)

    def skip(self, children: Children) -> Children:
        """The words of the strategy of AFTER MATCH."""
        return children

    # --- the sequence ---

    def seq(self, children: Children) -> drafts.Clause:
        """The whole of SEQ( )."""
        return drafts.SequenceClause(self.member_sequence(children))

    def sequence(self, children: Children) -> Sequence[str]:
        """Items and the operators between them."""
        items = [child for child in children if not isinstance(child, Token | Limit)]
        operators = [child for child in children if isinstance(child, Token)]
        contiguities = tuple(Contiguity(str(operator)) for operator in operators)
        limits = tuple(
            limit if isinstance(limit, Limit) else None
            for operator, limit in pairwise(children)
            if isinstance(operator, Token)
        )
        spans = tuple(map(_span, operators))
        return flattened(Sequence(tuple(items), contiguities, limits=limits, span=_all(items), operator_spans=spans))

    def limit_of(self, children: Children) -> Limit:
        """WITHIN after an operator or a step."""
        keyword, number, unit = children
        digits = str(number).removeprefix("+")
        size = UNREADABLE
        if digits.isascii() and digits.isdecimal():
            count = int(digits.lstrip("0")[:_DIGITS_MAX] or "0")
            size = count * Unit[str(unit).upper().removesuffix("S")].value
        return Limit(size, span=_around(keyword, unit), number=_span(number))

    def limited(self, children: Children) -> Expr:
        """A step and its limit."""
        inner, limit = children
        match inner:
            case nodes.Negation():
                return replace(inner, limit=limit)
            case nodes.Optional(nodes.Repetition() as repeated) if repeated.span == inner.span:
                return replace(inner, inner=nodes.Limited(repeated, limit, span=limit.span))
        return nodes.Limited(inner, limit, span=limit.span)

    def operator(self, children: Children) -> Token:
        """The operator, quantifier or unit as written."""
        token: Token = children[0]
        return token

    quantifier = unit = time_unit = operator

    def choice(self, children: Children) -> Expr:
        """Branches of `|`."""
        return nodes.Choice(tuple(children), span=_all(children))

    def conjunction(self, children: Children) -> Expr:
        """Members of `&`."""
        return nodes.Conjunction(tuple(children), span=_all(children))

    def quantified(self, children: Children) -> Expr:
        """A step and its quantifier."""
        inner, quantifier = children
        span = _span(quantifier)
        match str(quantifier):
            case "?":
                return nodes.Optional(inner, span=span)
            case "!":
                return nodes.Negation(inner, span=span)
        return _repeat(inner, str(quantifier), span)

    def name(self, children: Children) -> Expr:
        """A step."""
        return nodes.Step(str(children[0]), span=_span(children[0]))

    def group(self, children: Children) -> Expr:
        """An expression in parentheses, which mean nothing around one step."""
        opening, sequence, closing = children
        span = _around(opening, closing)
        match sequence:
            case Sequence((nodes.Step() as only,)):
                return only
            case Sequence((nodes.Choice() | nodes.Conjunction() | nodes.AnyOrder() as only,)):
                return replace(only, span=span)
        return replace(sequence, span=span)  # type: ignore[no-any-return]

    def any_order(self, children: Children) -> Expr:
        """ALL( )."""
        keyword, _, *members, closing = children
        return nodes.AnyOrder(tuple(members), span=_around(keyword, closing))

    def member_sequence(self, children: Children) -> Sequence[str]:
        """SEQ( ) inside of ALL( )."""
        keyword, _, sequence, closing = children
        return replace(sequence, span=_around(keyword, closing))


def _all(parts: Children) -> Span:
    """The text of several expressions."""
    return Span(extent(parts[0]).start, extent(parts[-1]).end)


def _repeat(inner: Expr, quantifier: str, span: Span) -> Expr:
    """`inner` repeated as written, possessively after a second `+`, and optional if no iteration is needed."""
    contiguity = Contiguity(quantifier[0]) if quantifier[0] in ",;:" else None
    written = quantifier[1:] if contiguity else quantifier
    possessive = len(written) > 1 and written[-1] == "+"
    at_least, at_most = _bounds(written[:-1] if possessive else written)
    least = max(at_least, 1) if at_most != 0 else 0
    repetition = nodes.Repetition(inner, least, at_most, contiguity, possessive, span=span)
    return nodes.Optional(repetition, span=span) if at_least == 0 and at_most != 0 else repetition


def _bounds(written: str) -> tuple[int, int | None]:
    """The least and greatest number of iterations; numbers above REPETITIONS_MAX are REPETITIONS_MAX + 1."""
    if written in {"+", "*"}:
        return int(written == "+"), None
    found = _BOUNDS.fullmatch(written)
    assert found, written
    low, comma, high = found.groups()
    at_least = _bounded(low)
    return at_least, (_bounded(high) if high else None if comma else at_least)


def _bounded(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    return REPETITIONS_MAX + 1 if len(significant) > 10 else min(int(significant), REPETITIONS_MAX + 1)


def _word(token: Token | Word) -> Word:
    return token if isinstance(token, Word) else Word(str(token), _span(token))


def _part(child: Any) -> Any:
    return _word(child) if isinstance(child, Token) else child


def _span(token: Token) -> Span:
    assert token.start_pos is not None and token.end_pos is not None, token
    return Span(token.start_pos, token.end_pos)


def _around(opening: Token, closing: Token) -> Span:
    return Span(_span(opening).start, _span(closing).end)
