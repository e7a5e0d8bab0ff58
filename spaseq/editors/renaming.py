"""The declaration of a name, and other names in its place."""

from __future__ import annotations

import re

from spaseq.editors.document import Document, Names, Occurrence, in_order
from spaseq.errors import InputError
from spaseq.lang import drafts
from spaseq.lang.lexemes import NAME, RESERVED

_PREFIX = re.compile(r"(?:[^\W\d_](?:[\w.\-]*[\w\-])?)?")
_VARIABLE = re.compile(r"\w+")


def declaration_of(document: Document, occurrence: Occurrence) -> Occurrence | None:
    """The place at which a name is declared; of a variable the first that binds it, in the order of SEQ( )."""
    same = document.same(occurrence)
    if occurrence.kind is not Names.VARIABLE:
        return next((found for found in same if found.declares), None)
    for start, end in _binding_places(document, occurrence.name):
        if inside := [found for found in same if start <= found.start < end]:
            return inside[0]
    return same[0]


def _binding_places(document: Document, name: str) -> list[tuple[int, int]]:
    """The pieces of the text that bind a variable, the first one first."""
    places = [clause.using.span for clause in document.all(drafts.PartitionClause) if clause.using]
    for clause in in_order(document):
        gpm = document.gpms.get(clause.name.text)
        if gpm is None or name in gpm.binds:
            places += [each.variable.span for each in clause.event if each.variable.text[1:] == name]
            places.append(clause.body.span)
    places += [clause.variable.span for clause in document.all(drafts.BindClause)]
    for form in document.all(drafts.FormClause):
        places += [column.variable.span for column in form.columns or () if column.expression is not None]
    return [(span.start, span.end) for span in places]


def renamed(document: Document, occurrence: Occurrence, name: str) -> list[tuple[int, int, str]]:
    """The replacements that give a name another one; InputError where the query would then be another."""
    name = name.lstrip("?$") if occurrence.kind is Names.VARIABLE else name.removesuffix(":")
    _check(occurrence.kind, name)
    if name != occurrence.name and name in document.names(occurrence.kind):
        raise InputError(f"the query has a {occurrence.kind.value} '{name}' already", hint="choose another name")
    return [(found.start, found.end, name) for found in document.same(occurrence)]


def _check(kind: Names, name: str) -> None:
    match kind:
        case Names.GPM | Names.STREAM:
            right, hint = (
                bool(NAME.fullmatch(name)) and name.upper() not in RESERVED,
                "letters A-Z, digits and _, no keyword",
            )
        case Names.PREFIX:
            right, hint = bool(_PREFIX.fullmatch(name)), "letters, digits, - and ."
        case Names.VARIABLE:
            right, hint = bool(_VARIABLE.fullmatch(name)), "letters, digits and _"
    if not right:
        raise InputError(f"'{name}' cannot be the name of a {kind.value}", hint=hint)
