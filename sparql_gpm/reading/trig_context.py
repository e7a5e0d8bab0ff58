"""The directives of TriG, and units parsed under those in force."""

from __future__ import annotations

import re

import pyoxigraph as ox

from sparql_gpm.reading.document_terms import token_of
from sparql_gpm.reading.strict import parse, parser_of

_DIRECTIVE = re.compile(rb"@?(?:prefix|base|version)\b", re.IGNORECASE)
_PROBE = b"\n{ <urn:x> <urn:x> <urn:x> }"
"""On a line of its own, since a label may end in a comment."""


class Context:
    """The prefixes and the base in force; `prefixes`: their IRIs by name."""

    def __init__(self) -> None:
        self.prefixes: dict[bytes, bytes] = {}
        self._prefixes: dict[bytes, bytes] = {}
        self._base = b""

    @property
    def has_base(self) -> bool:
        """True if IRIs are resolved."""
        return bool(self._base)

    def declare(self, prefixes: dict[str, str], base: str | None) -> None:
        """Add the declarations that a parser knows at its end."""
        self._base = f"@base <{base}> .\n".encode() if base else b""
        self.prefixes |= {name.encode(): iri.encode() for name, iri in prefixes.items()}
        for name, iri in prefixes.items():
            self._prefixes[f"{name}:".encode()] = f"@prefix {name}: <{iri}> .\n".encode()

    def header(self, text: bytes) -> bytes:
        """The declarations that a text may use, one a line."""
        return self._base + b"".join([line for name, line in self._prefixes.items() if name in text])


def declares(text: bytes) -> bool:
    """True if a unit is a directive."""
    return bool(_DIRECTIVE.match(text))


def parsed_unit(context: Context, text: bytes) -> list[ox.Quad]:
    """The quads of a unit, whose declarations come into force; raises SyntaxError."""
    header = context.header(text)
    if not declares(text):
        return list(parse(header + text, ox.RdfFormat.TRIG))
    parser = parser_of(header + text, ox.RdfFormat.TRIG)
    try:
        return list(parser)
    except MemoryError as error:
        raise SyntaxError("a directive of more than 16 MiB") from error
    finally:
        context.declare(parser.prefixes, parser.base_iri)


def label_of(context: Context, text: bytes) -> bytes | None:
    """The graph of a block, even if the rest of it is empty or malformed."""
    label, brace, _ = text.partition(b"{")
    if not brace:
        return None
    try:
        probe = list(parse(context.header(label) + label + _PROBE, ox.RdfFormat.TRIG))
    except SyntaxError:
        return None
    graph = probe[-1].graph_name
    return None if isinstance(graph, ox.DefaultGraph) else token_of(graph)
