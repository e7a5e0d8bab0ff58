"""Refusal of RDF/XML entities that expand without bound or refer to other documents.

RDF/XML needs entities only as short names for namespaces, as in OWL files.
"""

from __future__ import annotations

from typing import IO
from xml.parsers import expat

ENTITY_CHARACTERS_MAX = 1_000
ENTITIES_MAX = 1_000
_PIECE = 1 << 16


class _Root(Exception):
    """The root element has been reached."""


def entity_fault(document: IO[bytes]) -> str:
    """The reason for refusing the entities of a document, or ""; reads no further than the root element."""
    faults: list[str] = []
    declared = 0

    def declare(
        name: str, is_parameter: bool, value: str | None, base: str | None, system: str | None, *_: object
    ) -> None:
        nonlocal declared
        declared += 1
        if value is None or is_parameter:
            faults.append(f"the entity {name!r} is defined outside of the document")
        elif "&" in value or "%" in value or len(value) > ENTITY_CHARACTERS_MAX or declared > ENTITIES_MAX:
            faults.append(f"the entity {name!r} could swell the document")
        if faults:
            raise _Root

    def root(*_: object) -> None:
        raise _Root

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = declare
    parser.StartElementHandler = root
    try:
        while piece := document.read(_PIECE):
            parser.Parse(piece)
    except _Root:
        pass
    except expat.ExpatError:
        return ""  # the RDF parser says better what is wrong
    return faults[0] if faults else ""
