"""Quick fixes: for a problem the changes of the text that mend it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spaseq.editors.document import Document, Names
from spaseq.editors.kinds import Kind
from spaseq.editors.positions import span_of
from spaseq.errors import Problem
from spaseq.lang import drafts
from spaseq.lang.codes import Code
from spaseq.lang.signs import CONTIGUITIES

PREFIXES = {
    "brick": "https://brickschema.org/schema/Brick#",
    "dcterms": "http://purl.org/dc/terms/",
    "epcis": "https://ref.gs1.org/epcis/",
    "fhir": "http://hl7.org/fhir/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "qudt": "http://qudt.org/schema/qudt/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "saref": "https://saref.etsi.org/core/",
    "schema": "https://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "unit": "http://qudt.org/vocab/unit/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""The namespaces of well-known vocabularies, by their usual prefixes."""

Edit = tuple[int, int, str]
"""The text that takes the place of [start, end)."""
_EXAMPLE = "http://example.org/"
_GUESS = re.compile(r"did you mean '(.+)'\?")
_PREVIOUS = re.compile(r"PREV\(\?(\w+)\)")
_PARTITION = re.compile(r"write (PARTITION BY \?\w+)")


@dataclass(frozen=True, slots=True)
class Fix:
    """Changes of the text, and what they do in a few words."""

    title: str
    edits: tuple[Edit, ...]


def fixes(document: Document, problem: Problem) -> list[Fix]:
    """The quick fixes of a problem, the likeliest first."""
    start, end = span_of(problem, document.text)
    found = list(_guessed(document, problem, start, end))
    if make := _FIXES.get(problem.code):
        found += make(document, problem, start, end)
    return found


def _guessed(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    """The word that the hint guesses."""
    if (guess := _GUESS.fullmatch(problem.hint)) is None:
        return
    title = f"write '{guess[1]}'"
    if problem.code == Code.UNDECLARED_PREFIX.code:
        wrong, right = document.text[start:end].partition(":")[0], guess[1].removesuffix(":")
        places = [each for each in document.occurrences if (each.kind, each.name) == (Names.PREFIX, wrong)]
        yield Fix(title, tuple((each.start, each.end, right) for each in places))
    else:
        yield Fix(title, ((start, end, guess[1]),))


def _declare_prefix(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    edit = declaration(document, document.text[start:end].partition(":")[0])
    yield Fix(f"declare {edit[2].strip()}", (edit,))


def declaration(document: Document, prefix: str) -> Edit:
    """The change that declares a prefix, after the declarations that there are."""
    iri = PREFIXES.get(prefix, f"{_EXAMPLE}{prefix}{'#' if prefix else ''}")
    line = f"PREFIX {prefix}: <{iri}>"
    if declared := document.all(drafts.Declaration):
        place = declared[-1].iri.span.end
        return place, place, f"\n{line}"
    place = document.lexemes[0].span.start if document.lexemes else 0
    return place, place, f"{line}\n"


def _define(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    name, streams = document.text[start:end], document.names(Names.STREAM)
    ends = [lexeme.span.start for lexeme in document.lexemes if lexeme.kind == "RBRACE"]
    if not ends or not streams:
        return
    kind = f":{name}" if "" in document.namespace.prefixes else f"<{_EXAMPLE}{name}>"
    variable = name.lower()
    while variable in document.names(Names.VARIABLE):
        variable += "_"
    line = f"DEFINE GPM {name} ON {streams[0]} {{ ?{variable} a {kind} }}"
    yield Fix(f"add {line}", (_line_before(document, ends[-1], f"  {line}"),))


def _declare_stream(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    name = document.text[start:end]
    line = f"FROM STREAM {name} <{_EXAMPLE}{name}>"
    yield from _before_braces(document, line, f"declare {line}")


def _missing(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    if problem.message.endswith("no WITHIN"):
        yield from _before_braces(document, "WITHIN 30 MINUTES", "add WITHIN 30 MINUTES")
    elif problem.message.endswith("no FROM STREAM"):
        yield from _before_braces(document, f"FROM STREAM S1 <{_EXAMPLE}stream>", "add a FROM STREAM")


def _before_braces(document: Document, line: str, title: str) -> Iterator[Fix]:
    """A fix that writes a line before WHERE, or before the brace."""
    places = [lexeme.span.start for lexeme in document.lexemes if lexeme.kind in {"WHERE", "LBRACE"}]
    if places:
        yield Fix(title, (_line_before(document, places[0], line),))


def _line_before(document: Document, offset: int, line: str) -> Edit:
    """A line of its own before the one that an offset is in, or, amid a line, before the offset."""
    begin = max(document.text.rfind("\n", 0, offset), document.text.rfind("\r", 0, offset)) + 1
    if document.text[begin:offset].strip():
        return offset, offset, f"\n{line}\n"
    return begin, begin, f"{line}\n"


def _write_any(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    written = document.text[start:end]
    quantifier = written.lstrip("".join(CONTIGUITIES))
    possessive = len(quantifier) > 1 and quantifier.endswith("+")
    right = f":{quantifier[:-1] if possessive else quantifier}"
    yield Fix(f"write '{right}' for '{written}'", ((start, end, right),))


def _write_next(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    if problem.hint.startswith("';'"):
        yield Fix("write ';' for ':'", ((start, start + 1, ";"),))


def _not_possessive(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    yield Fix("leave out the second '+'", ((end - 1, end, ""),))


def _remove_define(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    for clause in document.all(drafts.DefineClause):
        if clause.name.span.start == start:
            begins = [each.span.start for each in document.lexemes if each.kind == "DEFINE" and each.span.start < start]
            last = clause.body.span.end + 1
            rest = re.compile(r"[ \t]*\r?\n[ \t]*").match(document.text, last)
            yield Fix("leave out this DEFINE", ((begins[-1], rest.end() if rest else last, ""),))


def _skip_past(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    if document.all(drafts.AfterClause):
        return
    line = "AFTER MATCH SKIP PAST LAST EVENT"
    limit = [lexeme.span.start for lexeme in document.lexemes if lexeme.kind == "LIMIT"]
    last = document.lexemes[-1].span.end
    yield Fix(f"add {line}", (_line_before(document, limit[-1], line) if limit else (last, last, f"\n{line}"),))


def _partition(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    if found := _PARTITION.fullmatch(problem.hint):
        yield from _before_braces(document, found[1], f"add {found[1]}")


def _slide(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    for clause in document.all(drafts.WithinClause):
        match clause:
            case drafts.WithinClause(_, unit, None, None):
                yield Fix("write SLIDING after the window", ((unit.span.end, unit.span.end, " SLIDING"),))
            case drafts.WithinClause(_, _, drafts.Word(_, span), None):
                yield Fix("write SLIDING for TUMBLING", ((span.start, span.end, "SLIDING"),))


def _guard(document: Document, problem: Problem, start: int, end: int) -> Iterator[Fix]:
    """Lets the FILTER around PREV hold where PREV has no value."""
    variable = _PREVIOUS.search(problem.message)
    tokens = [placed.token for placed in document.tokens if placed.token.kind is not Kind.COMMENT]
    filters = [i for i, each in enumerate(tokens) if each.start < start and document.word(each).upper() == "FILTER"]
    if variable is None or not filters or document.word(tokens[filters[-1] + 1]) != "(":
        return
    depth, opening = 0, tokens[filters[-1] + 1]
    for token in tokens[filters[-1] + 1 :]:
        depth += (document.word(token) == "(") - (document.word(token) == ")")
        if depth == 0:
            guard = f"!BOUND(PREV(?{variable[1]})) || ("
            edits = ((opening.end, opening.end, guard), (token.start, token.start, ")"))
            yield Fix(f"let it hold at the first iteration: !BOUND(PREV(?{variable[1]})) || …", edits)
            return


_FIXES: dict[str, Callable[[Document, Problem, int, int], Iterator[Fix]]] = {
    code.code: make
    for code, make in {
        Code.MISSING_CLAUSE: _missing,
        Code.UNDECLARED_PREFIX: _declare_prefix,
        Code.UNDECLARED_STREAM: _declare_stream,
        Code.UNDEFINED_NAME: _define,
        Code.CONTIGUOUS_ALL: _write_any,
        Code.POSSESSIVE_NEGATED: _not_possessive,
        Code.POSSESSIVE_ANY: _not_possessive,
        Code.UNUSED_GPM: _remove_define,
        Code.UNGUARDED_PREV: _guard,
        Code.EVERY_SUBSET: _write_next,
        Code.SELECTOR_ACROSS_VALUES: _partition,
        Code.LIMITED_NEGATION_CUT: _slide,
        Code.POSSESSIVE_START: _skip_past,
    }.items()
}


MENDED = frozenset(_FIXES)
"""The codes of the problems that have quick fixes of their own."""


def applied(text: str, edits: tuple[Edit, ...]) -> str:
    """The text after some changes that do not overlap."""
    for start, end, written in sorted(edits, reverse=True):
        text = text[:start] + written + text[end:]
    return text
