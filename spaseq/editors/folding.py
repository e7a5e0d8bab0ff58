"""The parts of a query that an editor can fold, and its outline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from spaseq.editors.document import Document, Placed
from spaseq.editors.kinds import Kind
from spaseq.lang import drafts


@dataclass(frozen=True, slots=True)
class Fold:
    """A part of the text [start, end); kind: "region", "imports" for declarations of prefixes, or "comment"."""

    start: int
    end: int
    kind: str


def folds(document: Document) -> list[Fold]:
    """The groups in brackets, the prefixes, and the comments that follow each other, if they have several lines."""
    found = [*_brackets(document), *_runs(document)]
    return [fold for fold in found if "\n" in document.text[fold.start : fold.end]]


def _brackets(document: Document) -> Iterator[Fold]:
    opened: list[int] = []
    for placed in document.tokens:
        if placed.token.kind is not Kind.BRACKET:
            continue
        if document.word(placed.token) in "({[":
            opened.append(placed.token.start)
        elif opened:
            yield Fold(opened.pop(), placed.token.start, "region")


def _runs(document: Document) -> Iterator[Fold]:
    for kind, run in groupby(document.tokens, _run_kind):
        tokens = [placed.token for placed in run]
        if kind:
            yield Fold(tokens[0].start, tokens[-1].end, kind)


def _run_kind(placed: Placed) -> str:
    if placed.token.kind is Kind.COMMENT:
        return "comment"
    return "imports" if placed.clause in {"PREFIX", "BASE"} else ""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the outline: a stream or a GPM, its place and that of its name."""

    name: str
    detail: str
    is_stream: bool
    start: int
    end: int
    name_start: int
    name_end: int


def outline(document: Document) -> Iterator[Entry]:
    """The streams and GPMs of a query."""
    for clause in document.clauses:
        match clause:
            case drafts.StreamClause(name, iri):
                span, end = name.span, iri.span.end
                yield Entry(name.text, iri.text, True, span.start, end, span.start, span.end)
            case drafts.DefineClause(name, streams, _, body):
                span, end = name.span, body.span.end + 1
                on = ", ".join(stream.text for stream in streams)
                yield Entry(name.text, f"on {on}", False, span.start, end, span.start, span.end)
