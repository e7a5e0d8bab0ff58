"""The SPARQL inside a query: GPM bodies, templates and projected expressions, with the places of what they use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from automata.plan.expression import Span
from sparql_gpm.algebra.rewrite import filtered
from sparql_gpm.algebra.scope import expression_variables, in_scope
from sparql_gpm.algebra.traversal import walk
from sparql_gpm.errors import PatternSyntaxError
from sparql_gpm.parse import read_expression, read_group, read_template
from sparql_gpm.pattern import TRUE, Constant, EventData, Expression
from sparql_gpm.syntax.names import Names
from sparql_gpm.syntax.tokens import Token, Tree
from spaseq.lang.ast import Define, Projection, TemplateTriple, TopLevelFilter, Using
from spaseq.lang.codes import Code
from spaseq.lang.drafts import ColumnDraft, DefineClause, Piece, Word
from spaseq.lang.faults import report_fault
from spaseq.lang.iris import Namespace
from spaseq.lang.report import Report
from spaseq.lang.trees import divided, is_a, nodes, variables, word

_Parsed = TypeVar("_Parsed")
_Reader = Callable[[Sequence[Token], Tree, Names], _Parsed]


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate, PREV, FIRST or LAST: its keyword, its variable if that is all it holds; `every`: it is over `*`."""

    keyword: Word
    variable: str | None
    distinct: bool = False
    every: bool = False


@dataclass(frozen=True, slots=True)
class Uses:
    """The first places of variables, aggregates and iterations outside subqueries (their variables too), and EXISTS."""

    variables: tuple[Word, ...]
    folds: tuple[Fold, ...]
    exists: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class GroupUses:
    """The uses in a piece under OVER MATCHES: outside of its outermost aggregates, those themselves, inside of them."""

    outside: Uses
    aggregates: tuple[Fold, ...]
    inside: Uses


@dataclass(frozen=True, slots=True)
class Gpm:
    """A parsed GPM.

    binds       the variables in scope in it
    uses        what its top-level FILTERs use from outside
    outer       the variables of `uses` that are not inside EXISTS
    unbound     variables outside of its top-level FILTERs and of EXISTS that nothing in it binds
    in_binds    those of them that stand in a BIND
    """

    define: Define
    binds: frozenset[str]
    uses: Uses
    outer: tuple[Word, ...]
    unbound: tuple[Word, ...]
    in_binds: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class UsingGroup:
    """A parsed USING.

    binds       the variables in scope in it
    folds       the aggregates, PREV, FIRST and LAST in its top-level FILTERs
    unbound     the variables outside of EXISTS that nothing in it binds
    """

    using: Using
    binds: frozenset[str]
    folds: tuple[Fold, ...]
    unbound: tuple[Word, ...]


class Embedded:
    """Parses the pieces of SPARQL in one query and reports their errors at their place in it.

    over_matches    the aggregates of SELECT, HAVING and the template range over matches
    """

    def __init__(self, namespace: Namespace, report: Report, over_matches: bool = False) -> None:
        self._namespace = namespace
        self._report = report
        self._nested = partial(read_expression, nested=over_matches)
        self._template = partial(read_template, nested=over_matches)

    def gpm(self, clause: DefineClause) -> Gpm | None:
        """A DEFINE, or None after reporting the errors of its body."""
        event = self._event_data(clause)
        parsed = self._read(clause.body, partial(read_group, first=event) if event.variables else read_group)
        if parsed is None:
            return None
        filters = tuple(TopLevelFilter(found.expression, Span(found.start, found.end)) for found in parsed.filters)
        streams = tuple(dict.fromkeys(stream.text for stream in clause.streams))
        define = Define(clause.name.text, streams, event, parsed.pattern, filters, clause.body.span)
        binds = in_scope(parsed.pattern)
        inside, rest = divided(clause.body.tree)
        needed = frozenset().union(*(expression_variables(found.expression) for found in filters)) - binds
        found = uses(inside)
        from_outside = Uses(_named(found.variables, needed), found.folds, found.exists)
        outer = _named(variables(nodes(inside, "exists")), needed)
        known = frozenset().union(*map(in_scope, walk(parsed.pattern)))
        unbound = tuple(word for word in variables(nodes(rest, "exists")) if word.text[1:] not in known)
        in_binds = [each for each in nodes(rest, "exists") if is_a(each, "bind")]
        names = frozenset(word.text[1:] for word in unbound)
        return Gpm(define, binds, from_outside, outer, unbound, _named(variables(nodes(in_binds, "exists")), names))

    def _event_data(self, clause: DefineClause) -> EventData:
        """The variables of AS and AT; what is written twice is reported."""
        found: dict[str, str] = {}
        for keyword, variable in ((each.keyword, each.variable) for each in clause.event):
            kind, name = keyword.text.upper(), variable.text[1:]
            if kind in found:
                self._report.add(Code.EVENT_VARIABLES, keyword.span, f"{kind} is given twice", "keep one")
            elif name in found.values():
                hint = "AS names the graph of the event, AT its time: choose two variables"
                message = f"?{name} cannot be the event's graph and its time"
                self._report.add(Code.EVENT_VARIABLES, variable.span, message, hint)
            found.setdefault(kind, name)
        return EventData(found.get("AS"), found.get("AT"))

    def using(self, body: Piece) -> UsingGroup | None:
        """The pattern of USING, or None after reporting its errors."""
        parsed = self._read(body, read_group)
        if parsed is None:
            return None
        pattern = filtered([found.expression for found in parsed.filters], parsed.pattern)
        inside, _ = divided(body.tree)
        known = frozenset().union(*map(in_scope, walk(parsed.pattern)))
        seen = variables(nodes([body.tree], "exists"))
        unbound = tuple(word for word in seen if word.text[1:] not in known)
        return UsingGroup(Using(pattern, body.span), in_scope(pattern), uses(inside).folds, unbound)

    def column(self, draft: ColumnDraft) -> tuple[Projection, Uses] | None:
        """A column of SELECT and what it uses, or None after reporting."""
        return self._column(draft, self._nested)

    def bind(self, draft: ColumnDraft) -> tuple[Projection, Uses] | None:
        """A BIND beside the DEFINEs and what it uses, or None after reporting."""
        return self._column(draft, read_expression)

    def _column(self, draft: ColumnDraft, reader: _Reader[Expression]) -> tuple[Projection, Uses] | None:
        name, span = draft.variable.text[1:], draft.variable.span
        if draft.expression is None:
            return Projection(name, None, span), Uses((draft.variable,), (), ())
        expression = self._read(draft.expression, reader)
        return None if expression is None else (Projection(name, expression, span), uses([draft.expression.tree]))

    def constraint(self, constraint: Piece) -> tuple[TopLevelFilter, Uses] | None:
        """The condition of a FILTER beside the DEFINEs and what it uses, or None after reporting; without EXISTS."""
        return self._constraint(constraint, read_expression)

    def having(self, constraint: Piece) -> TopLevelFilter | None:
        """The condition of HAVING, or None after reporting; without EXISTS."""
        found = self._constraint(constraint, self._nested)
        return None if found is None else found[0]

    def _constraint(self, constraint: Piece, reader: _Reader[Expression]) -> tuple[TopLevelFilter, Uses] | None:
        found = uses([constraint.tree])
        expression = None if found.exists else self._read(constraint, reader)
        if found.exists:
            return TopLevelFilter(Constant(TRUE), constraint.span), found
        return None if expression is None else (TopLevelFilter(expression, constraint.span), found)

    def template(self, template: Piece) -> tuple[tuple[TemplateTriple, ...], Uses] | None:
        """The triples of CONSTRUCT and what they use, or None after reporting; no triples if it has EXISTS."""
        found = uses([template.tree])
        if found.exists:
            return (), found
        triples = self._read(template, self._template)
        if triples is None:
            return None
        return tuple(TemplateTriple(triple, value) for triple, value in triples), found

    def _read(self, piece: Piece, reader: _Reader[_Parsed]) -> _Parsed | None:
        """The meaning of a piece; None for one with an error, which is reported."""
        for token in piece.tokens:
            if token.kind == "pname":
                self._namespace.check(word(token))
        if piece.tree is None:
            return None
        try:
            return reader(piece.tokens, piece.tree, Names(self._namespace.with_undeclared(), self._namespace.base))
        except PatternSyntaxError as error:
            report_fault(error, piece, self._report)
            return None


def uses(trees: Iterable[Tree]) -> Uses:
    """The variables, aggregates, iterations and EXISTS in trees of SPARQL."""
    found = list(nodes(trees))
    folds = (each for each in nodes(trees, "exists") if is_a(each, "aggregate", "iteration"))
    exists = tuple(word(each) for each in found if isinstance(each, Token) and each.is_word("EXISTS"))
    return Uses(variables(found), tuple(map(_fold, folds)), exists)


def group_uses(tree: Tree) -> GroupUses:
    """The uses of a column, of a template or of the condition of HAVING under OVER MATCHES."""
    outside = list(nodes([tree], "aggregate"))
    aggregates = [each for each in outside if is_a(each, "aggregate")]
    inside = uses([part for each in aggregates for part in each.children])
    apart = [each for each in outside if isinstance(each, Token) or is_a(each, "iteration")]
    return GroupUses(uses(apart), tuple(map(_fold, aggregates)), inside)


def _named(words: Iterable[Word], names: frozenset[str]) -> tuple[Word, ...]:
    return tuple(word for word in words if word.text[1:] in names)


def _fold(tree: Tree) -> Fold:
    """An aggregate or iteration value."""
    keyword, *arguments, _ = tree.children
    distinct = isinstance(arguments[0], Token) and arguments[0].type == "DISTINCT"
    argument = arguments[distinct]
    alone = isinstance(argument, Token)
    variable = argument.text[1:] if alone and argument.type == "VAR" else None
    return Fold(word(keyword), variable, distinct, alone and argument.type == "STAR")
