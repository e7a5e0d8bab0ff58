"""SPARQL 1.1 Query Results JSON → rows of terms."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kb.cache import Row
from sparql_gpm.terms import IRI, RDF_LANG_STRING, XSD_STRING, BlankNode, Literal, Term


class _Value(msgspec.Struct):
    type: str
    value: str
    datatype: str = ""
    language: str = msgspec.field(name="xml:lang", default="")


class _Results(msgspec.Struct):
    bindings: list[dict[str, _Value]]


class _Answer(msgspec.Struct):
    results: _Results


_DECODER = msgspec.json.Decoder(_Answer)


def decode_rows(text: bytes, variables: Sequence[str], scope: str) -> list[Row]:
    """The solutions as terms in the order of the variables.

    scope   makes blank node labels unique: they are local to the answer

    Raises ValueError for what is not such a document.
    """
    try:
        bindings = _DECODER.decode(text).results.bindings
    except msgspec.MsgspecError as error:
        raise ValueError(f"not SPARQL JSON results: {error}") from error
    return [tuple([_term(row.get(name), scope) for name in variables]) for row in bindings]


def _term(value: _Value | None, scope: str) -> Term | None:
    if value is None:
        return None
    match value.type:
        case "uri":
            return IRI(value.value)
        case "literal" | "typed-literal" if value.language:
            return Literal(value.value, RDF_LANG_STRING, value.language.lower())
        case "literal" | "typed-literal":
            return Literal(value.value, value.datatype or XSD_STRING)
        case "bnode":
            return BlankNode(f"{scope}x{value.value}")
        case other:
            raise ValueError(f"a term of unknown type {other!r}")
