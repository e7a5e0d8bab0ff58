"""Rows of terms from SPARQL 1.2 Query Results JSON."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from kb.cache import TermTuple
from sparql_gpm.terms import (
    IRI,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    TRIPLE_TERM_DEPTH_MAX,
    BlankNode,
    Literal,
    Term,
    TripleTerm,
)
from sparql_gpm.well_formed import fault_of

Checked = TypeVar("Checked", IRI, Literal, TripleTerm)

_IRIS_MAX = 1 << 16
"""IRIs of answers that are cached."""


class _Value(msgspec.Struct, gc=False):
    type: str
    value: str | _Parts
    datatype: str = ""
    language: str = msgspec.field(name="xml:lang", default="")
    direction: str = msgspec.field(name="its:dir", default="")


class _Parts(msgspec.Struct, gc=False):
    subject: _Value
    predicate: _Value
    object: _Value


class _Head(msgspec.Struct):
    vars: list[str] = []


class ResultReader:
    """Reads the answers to queries for some variables; raises ValueError for other documents.

    bound   the variables that every solution binds
    """

    def __init__(self, variables: Sequence[str], bound: Collection[str] = ()) -> None:
        self._variables = tuple(variables)
        self._bound = frozenset(bound)
        self._decoder = _decoder(self._variables)
        self._iris: dict[str, IRI] = {}

    def decode(self, text: bytes, scope: str, keys: Collection[str] = ()) -> list[TermTuple]:
        """The solutions as terms in the order of the variables; `scope` makes blank node labels unique.

        keys    variables of the query's VALUES, which every solution binds as well
        """
        try:
            answer = self._decoder.decode(text)
        except (msgspec.MsgspecError, RecursionError) as error:  # the latter for a document that is nested too deeply
            raise ValueError(f"not SPARQL JSON results: {error}") from error
        bindings, named = answer.results.bindings, answer.head.vars
        if self._variables and sorted(named) != sorted(self._variables):
            raise ValueError(f"an answer for the variables {_listed(named)}, not {_listed(self._variables)}")
        if len(self._iris) > _IRIS_MAX:
            self._iris.clear()
        columns = [
            self._column([getattr(row, f"v{i}") for row in bindings], scope) for i in range(len(self._variables))
        ]
        for name, column in zip(self._variables, columns, strict=True):
            if (name in self._bound or name in keys) and None in column:
                raise ValueError(f"an answer that leaves ?{name} unbound")
        return list(zip(*columns, strict=True)) if columns else [()] * len(bindings)

    def _column(self, values: Sequence[_Value | None], scope: str) -> list[Term | None]:
        known = self._iris
        terms: list[Term | None] = []
        for value in values:
            if value is not None and value.type == "uri" and isinstance(iri := value.value, str):
                terms.append(known.get(iri) or known.setdefault(iri, _valid(IRI(iri))))
            else:
                terms.append(None if value is None else _term(value, scope))
        return terms


@lru_cache(maxsize=256)
def _decoder(variables: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """The decoder for these variables; solutions that bind others are refused."""
    fields: list[Any] = [
        (f"v{i}", _Value | None, msgspec.field(name=name, default=None)) for i, name in enumerate(variables)
    ]
    binding = msgspec.defstruct("Binding", fields, gc=False, forbid_unknown_fields=bool(variables))
    results = msgspec.defstruct("Results", [("bindings", list[binding])])  # type: ignore[valid-type]
    return msgspec.json.Decoder(msgspec.defstruct("Answer", [("head", _Head), ("results", results)]))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"?{name}" for name in names) or "none"


def _term(value: _Value, scope: str, depth: int = 0) -> Term:
    match value:
        case _Value(type="uri", value=str(text)):
            return _valid(IRI(text))
        case _Value(type="literal", value=str(text)) if value.direction:
            return _valid(Literal(text, RDF_DIR_LANG_STRING, value.language.lower(), value.direction))
        case _Value(type="literal" | "typed-literal", value=str(text)) if value.language:
            return _valid(Literal(text, RDF_LANG_STRING, value.language.lower()))
        case _Value(type="literal" | "typed-literal", value=str(text)) if value.datatype:
            return _valid(Literal(text, value.datatype))
        case _Value(type="literal" | "typed-literal", value=str(text)):
            return Literal(text)
        case _Value(type="bnode", value=str(text)):
            return BlankNode(f"{scope}x{text}")
        case _Value(type="triple", value=_Parts()) if depth == TRIPLE_TERM_DEPTH_MAX:
            raise ValueError(f"triple terms more than {TRIPLE_TERM_DEPTH_MAX} deep")
        case _Value(type="triple", value=_Parts() as of):
            parts: Any = (_term(part, scope, depth + 1) for part in (of.subject, of.predicate, of.object))
            return _valid(TripleTerm(*parts))
        case _:
            raise ValueError(f"a term of unknown type {value.type!r}, or with a value of another type")


def _valid(term: Checked) -> Checked:
    """The term; raises ValueError for what is none."""
    if fault := fault_of(term):
        raise ValueError(fault)
    return term
