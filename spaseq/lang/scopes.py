"""The variables that each step binds, and the checks of every use of a variable (specification 2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from automata.plan.expression import Negation, Repetition, Span, Step, steps
from spaseq.lang.ast import Expr, Projection
from spaseq.lang.codes import Code
from spaseq.lang.drafts import Word
from spaseq.lang.embedded import Fold, Gpm, GroupUses, Uses, UsingGroup
from spaseq.lang.report import Report, listed

_NEW_VARIABLE = "choose a new variable after AS"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A step in SEQ, with the spans of the `!`s around it.

    repeated    a repetition is around it
    iterates    one that may have several iterations
    """

    step: Step[str]
    negations: frozenset[Span]
    repeated: bool
    iterates: bool


def occurrences(expression: Expr) -> Iterator[Occurrence]:
    """Every step of a sequence, in the order of the text."""
    for step, around in steps(expression):
        negations = frozenset(node.span for node in around if isinstance(node, Negation))
        loops = [node for node in around if isinstance(node, Repetition)]
        yield Occurrence(step, negations, bool(loops), any(node.at_most != 1 for node in loops))


class Scopes:
    """The steps that bind each variable; a GPM with errors is None, and its variables are unknown.

    given   the variables of PARTITION BY that USING binds before the first step
    """

    def __init__(
        self,
        found: Sequence[Occurrence],
        gpms: Mapping[str, Gpm | None],
        report: Report,
        given: frozenset[str] = frozenset(),
    ) -> None:
        self._given = given
        self._in_using = given
        self._occurrences = found
        self._gpms = gpms
        self._report = report
        self._all_known = all(gpms.get(occurrence.step.symbol) for occurrence in found)
        self._computed: set[str] = set()
        self._binders: dict[str, list[Occurrence]] = {}
        for occurrence in found:
            for variable in self._binds(occurrence):
                self._binders.setdefault(variable, []).append(occurrence)

    def check_binds(self, binds: Sequence[tuple[Projection, Uses]]) -> None:
        """Checks the BINDs beside the DEFINEs, whose variables may be used from then on."""
        for bind, used in binds:
            if bind.variable in self._computed:
                message = f"BIND to ?{bind.variable}, which an earlier BIND binds"
                self._report.add(Code.ALREADY_BOUND, bind.span, message, _NEW_VARIABLE)
            elif bind.variable in self._binders:
                steps = listed(binder.step.symbol for binder in self._binders[bind.variable])
                message = f"BIND to ?{bind.variable}, which step {steps} binds"
                self._report.add(Code.ALREADY_BOUND, bind.span, message, _NEW_VARIABLE)
            elif bind.variable in self._in_using:
                message = f"BIND to ?{bind.variable}, a variable of USING"
                self._report.add(Code.ALREADY_BOUND, bind.span, message, _NEW_VARIABLE)
            self.check_outside(used, "a BIND beside the DEFINEs")
            self._computed.add(bind.variable)

    def check_columns(self, columns: Sequence[tuple[Projection, Uses]]) -> None:
        """Checks the columns of SELECT."""
        seen: set[str] = set()
        for projection, used in columns:
            self.check_target(projection, seen)
            seen.add(projection.variable)
            self.check_outside(used, "SELECT", seen if projection.expression else frozenset())

    def check_group_by(self, keys: Iterable[Word]) -> None:
        """Checks the variables of GROUP BY."""
        for word in keys:
            self.check_outside(Uses((word,), (), ()), "GROUP BY")

    def check_grouped(self, used: GroupUses, where: str, known: Collection[str], constant: Collection[str]) -> None:
        """Checks a piece under OVER MATCHES.

        known       the variables of GROUP BY, and those of SELECT for HAVING
        constant    the variables of PARTITION BY, which are the same in every iteration
        """
        outside = used.outside
        self.check_outside(Uses((), (), outside.exists), where)
        for word in _before_exists(outside):
            if word.text[1:] not in known and not self._check_negated(word, frozenset()):
                message = f"{word.text} is neither in GROUP BY nor inside an aggregate: matches of a group may differ"
                hint = f"add {word.text} to GROUP BY, or choose a value: MIN({word.text}), SAMPLE({word.text})"
                self._report.add(Code.UNGROUPED, word.span, message, hint)
        for fold in outside.folds:
            keyword = fold.keyword.text.upper()
            message = f"under OVER MATCHES {keyword} stands inside an aggregate: it has a value for each match"
            self._report.add(Code.AGGREGATE_PLACE, fold.keyword.span, message, f"write SUM({keyword}(?v)), or MAX")
        self.check_outside(used.inside, where)
        for fold in used.aggregates:
            self._check_aggregate(fold, constant)

    def _check_aggregate(self, fold: Fold, constant: Collection[str]) -> None:
        """Checks an outermost aggregate of OVER MATCHES."""
        keyword, name = fold.keyword.text.upper(), fold.variable
        if fold.every and fold.distinct:
            hint = "matches differ from one another: COUNT(*) counts them, COUNT(DISTINCT ?v) counts values"
            self._report.add(Code.DISTINCT_MATCHES, fold.keyword.span, "COUNT(DISTINCT *) counts nothing else", hint)
        if name is None or keyword == "COUNT" or name in constant:
            return
        binders = [binder for binder in self._binders.get(name, ()) if not binder.negations]
        if binders and all(binder.iterates for binder in binders):
            message = f"{keyword}(?{name}) takes the value of ?{name} at the last iteration of each match"
            inner = keyword if keyword in ("SUM", "MIN", "MAX") else "LAST"
            hint = f"{keyword}({inner}(?{name})) says which value of a match is meant; SUM, MIN, MAX range over all"
            self._report.add(Code.LAST_VALUE, fold.keyword.span, message, hint)

    def check_outside(self, used: Uses, where: str, known: Iterable[str] = ()) -> None:
        """Checks what stands outside of the GPMs; `known` are the columns of SELECT before it."""
        for word in used.exists:
            hint = "move it into a FILTER of a GPM: it needs the graph of an event"
            self._report.add(Code.EXISTS_WITHOUT_EVENT, word.span, f"EXISTS cannot stand in {where}", hint)
        folded = {fold.variable for fold in used.folds}
        for word in _before_exists(used):
            name = word.text[1:]
            bound = name in folded or name in self._computed or name in known or self._binds_elsewhere(word)
            if not self._check_negated(word, frozenset()) and self._all_known and not bound:
                self._warn_unbound(word)
        self._check_folds(used.folds, frozenset())

    def check_conditions(self) -> None:
        """Checks the top-level FILTERs of every GPM in SEQ, and that its other expressions use what it binds."""
        distinct = dict.fromkeys((each.step.symbol, each.negations) for each in self._occurrences)
        for symbol, negations in distinct:
            if (gpm := self._gpms.get(symbol)) is not None:
                for word in gpm.uses.variables:
                    self._check_negated(word, negations)
                self._check_folds(gpm.uses.folds, negations)
        for symbol in dict.fromkeys(symbol for symbol, _ in distinct):
            if (gpm := self._gpms.get(symbol)) is not None:
                self._warn_conditions(gpm)

    def check_partition(self, variables: Iterable[Word]) -> None:
        """Checks that every positive step binds each variable of PARTITION BY."""
        positive = [occurrence for occurrence in self._occurrences if not occurrence.negations]
        known = [occurrence for occurrence in positive if self._gpms.get(occurrence.step.symbol)]
        common = frozenset.intersection(*map(self._binds, known)) if known else frozenset()
        for word in variables:
            lacking = {step.step.symbol for step in known if word.text[1:] not in self._binds(step)}
            if lacking:
                message = f"PARTITION BY {word.text} needs it in every step; it is not in {listed(lacking)}"
                shared = listed(f"?{name}" for name in common)
                hint = f"every step binds {shared}" if common else "no variable is in every step"
                self._report.add(Code.PARTITION_VARIABLE, word.span, message, hint)

    def check_using(self, using: UsingGroup, variables: Iterable[Word]) -> None:
        """Checks the pattern of USING: it binds the variables of PARTITION BY, and has nothing of the steps."""
        self._in_using = using.binds | self._given
        for word in variables:
            if word.text[1:] not in using.binds:
                hint = self._choices(word, using.binds, "USING binds {}")
                message = f"USING cannot bind {word.text}"
                self._report.add(Code.USING_VARIABLE, word.span, message, hint)
        for fold in using.folds:
            keyword = fold.keyword.text.upper()
            message = f"{keyword} in USING, which no repeated step binds anything for"
            hint = "USING is matched against one event by itself: write the condition in a step, or beside the DEFINEs"
            self._report.add(Code.NOT_REPEATED, fold.keyword.span, message, hint)
        folded = {fold.variable for fold in using.folds}
        for word in using.unbound:
            if word.text[1:] not in folded:
                hint = self._choices(word, using.binds, "USING binds {}")
                if word.text[1:] in self._binders:
                    hint = "USING is matched by itself, and does not see what steps bind"
                message = f"nothing in USING binds {word.text}; it stays unbound"
                self._report.add(Code.UNBOUND_IN_GPM, word.span, message, hint)

    def _warn_conditions(self, gpm: Gpm) -> None:
        folded = {fold.variable for fold in gpm.uses.folds}
        for word in gpm.outer:
            if self._all_known and word.text[1:] not in folded and not self._binds_elsewhere(word):
                self._warn_unbound(word)
        beside = {word.text: word for word in gpm.in_binds if self._binds_elsewhere(word)}
        for word in gpm.unbound:
            if word.text in beside:
                message = (
                    f"a BIND in GPM '{gpm.define.name}' does not see {word.text} of another step; it stays unbound"
                )
                hint = "write the BIND beside the DEFINEs, where it sees the variables of all steps"
                self._report.add(Code.BIND_OUT_OF_SCOPE, beside[word.text].span, message, hint)
                continue
            hint = self._choices(word, gpm.binds, "the GPM binds {}")
            if self._binds_elsewhere(word):
                hint = "only FILTERs at the top of a GPM see what other steps bind"
            message = f"nothing in GPM '{gpm.define.name}' binds {word.text}; it stays unbound"
            self._report.add(Code.UNBOUND_IN_GPM, word.span, message, hint)

    def _binds_elsewhere(self, word: Word) -> bool:
        """True if USING or a step binds a variable."""
        return word.text[1:] in self._given or word.text[1:] in self._binders

    def _warn_unbound(self, word: Word) -> None:
        hint = self._choices(word, self._positive(), "the steps bind {}")
        self._report.add(Code.NEVER_BOUND, word.span, f"nothing binds {word.text}; it stays unbound", hint)

    def _positive(self) -> Iterator[str]:
        """The variables that a step which is not under `!` binds, and those of USING."""
        for name, binders in self._binders.items():
            if any(not binder.negations for binder in binders):
                yield name
        yield from self._given

    def _choices(self, word: Word, names: Iterable[str], otherwise: str) -> str:
        return self._report.choices_hint(word.text, (f"?{name}" for name in names), otherwise)

    def check_target(self, projection: Projection, seen: Collection[str]) -> None:
        """Checks the variable of a column of SELECT after those that it has `seen`."""
        name = projection.variable
        if name in seen:
            message = f"?{name} is projected twice"
            self._report.add(Code.PROJECTED_TWICE, projection.span, message, "give one of them another name")
        elif projection.expression is not None and name in self._computed:
            message = f"?{name} is already bound by BIND"
            self._report.add(Code.ALREADY_BOUND, projection.span, message, _NEW_VARIABLE)
        elif projection.expression is not None and name in self._binders:
            steps = listed(binder.step.symbol for binder in self._binders[name])
            message = f"?{name} is already bound by step {steps}"
            self._report.add(Code.ALREADY_BOUND, projection.span, message, _NEW_VARIABLE)
        elif projection.expression is not None and name in self._given:
            message = f"?{name} is already bound by USING"
            self._report.add(Code.ALREADY_BOUND, projection.span, message, _NEW_VARIABLE)

    def _check_negated(self, word: Word, inside: frozenset[Span]) -> bool:
        """Reports a variable that only steps under `!` bind and that is used outside; True if it did."""
        binders = self._binders.get(word.text[1:], [])
        if word.text[1:] in self._given or not binders or any(binder.negations <= inside for binder in binders):
            return False
        steps = listed(binder.step.symbol for binder in binders)
        hint = f"{steps} under '!' stands for events that are absent, and binds nothing outside"
        self._report.add(Code.ONLY_NEGATED, word.span, f"{word.text} is bound only inside '!'", hint)
        return True

    def _check_folds(self, folds: Iterable[Fold], inside: frozenset[Span]) -> None:
        for fold in folds:
            keyword, name = fold.keyword.text.upper(), fold.variable
            if name is None:
                message = f"{keyword} takes a variable of a repeated step and nothing else"
                self._report.add(Code.AGGREGATE_ARGUMENT, fold.keyword.span, message, f"write {keyword}(?v)")
                continue
            binders = self._binders.get(name, [])
            if any(binder.repeated and binder.negations <= inside for binder in binders):
                continue
            only_negated = bool(binders) and not any(binder.negations <= inside for binder in binders)
            if self._all_known and not only_negated:
                message = f"{keyword} over ?{name}, which no repeated step binds"
                self._report.add(Code.NOT_REPEATED, fold.keyword.span, message, self._repeated())

    def _repeated(self) -> str:
        """The hint that names the variables of repeated steps."""
        names = {f"?{name}" for name, binders in self._binders.items() if any(binder.repeated for binder in binders)}
        return f"repeated steps bind {listed(names)}" if names else "no step is repeated: write A+ to repeat A"

    def _binds(self, occurrence: Occurrence) -> frozenset[str]:
        gpm = self._gpms.get(occurrence.step.symbol)
        return gpm.binds if gpm else frozenset()


def _before_exists(used: Uses) -> Iterator[Word]:
    """The variables before the first EXISTS: inside of it they are part of one error, which is reported."""
    end = min((word.span.start for word in used.exists), default=None)
    return (word for word in used.variables if end is None or word.span.start < end)
