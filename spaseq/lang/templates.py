"""Texts that are the same up to constants: parsed once, then the constants are put in.

A template is a parsed text with the places of the constants with digits in its GPMs: IRIs, numbers, strings of letters
and digits. Another text of the same shape, equal in all but digits, has its tokens at the same places. Where it differs
in constants alone of which a text parsed in full has shown that they may be exchanged, it gets the tree of the
template with its own constants: what a full parse gives, spans and warnings included. Any other text is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Any

from sparql_gpm.terms import IRI, XSD, XSD_STRING, Literal
from spaseq.lang.ast import Query

TEMPLATES_MAX = 256
"""Shapes that are remembered; of more, the latest."""
_TEXT_MAX = 1 << 14
"""Characters of a text that is remembered."""
_DIGIT = re.compile(r"[0-9]")
_TOKEN = re.compile(
    r"""
      (?<![\w:%\\.\-])(?P<prefix>(?:[A-Za-z][A-Za-z0-9_\-]*)?):(?P<local>[A-Za-z_][A-Za-z0-9_\-]*)(?![\w:%\\.\-])
    | <(?P<iri>[A-Za-z][A-Za-z0-9+.\-]*:[A-Za-z0-9_\-/.:\#]*)>
    | (?<![\w:%\\.\-+"'^@?$<])(?P<decimal>[+\-]?[0-9]*\.[0-9]+)(?![\w:%\\.\-"'])
    | (?<![\w:%\\.\-+"'^@?$<])(?P<number>[+\-]?[0-9]+)(?![\w:%\\.\-"'])
    | "(?P<string>[A-Za-z0-9_\-]*)"(?![\^@"])
    """,
    re.VERBOSE,
)
_Term = IRI | Literal


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a constant in the text of a template, the kind of its token, and the prefix in front of it."""

    start: int
    end: int
    kind: str
    namespace: str

    def term(self, text: str) -> _Term:
        """The constant there in a text of the same shape."""
        token = text[self.start : self.end]
        match self.kind:
            case "number":
                return Literal(token, XSD + "integer")
            case "decimal":
                return Literal(token, XSD + "decimal")
            case "string":
                return Literal(token, XSD_STRING)
        return IRI(self.namespace + token)


class _Template:
    """One shape: the query of its first text, and which of the constants there have been seen to be exchanged."""

    def __init__(self, query: Query) -> None:
        self._query = query
        terms = set(_terms(query.defines))
        self._places = [place for place in _places(query) if place.term(query.text) in terms]
        self._rest = self._without(query.text)
        self._own = [place.term(query.text) for place in self._places]
        self._others = terms - set(self._own)
        self._exchanged: set[int] = set()

    def query(self, text: str, name: str) -> Query | None:
        """The query of a text of the same shape; None: it must be parsed."""
        mapping = self._mapping(text)
        if mapping is None or not self._differing(text) <= self._exchanged:
            return None
        return self._with(mapping, text, name)

    def learn(self, query: Query) -> None:
        """A text of the same shape was parsed."""
        mapping = self._mapping(query.text)
        if mapping is not None and self._with(mapping, query.text, query.name) == query:
            self._exchanged |= self._differing(query.text)

    def _with(self, mapping: Mapping[_Term, _Term], text: str, name: str) -> Query:
        return replace(self._query, name=name, text=text, defines=_exchanged(self._query.defines, mapping))

    def _mapping(self, text: str) -> dict[_Term, _Term] | None:
        """Each constant of the template → that of the text in its place; None: more differs, or two become one."""
        if self._without(text) != self._rest:
            return None
        mapping: dict[_Term, _Term] = {}
        for place, own in zip(self._places, self._own, strict=True):
            if mapping.setdefault(own, other := place.term(text)) != other:
                return None
        found = set(mapping.values())
        return mapping if len(found) == len(mapping) and found.isdisjoint(self._others) else None

    def _differing(self, text: str) -> set[int]:
        """The numbers of the places where a text has other constants."""
        places = zip(self._places, self._own, strict=True)
        return {number for number, (place, own) in enumerate(places) if place.term(text) != own}

    def _without(self, text: str) -> list[str]:
        """Return the text between the constants."""
        begins, ends = [0, *(p.end for p in self._places)], [*(p.start for p in self._places), len(text)]
        return [text[begin:end] for begin, end in zip(begins, ends, strict=True)]


class Templates:
    """The shapes of the texts that were parsed last."""

    def __init__(self) -> None:
        self._known: dict[str, _Template] = {}

    def query(self, text: str, name: str) -> Query | None:
        """The query of a text, if one of its shape is known and no more than constants differ."""
        if not self._known or len(text) > _TEXT_MAX:
            return None
        template = self._known.get(_shape(text))
        return None if template is None else template.query(text, name)

    def learn(self, query: Query) -> None:
        """A text was parsed in full, without errors."""
        if len(query.text) > _TEXT_MAX or (shape := _shape(query.text)) == query.text:
            return
        template = self._known.pop(shape, None)
        if template is None:
            template = _Template(query)
        else:
            template.learn(query)
        self._known[shape] = template
        if len(self._known) > TEMPLATES_MAX:
            del self._known[next(iter(self._known))]


def _shape(text: str) -> str:
    """The text with one digit for all."""
    return _DIGIT.sub("0", text)


def _places(query: Query) -> Iterator[_Place]:
    """The constants with digits in the bodies of GPMs, as far as the text alone tells."""
    prefixes = dict(query.prefixes)
    for define in sorted(query.defines, key=attrgetter("body.start")):
        for token in _TOKEN.finditer(query.text, define.body.start, define.body.end):
            kind = str(token.lastgroup)
            if _DIGIT.search(token[kind]):
                namespace = prefixes.get(token["prefix"], "") if kind == "local" else ""
                yield _Place(*token.span(kind), kind, namespace)


def _terms(value: Any) -> Iterator[_Term]:
    """Every IRI and literal in a tree."""
    if isinstance(value, IRI | Literal):
        yield value
    elif isinstance(value, tuple | frozenset):
        for each in value:
            yield from _terms(each)
    elif is_dataclass(value) and not isinstance(value, type):
        for name in _names(type(value)):
            yield from _terms(getattr(value, name))


def _exchanged(value: Any, mapping: Mapping[_Term, _Term]) -> Any:
    """A tree with other terms; what has none of them is the same object."""
    if isinstance(value, IRI | Literal):
        return mapping.get(value, value)
    if isinstance(value, tuple):
        return _same(value, tuple([_exchanged(each, mapping) for each in value]))
    if isinstance(value, frozenset):
        return frozenset([_exchanged(each, mapping) for each in value])
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changes = {}
    for name in _names(type(value)):
        old = getattr(value, name)
        if (new := _exchanged(old, mapping)) is not old:
            changes[name] = new
    return replace(value, **changes) if changes else value


def _same(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    unchanged = all(one is other for one, other in zip(old, new, strict=True))
    return old if unchanged else new


@cache
def _names(kind: type[Any]) -> Sequence[str]:
    return tuple(field.name for field in fields(kind) if field.init)
