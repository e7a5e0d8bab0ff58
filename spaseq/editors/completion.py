"""The words that may stand at a place of a query, with a line of help for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from spaseq.editors import words
from spaseq.editors.document import Document, Names
from spaseq.editors.fixes import PREFIXES
from spaseq.editors.kinds import Kind
from spaseq.editors.states import TEXT, stack_at
from spaseq.editors.variables import scope_sentences
from spaseq.lang import drafts
from spaseq.lang.lexemes import KEYWORDS, UNITS
from spaseq.lang.signs import SEQUENCE_SIGNS, Use

_BEFORE_CURSOR = re.compile(r"[?$]\w*\Z|(?:[^\W\d_][\w.\-]*)?:[\w.\-]*\Z|\w*\Z")
_WORDS = re.compile(r"#[^\r\n]*|[\w?$]+|[^\s\w]")
_LIMIT_UNITS = frozenset(unit for unit in UNITS if not unit.startswith("EVENT"))
_FOLLOWING: Mapping[str, Iterable[str]] = {
    "FROM": ("STREAM", "NAMED"), "DEFINE": ("GPM",), "PARTITION": ("BY",), "GROUP": ("BY",), "AFTER": ("MATCH",),
    "MATCH": ("SKIP", "NO", "CONSUME"), "SKIP": ("TO", "PAST"), "NO": ("SKIP",), "CONSUME": ("ALL",), "PAST": ("LAST",),
    "TO": ("NEXT", "FIRST", "LAST"), "REGISTER": ("STREAM",), "OVER": ("MATCHES",), "STARTING": ("AT",),
    "NAMED": ("KB",), "SELECT": ("ALL", "STRICT", "NEXT", "LAST", "MAX", "OVER", "DISTINCT"),
    "CONSTRUCT": ("ALL", "STRICT", "NEXT", "LAST", "MAX", "OVER"),
}  # fmt: skip
"""The keywords that may follow a keyword outside of SEQ( ) and of SPARQL."""


class Sort(Enum):
    """The sort of a completion."""

    KEYWORD = "keyword"
    FUNCTION = "function"
    VARIABLE = "variable"
    GPM = "GPM"
    STREAM = "stream"
    PREFIX = "prefix"
    TERM = "term"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Completion:
    """A word that may take the place of [start, end), the beginning of a word before the cursor.

    written     the text to insert
    """

    label: str
    sort: Sort
    detail: str
    written: str
    start: int
    end: int


def completions(document: Document, offset: int) -> list[Completion]:
    """The words that may stand at an offset; an editor chooses among them by what has been typed."""
    begun = _BEFORE_CURSOR.search(document.text, 0, offset)
    start = begun.start() if begun else offset
    typed = document.text[start:offset]
    found = _by_place(document, start, typed, stack_at(document.text, start)[-1])
    return [Completion(label, sort, detail, label, start, offset) for label, sort, detail in found]


_Found = Iterator[tuple[str, Sort, str]]


def _by_place(document: Document, start: int, typed: str, state: str) -> _Found:
    before = [word for word in _WORDS.findall(document.text[:start]) if not word.startswith("#")][-1:]
    previous = before[0].upper() if before else ""
    if state == TEXT:
        return
    if typed[:1] in ("?", "$"):
        yield from _variables(document, typed)
        return
    match state:
        case "sequence":
            yield from _names(document, Names.GPM)
            yield from _keywords(["ALL", "SEQ", "WITHIN"])
            if not typed and previous not in SEQUENCE_SIGNS:
                signs = (sign for sign in SEQUENCE_SIGNS.values() if sign.use is not Use.BRACKET)
                yield from ((sign.text, Sort.OPERATOR, sign.help) for sign in signs)
        case "limit":
            yield from _keywords(sorted(_LIMIT_UNITS))
        case "name":
            kind = Names.STREAM if previous in {"ON", ","} else Names.GPM
            if previous in {"ON", ",", "FIRST", "LAST", "GPM"}:
                yield from _names(document, kind)
        case "define":
            yield from _keywords(["GPM", "ON", "AS", "AT"])
        case "group" | "parentheses" | "constraint":
            yield from _sparql(document, typed)
        case _ if previous in _FOLLOWING:
            yield from _keywords(_FOLLOWING[previous])
            yield from _variables(document, "?") if previous in {"SELECT", "BY"} else ()
        case _:
            yield from _keywords(sorted(UNITS) if previous.isdigit() else sorted(KEYWORDS - set(UNITS)))
            yield from _prefixes(document, typed)


def _keywords(found: Iterable[str]) -> _Found:
    for word in found:
        yield word, Sort.KEYWORD, words.KEYWORDS[word]


def _variables(document: Document, typed: str) -> _Found:
    for name in document.names(Names.VARIABLE):
        if name != typed[1:]:
            yield f"{typed[:1]}{name}", Sort.VARIABLE, scope_sentences(document, name)[0]


def _names(document: Document, kind: Names) -> _Found:
    """Names, those first that are declared."""
    declared = {found.name for found in document.occurrences if found.kind is kind and found.declares}
    for name in sorted(document.names(kind), key=lambda name: name not in declared):
        yield name, Sort(kind.value), "" if name in declared else "not declared yet"


def _sparql(document: Document, typed: str) -> _Found:
    yield from _prefixes(document, typed)
    if ":" in typed:
        return
    yield from _variables(document, "?")
    for word, detail in words.FUNCTIONS.items():
        yield word, Sort.FUNCTION, detail
    sparql = {**words.SPARQL_KEYWORDS, **{word: words.KEYWORDS[word] for word in _SHARED}}
    for word, detail in sparql.items():
        yield word, Sort.KEYWORD, detail
    for clause in document.all(drafts.KnowledgeClause):
        yield clause.iri.text, Sort.TERM, "a knowledge base of the query"


_SHARED = ("AS", "BIND", "BY", "DISTINCT", "FILTER", "GROUP", "HAVING", "LIMIT", "SELECT", "WHERE")


def _prefixes(document: Document, typed: str) -> _Found:
    """Prefixed names of the query, its prefixes, and those of well-known vocabularies."""
    written = {document.word(each.token) for each in document.tokens if each.token.kind is Kind.PREFIXED}
    for name in sorted(written - {typed}):
        if not name.endswith(":"):
            yield name, Sort.TERM, ""
    declared = document.namespace.prefixes
    for prefix, iri in sorted({**PREFIXES, **declared}.items()):
        yield f"{prefix}:", Sort.PREFIX, f"<{iri}>" + ("" if prefix in declared else ", not declared yet")
