"""The parser's actions: they make clauses and sequence expressions from the rules of grammar.lark."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from lark import Transformer

from automata.plan import expression as nodes
from automata.plan.expression import UNREADABLE, Limit, Sequence, Span, extent, flattened
from automata.plan.program import Skip
from spaseq.lang import drafts
from spaseq.lang.ast import Expr, Unit
from spaseq.lang.drafts import Word
from spaseq.lang.lexemes import Lexeme
from spaseq.lang.signs import CONTIGUITIES

REPETITIONS_MAX = 2**31 - 1
"""The largest number a quantifier may hold."""
_DIGITS_MAX = 20
"""So many significant digits of a limit tell that it is too large."""

_BOUNDS = re.compile(r"\{\s*([0-9]+)\s*(,)?\s*([0-9]+)?\s*\}")
Children = list[Any]
"""The results of the parts of a rule."""


_CLAUSES: dict[str, Callable[..., Any]] = {
    "base_clause": partial(drafts.Declaration, None), "prefix_clause": drafts.Declaration,
    "register_clause": drafts.RegisterClause, "within_clause": drafts.WithinClause, "stream": drafts.StreamClause,
    "knowledge": drafts.KnowledgeClause, "filter_clause": drafts.FilterClause, "bind_clause": drafts.BindClause,
    "limit_clause": drafts.LimitClause, "having_clause": drafts.HavingClause, "every": drafts.EveryDraft,
    **dict.fromkeys(("version_clause", "where_clause", "lbrace_clause", "rbrace_clause"), drafts.UnreadClause),
}  # fmt: skip
"""For each rule that has no method in `Build` the clause that its parts make up, in order."""


class Build(Transformer[Lexeme, Any]):
    """The other rules of grammar.lark, a method each; none can fail."""

    def __default__(self, data: str, children: Children, meta: Any) -> Any:
        clause = _CLAUSES.get(data)
        return super().__default__(data, children, meta) if clause is None else clause(*map(_part, children))  # type: ignore[no-untyped-call]

    def group_piece(self, children: Children) -> drafts.Piece:
        """A piece of SPARQL, whose tree is between the brackets of a condition."""
        lexeme, *trees = children
        tree = trees[len(trees) // 2]
        return drafts.Piece(lexeme.span, lexeme.tokens, None if getattr(tree, "type", "") == "FAULTY" else tree)

    template_piece = expression_piece = constraint_piece = group_piece

    def select_clause(self, children: Children) -> drafts.Clause:
        """SELECT."""
        selector, over, distinct, *columns = children
        if isinstance(columns[0], Lexeme):
            return drafts.FormClause(selector, over, distinct is not None, None, star=_word(columns[0]))
        return drafts.FormClause(selector, over, distinct is not None, tuple(columns))

    def projected(self, children: Children) -> drafts.ColumnDraft:
        """A projected variable or expression."""
        *expression, variable = children
        return drafts.ColumnDraft(_word(variable), expression[0] if expression else None)

    def construct_clause(self, children: Children) -> drafts.Clause:
        """CONSTRUCT."""
        selector, over, _, template = children
        return drafts.FormClause(selector, over, False, (), template)

    def over(self, children: Children) -> Word:
        """The first word of OVER MATCHES."""
        return _word(children[0])

    def group_clause(self, children: Children) -> drafts.Clause:
        """GROUP BY."""
        return drafts.GroupClause(_word(children[0]), tuple(map(_word, children[1:])))

    def selector(self, children: Children) -> Word:
        """One of CEL's strategies."""
        return _word(children[0])

    def starting(self, children: Children) -> drafts.StartingDraft:
        """STARTING AT."""
        keyword, value, *datatype = children
        return drafts.StartingDraft(_word(keyword), _word(value), _word(datatype[0]) if any(datatype) else None)

    def partition_clause(self, children: Children) -> drafts.Clause:
        """PARTITION BY."""
        *variables, _, body = children
        return drafts.PartitionClause(tuple(map(_word, variables)), body)

    def define_clause(self, children: Children) -> drafts.Clause:
        """DEFINE GPM."""
        name, *between, _, body = children
        event = tuple(part for part in between if isinstance(part, drafts.EventVariable))
        streams = tuple(_word(part) for part in between if isinstance(part, Lexeme))
        return drafts.DefineClause(_word(name), streams, event, body)

    def event_variable(self, children: Children) -> drafts.EventVariable:
        """AS or AT of DEFINE GPM."""
        return drafts.EventVariable(*map(_word, children))

    def after_clause(self, children: Children) -> drafts.Clause:
        """AFTER MATCH."""
        *words, last = children[0]
        if last.kind == "NAME":
            return drafts.AfterClause(Skip(" ".join(word.text for word in words).upper()), _word(last))
        return drafts.AfterClause(Skip(" ".join(word.text for word in children[0]).upper()), None)

    def skip(self, children: Children) -> Children:
        """The words of the strategy of AFTER MATCH."""
        return children

    # --- the sequence ---

    def seq_clause(self, children: Children) -> drafts.Clause:
        """The whole of SEQ( )."""
        return drafts.SequenceClause(self.member_sequence(children))

    def sequence(self, children: Children) -> Sequence[str]:
        """Items and the operators between them."""
        items = [child for child in children if not isinstance(child, Lexeme | Limit)]
        operators = [child for child in children if isinstance(child, Lexeme)]
        contiguities = tuple(CONTIGUITIES[operator.text] for operator in operators)
        limits = tuple(
            limit if isinstance(limit, Limit) else None
            for operator, limit in pairwise(children)
            if isinstance(operator, Lexeme)
        )
        spans = tuple(operator.span for operator in operators)
        return flattened(Sequence(tuple(items), contiguities, limits=limits, span=_all(items), operator_spans=spans))

    def limit_of(self, children: Children) -> Limit:
        """WITHIN after an operator or a step."""
        keyword, number, unit = children
        digits = number.text.removeprefix("+")
        size = UNREADABLE
        if digits.isascii() and digits.isdecimal():
            count = int(digits.lstrip("0")[:_DIGITS_MAX] or "0")
            size = count * Unit[unit.text.upper().removesuffix("S")].value
        return Limit(size, span=_around(keyword, unit), number=number.span)

    def limited(self, children: Children) -> Expr:
        """A step and its limit."""
        inner, limit = children
        match inner:
            case nodes.Negation():
                return replace(inner, limit=limit)
            case nodes.Optional(nodes.Repetition() as repeated) if repeated.span == inner.span:
                return replace(inner, inner=nodes.Limited(repeated, limit, span=limit.span))
        return nodes.Limited(inner, limit, span=limit.span)

    def operator(self, children: Children) -> Lexeme:
        """The operator, quantifier or unit as written."""
        lexeme: Lexeme = children[0]
        return lexeme

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
        span = quantifier.span
        match quantifier.text:
            case "?":
                return nodes.Optional(inner, span=span)
            case "!":
                return nodes.Negation(inner, span=span)
        return _repeat(inner, quantifier.text, span)

    def name(self, children: Children) -> Expr:
        """A step."""
        return nodes.Step(children[0].text, span=children[0].span)

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
    contiguity = CONTIGUITIES.get(quantifier[0])
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


def _word(part: Lexeme | Word) -> Word:
    return part if isinstance(part, Word) else Word(part.text, part.span)


def _part(child: Any) -> Any:
    return _word(child) if isinstance(child, Lexeme) else child


def _around(opening: Lexeme, closing: Lexeme) -> Span:
    return Span(opening.span.start, closing.span.end)
