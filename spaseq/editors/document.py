"""A query text as an editor sees it: its tokens, clauses, names and problems, whatever is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeVar

from spaseq.editors.classify import Classified, classified
from spaseq.editors.kinds import Kind
from spaseq.errors import Problem
from spaseq.lang import drafts
from spaseq.lang.ast import Expr
from spaseq.lang.embedded import Embedded, Gpm
from spaseq.lang.iris import Namespace
from spaseq.lang.layout import read_clauses
from spaseq.lang.lexemes import CLAUSES, Lexeme
from spaseq.lang.parse import check
from spaseq.lang.report import Report
from spaseq.lang.scan import scan

_Clause = TypeVar("_Clause", bound=drafts.Clause)


class Names(Enum):
    """The kinds of names that a query gives."""

    GPM = "GPM"
    STREAM = "stream"
    PREFIX = "prefix"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name where it stands, without the `?` of a variable and the colon of a prefix.

    declares    True in DEFINE, FROM STREAM and PREFIX
    """

    kind: Names
    name: str
    start: int
    end: int
    declares: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """A token and the kind of the clause that it stands in."""

    token: Classified
    clause: str


class Document:
    """The text of a query; what is derived from it is computed once, when it is asked for first."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """All errors and warnings."""
        return check(self.text)[1]

    @cached_property
    def lexemes(self) -> tuple[Lexeme, ...]:
        """The lexemes of the outer language."""
        return scan(self.text, Report(self.text))

    @cached_property
    def clauses(self) -> tuple[drafts.Clause, ...]:
        """The clauses that can be read."""
        try:
            return tuple(read_clauses(self.lexemes, len(self.text), Report(self.text)))
        except RecursionError:
            return ()

    @cached_property
    def tokens(self) -> tuple[Placed, ...]:
        """Every token and comment with its clause."""
        begins = {lexeme.span.start: lexeme.kind for lexeme in self.lexemes if lexeme.kind in CLAUSES}
        found: list[Placed] = []
        clause = ""
        for token in classified(self.text, self.lexemes):
            clause = begins.get(token.start, clause)
            found.append(Placed(token, clause))
        return tuple(found)

    @cached_property
    def occurrences(self) -> tuple[Occurrence, ...]:
        """Every name of the query where it stands."""
        return tuple(self._occurrences())

    @cached_property
    def sequence(self) -> Expr | None:
        """The content of SEQ( ), if it can be read."""
        return next((clause.sequence for clause in self.all(drafts.SequenceClause)), None)

    @cached_property
    def namespace(self) -> Namespace:
        """BASE and the prefixes."""
        namespace = Namespace(Report(self.text))
        namespace.declare(self.clauses)
        return namespace

    @cached_property
    def gpms(self) -> dict[str, Gpm]:
        """The definitions that can be read, by Name."""
        embedded = Embedded(self.namespace, Report(self.text))
        found: dict[str, Gpm] = {}
        for clause in self.all(drafts.DefineClause):
            try:
                gpm = embedded.gpm(clause)
            except RecursionError:
                continue
            if gpm is not None:
                found.setdefault(clause.name.text, gpm)
        return found

    def all(self, kind: type[_Clause]) -> list[_Clause]:
        """The clauses of a kind."""
        return [clause for clause in self.clauses if isinstance(clause, kind)]

    def word(self, token: Classified) -> str:
        """The text of a token."""
        return self.text[token.start : token.end]

    def token_at(self, offset: int) -> Placed | None:
        """The token that an offset is in, or at the end of."""
        touched = [placed for placed in self.tokens if placed.token.start <= offset <= placed.token.end]
        return touched[-1] if touched else None

    def occurrence_at(self, offset: int) -> Occurrence | None:
        """The name whose token an offset is in or at the end of; of a prefixed name its prefix."""
        touched = [placed.token for placed in self.tokens if placed.token.start <= offset <= placed.token.end]
        for token in reversed(touched):
            for found in self.occurrences:
                if token.start <= found.start < token.end:
                    return found
        return None

    def same(self, occurrence: Occurrence) -> list[Occurrence]:
        """Every occurrence of a name."""
        wanted = (occurrence.kind, occurrence.name)
        return [found for found in self.occurrences if (found.kind, found.name) == wanted]

    def names(self, kind: Names) -> list[str]:
        """The names of a kind, each once, in the order of the text."""
        return list(dict.fromkeys(found.name for found in self.occurrences if found.kind is kind))

    def _occurrences(self) -> Iterator[Occurrence]:
        before = ""
        for placed in self.tokens:
            token = placed.token
            word = self.word(token)
            match token.kind:
                case Kind.NAME:
                    kind, declares = _role(placed.clause, before)
                    yield Occurrence(kind, word, token.start, token.end, declares)
                case Kind.VARIABLE:
                    yield Occurrence(Names.VARIABLE, word[1:], token.start + 1, token.end, False)
                case Kind.PREFIXED:
                    prefix = word.partition(":")[0]
                    declares = placed.clause == "PREFIX"
                    yield Occurrence(Names.PREFIX, prefix, token.start, token.start + len(prefix), declares)
            if token.kind is not Kind.COMMENT:
                before = word.upper()


def _role(clause: str, before: str) -> tuple[Names, bool]:
    """The kind of name that a Name is, and True if it is declared there."""
    match clause, before:
        case "FROM", _:
            return Names.STREAM, True
        case "DEFINE", "GPM" | "DEFINE":
            return Names.GPM, True
        case "DEFINE", _:
            return Names.STREAM, False
    return Names.GPM, False


def in_order(document: Document) -> Sequence[drafts.DefineClause]:
    """The DEFINEs in the order of SEQ( ), then those that it does not use."""
    from automata.plan.expression import symbols

    used = symbols(document.sequence) if document.sequence is not None else ()
    places = {name: place for place, name in enumerate(used)}
    return sorted(document.all(drafts.DefineClause), key=lambda clause: places.get(clause.name.text, len(places)))
