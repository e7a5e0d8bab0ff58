"""The scope of each variable of a query, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from automata.plan.expression import steps
from spaseq.editors.document import Document, in_order
from spaseq.editors.sentences import StepPlace
from spaseq.lang import drafts


def scope_sentences(document: Document, name: str) -> list[str]:
    """The steps and clauses that give a variable its value, and what that means elsewhere."""
    found = [*_given(document, name), *_bound(document, name), *_computed(document, name)]
    return found or [f"Nothing binds ?{name}: it stays unbound."]


def _given(document: Document, name: str) -> Iterator[str]:
    for clause in document.all(drafts.PartitionClause):
        if name in {word.text[1:] for word in clause.variables}:
            yield f"The query is evaluated for each value of ?{name} by itself."


def _bound(document: Document, name: str) -> Iterator[str]:
    binders = [clause.name.text for clause in in_order(document) if _binds(document, clause, name)]
    for clause in in_order(document):
        for each in clause.event:
            if each.variable.text[1:] == name:
                what = "time" if each.keyword.text.upper() == "AT" else "name of the graph"
                yield f"The {what} of the event of {clause.name.text}."
    if not binders:
        return
    places = _places(document, binders)
    positive = [place for place in places if not place.negated]
    if places and not positive:
        yield f"Bound only inside '!', by {', '.join(binders)}: nothing outside of it sees a value."
        return
    joined = f"Bound by {', '.join(binders)}"
    yield f"{joined}: one and the same term in each." if len(binders) > 1 else f"{joined}."
    if positive and (around := positive[0].repetitions):
        step = positive[0].step.symbol
        yield (
            f"Bound afresh at each iteration of {step} ({len(around)} repetitions around it)"
            if len(around) > 1
            else f"Bound afresh at each iteration of {step}"
        ) + f"; outside ?{name} is the last value, PREV(?{name}) the one before, and aggregates take all."


def _binds(document: Document, clause: drafts.DefineClause, name: str) -> bool:
    gpm = document.gpms.get(clause.name.text)
    return gpm is not None and name in gpm.binds


def _places(document: Document, binders: list[str]) -> list[StepPlace]:
    if document.sequence is None:
        return []
    return [StepPlace(step, around) for step, around in steps(document.sequence) if step.symbol in binders]


def _computed(document: Document, name: str) -> Iterator[str]:
    for bind in document.all(drafts.BindClause):
        if bind.variable.text[1:] == name:
            yield "Computed by BIND when a match is complete."
    for form in document.all(drafts.FormClause):
        for column in form.columns or ():
            if column.expression is not None and column.variable.text[1:] == name:
                yield "A column of SELECT that is computed from each match."
