"""Clauses → query: resolves names and checks every rule of specification 2 about more than one clause."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from arrays.wanted import check_wanted
from automata.plan.expression import Step
from automata.plan.program import Selector, Skip, Window
from sparql_gpm.pattern import TRUE, Constant
from sparql_gpm.syntax.tokens import Token
from spaseq.lang import ast, drafts
from spaseq.lang.bounds import check_conditions, within_steps, within_variables
from spaseq.lang.codes import Code
from spaseq.lang.embedded import Embedded, Gpm, Uses, UsingGroup, group_uses
from spaseq.lang.iris import Namespace
from spaseq.lang.limits import check_limits
from spaseq.lang.lint import lint
from spaseq.lang.numbers import read_count, read_window
from spaseq.lang.report import Report
from spaseq.lang.scopes import Scopes, occurrences
from spaseq.lang.structure import check_structure
from spaseq.lang.trees import Trees

_Kind = TypeVar("_Kind")
_Columns = Sequence[tuple[ast.Projection, Uses]]
_Template = tuple[tuple[ast.TemplateTriple, ...], Uses]


@dataclass(frozen=True, slots=True)
class _Beside:
    """The FILTERs and BINDs beside the DEFINEs, with what they use."""

    filters: Sequence[tuple[ast.TopLevelFilter, Uses]]
    binds: _Columns


class Resolver:
    """The clauses of one query; clauses with errors are reported and left out."""

    def __init__(self, clauses: Sequence[drafts.Clause], text: str, report: Report) -> None:
        self._clauses = clauses
        self._text = text
        self._report = report
        self._namespace = Namespace(report)
        self._namespace.declare(clauses)
        form = self._first(drafts.FormClause)
        self._over = form.over if form else None
        self._embedded = Embedded(self._namespace, report, self._over is not None)

    def query(self, name: str) -> ast.Query | None:
        """The query, or None when there is any error."""
        form = self._first(drafts.FormClause)
        register = self._register(form)
        columns = self._columns(form)
        template = self._embedded.template(form.template) if form and form.template else None
        window = self._window()
        streams = tuple(self._streams())
        knowledge = dict.fromkeys(self._namespace.expand(clause.iri) for clause in self._all(drafts.KnowledgeClause))
        using = self._using()
        gpms = self._gpms()
        beside = self._beside()
        having = self._having()
        self._check_over()
        sequence = self._sequence(gpms, columns or (), template, beside, using)
        after, limit = self._first(drafts.AfterClause), self._limit()
        if self._report.failed:
            return None
        assert form and window and sequence, (form, window, sequence)
        query = ast.Query(
            name=name,
            text=self._text,
            selector=Selector(form.selector.text.upper()) if form.selector else Selector.ALL,
            distinct=form.distinct,
            columns=None if columns is None else tuple(projection for projection, _ in columns),
            template=None if template is None else template[0],
            register=register,
            window=window,
            partition=tuple(dict.fromkeys(word.text[1:] for word in self._partition())),
            using=using.using if using else None,
            streams=streams,
            knowledge=tuple(knowledge),
            sequence=sequence,
            defines=tuple(gpm.define for gpm in gpms.values() if gpm),
            filters=tuple(condition for condition, _ in beside.filters),
            binds=tuple(bind for bind, _ in beside.binds),
            over_matches=self._over is not None,
            group=tuple(dict.fromkeys(word.text[1:] for word in self._group())),
            having=having,
            skip=after.skip if after else Skip.NO_SKIP,
            skip_to=after.to.text if after and after.to else None,
            limit=limit,
            prefixes=tuple(self._namespace.prefixes.items()),
            base=self._namespace.base,
            warnings=(),
        )
        lint(query, form.selector, self._trees(form), self._report)
        return replace(query, warnings=self._report.problems())

    def _trees(self, form: drafts.FormClause) -> Trees:
        """The trees of a query without errors."""
        bodies = {clause.name.text: clause.body.tree for clause in self._all(drafts.DefineClause)}
        conditions = [clause.constraint.tree for clause in self._all(drafts.FilterClause)]
        having, partition = self._all(drafts.HavingClause), self._all(drafts.PartitionClause)
        pieces = [column.expression for column in form.columns or ()]
        pieces += [clause.expression for clause in self._all(drafts.BindClause)]
        pieces += [*(clause.constraint for clause in having), *(clause.using for clause in partition)]
        return Trees(bodies, conditions, [piece.tree for piece in pieces if piece])

    def _register(self, form: drafts.FormClause | None) -> str | None:
        clause = self._first(drafts.RegisterClause)
        if clause is None:
            return None
        if form and not form.template:
            hint = "only CONSTRUCT makes graphs that can be events of a stream"
            message = "REGISTER STREAM needs CONSTRUCT"
            self._report.add(Code.REGISTER_WITHOUT_CONSTRUCT, clause.keyword.span, message, hint)
        return self._namespace.expand(clause.iri)

    def _columns(self, form: drafts.FormClause | None) -> _Columns | None:
        """SELECT's columns, None for `*`; CONSTRUCT has none."""
        if form is None:
            return ()
        if form.columns is None:
            return None
        return [column for column in map(self._embedded.column, form.columns) if column]

    def _beside(self) -> _Beside:
        constraints = [self._embedded.constraint(clause.constraint) for clause in self._all(drafts.FilterClause)]
        drafted = [drafts.ColumnDraft(clause.variable, clause.expression) for clause in self._all(drafts.BindClause)]
        return _Beside([each for each in constraints if each], [b for b in map(self._embedded.bind, drafted) if b])

    def _having(self) -> ast.TopLevelFilter | None:
        clause = self._first(drafts.HavingClause)
        return self._embedded.having(clause.constraint) if clause else None

    def _check_over(self) -> None:
        """Reports what needs OVER MATCHES, and what does not go with it."""
        within, form = self._first(drafts.WithinClause), self._first(drafts.FormClause)
        if self._over is None:
            group, having = self._first(drafts.GroupClause), self._first(drafts.HavingClause)
            words = [("GROUP BY", group and group.keyword), ("HAVING", having and having.keyword)]
            if within and isinstance(within.mode, drafts.EveryDraft):
                words.append(("EVERY", within.mode.keyword))
            hint = "write SELECT OVER MATCHES, which reports a row for each group of matches, or leave it out"
            for name, word in words:
                if word:
                    self._report.add(Code.GROUPS_WITHOUT_OVER, word.span, f"{name} needs OVER MATCHES", hint)
            return
        if form and form.star:
            message = "OVER MATCHES has no '*': a group of matches has no variables of its own"
            hint = "name the variables of GROUP BY, and aggregates: ?k (COUNT(*) AS ?n)"
            self._report.add(Code.UNGROUPED, form.star.span, message, hint)
        in_events = within is not None and within.unit.text.upper().startswith("EVENT")
        sliding = within is not None and isinstance(within.mode, drafts.Word) and within.mode.text.upper() == "SLIDING"
        if in_events and not sliding and self._partition():
            message = "OVER MATCHES groups matches of all partitions, and each partition counts its events by itself"
            hint = "use a window of time, or GROUP BY instead of PARTITION BY"
            self._report.add(Code.PARTITIONED_EVENTS, self._over.span, message, hint)

    def _window(self) -> Window | None:
        clause = self._first(drafts.WithinClause)
        return read_window(clause, self._namespace, self._report) if clause else None

    def _streams(self) -> Iterator[ast.Stream]:
        names: set[str] = set()
        iris: set[str] = set()
        for clause in self._all(drafts.StreamClause):
            name, word = clause.name, clause.iri
            iri = self._namespace.expand(word)
            if name.text in names:
                message = f"stream '{name.text}' is declared twice"
                self._report.add(Code.DUPLICATE_STREAM, name.span, message, "give each stream its own Name")
            if iri in iris:
                hint = "let both GPMs read the one stream: DEFINE GPM B ON the same Name"
                self._report.add(Code.DUPLICATE_STREAM, word.span, f"stream {word.text} is declared twice", hint)
            names.add(name.text)
            iris.add(iri)
            yield ast.Stream(name.text, iri)

    def _gpms(self) -> dict[str, Gpm | None]:
        """The definitions by Name; None for one whose body could not be read."""
        streams = {clause.name.text for clause in self._all(drafts.StreamClause)}
        known = streams | self._unread()
        gpms: dict[str, Gpm | None] = {}
        for clause in self._all(drafts.DefineClause):
            check_wanted()
            for stream in clause.streams:
                if streams and stream.text not in known:
                    hint = self._report.choices_hint(stream.text, streams, "declared here: {}")
                    message = f"no stream '{stream.text}' is declared"
                    self._report.add(Code.UNDECLARED_STREAM, stream.span, message, hint)
            gpm = self._embedded.gpm(clause)
            name = clause.name.text
            if name in gpms:
                message = f"GPM '{name}' is defined twice"
                self._report.add(Code.DUPLICATE_GPM, clause.name.span, message, "give each GPM its own Name")
            gpms.setdefault(name, gpm)
        return gpms

    def _sequence(
        self,
        gpms: dict[str, Gpm | None],
        columns: _Columns,
        template: _Template | None,
        beside: _Beside,
        using: UsingGroup | None,
    ) -> ast.Expr | None:
        """SEQ( ), after all checks that depend on it."""
        clause = self._first(drafts.SequenceClause)
        if clause is None:
            return None
        sequence = clause.sequence
        found = tuple(occurrences(sequence))
        if not within_steps(found, self._report):
            return None
        check_structure(sequence, self._text, self._report)
        check_limits(sequence, self._report)
        if not within_variables(found, {name: gpm.binds for name, gpm in gpms.items() if gpm}, self._report):
            return None
        self._check_names([occurrence.step for occurrence in found], gpms)
        given = self._given()
        scopes = Scopes(found, gpms, self._report, given)
        if using is not None:
            scopes.check_using(using, self._partition())
        elif not given:
            scopes.check_partition(self._partition())
        check_conditions([bind for bind, _ in beside.binds], (each for each, _ in beside.filters), self._report)
        scopes.check_binds(beside.binds)
        for _, used in beside.filters:
            scopes.check_outside(used, "a FILTER beside the DEFINEs")
        if self._over is not None:
            self._check_groups(scopes)
        else:
            scopes.check_columns(columns)
            if template is not None:
                scopes.check_outside(template[1], "a template")
        scopes.check_conditions()
        self._check_skip({occurrence.step.symbol for occurrence in found if not occurrence.negations})
        return sequence

    def _check_groups(self, scopes: Scopes) -> None:
        """Checks SELECT or the template, GROUP BY and HAVING under OVER MATCHES."""
        form, having = self._first(drafts.FormClause), self._first(drafts.HavingClause)
        constant = [word.text[1:] for word in self._partition()]
        keys = [word.text[1:] for word in self._group()]
        scopes.check_group_by(self._group())
        aliases: list[str] = []
        for draft in (form and form.columns) or ():
            name, expression = draft.variable.text[1:], draft.expression
            computed = None if expression is None else Constant(TRUE)
            scopes.check_target(ast.Projection(name, computed, draft.variable.span), aliases)
            if expression is not None and name in keys:
                message = f"?{name} is in GROUP BY and has a value"
                self._report.add(Code.ALREADY_BOUND, draft.variable.span, message, "choose a new variable after AS")
            aliases.append(name)
            tree = _token(draft.variable) if expression is None else expression.tree
            scopes.check_grouped(group_uses(tree), "SELECT", keys, constant)
        if form and form.template:
            scopes.check_grouped(group_uses(form.template.tree), "a template", keys, constant)
        if having:
            scopes.check_grouped(group_uses(having.constraint.tree), "HAVING", (*keys, *aliases), constant)

    def _check_skip(self, positive: Collection[str]) -> None:
        """Reports SKIP TO of a Name that no step takes."""
        after = self._first(drafts.AfterClause)
        if after and after.to and after.to.text not in positive:
            hint = self._report.choices_hint(after.to.text, positive, "steps that take events: {}")
            message = f"no step of SEQ( ) takes events as '{after.to.text}'"
            self._report.add(Code.SKIP_TO, after.to.span, message, hint)

    def _check_names(self, steps: Sequence[Step[str]], gpms: Collection[str]) -> None:
        """Reports steps without a DEFINE, and DEFINEs without a step."""
        unread = self._unread()
        for step in steps:
            name = step.symbol
            if name not in gpms and name not in unread:
                hint = self._report.choices_hint(name, gpms, "defined here: {}")
                self._report.add(Code.UNDEFINED_NAME, step.span, f"no DEFINE for pattern '{name}'", hint)
        used = {step.symbol for step in steps}
        for clause in self._all(drafts.DefineClause):
            if clause.name.text not in used:
                message = f"GPM '{clause.name.text}' is never used in SEQ( )"
                hint = "give it its place in SEQ( ), or leave it out"
                self._report.add(Code.UNUSED_GPM, clause.name.span, message, hint)

    def _unread(self) -> frozenset[str]:
        """The Names in clauses with a syntax error."""
        return frozenset().union(*(clause.names for clause in self._all(drafts.UnreadClause)))

    def _partition(self) -> list[drafts.Word]:
        return [word for clause in self._all(drafts.PartitionClause) for word in clause.variables]

    def _using(self) -> UsingGroup | None:
        """The pattern of USING; None without one, and for one that could not be read."""
        clause = self._first(drafts.PartitionClause)
        return self._embedded.using(clause.using) if clause and clause.using else None

    def _given(self) -> frozenset[str]:
        """The variables of PARTITION BY that USING binds before the first step."""
        clause = self._first(drafts.PartitionClause)
        return frozenset(word.text[1:] for word in clause.variables) if clause and clause.using else frozenset()

    def _group(self) -> list[drafts.Word]:
        return [word for clause in self._all(drafts.GroupClause) for word in clause.variables]

    def _limit(self) -> int | None:
        clause = self._first(drafts.LimitClause)
        return read_count(clause.count, "LIMIT", self._report) if clause else None

    def _all(self, kind: type[_Kind]) -> list[_Kind]:
        return [clause for clause in self._clauses if isinstance(clause, kind)]

    def _first(self, kind: type[_Kind]) -> _Kind | None:
        return next(iter(self._all(kind)), None)


def _token(variable: drafts.Word) -> Token:
    return Token("variable", variable.text, variable.span.start, variable.span.end)
