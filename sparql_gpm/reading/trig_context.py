"""The directives of TriG, and units parsed under those in force."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyoxigraph as ox

from sparql_gpm.reading.document_terms import token_of
from sparql_gpm.reading.strict import parse, parser_of

_DIRECTIVE = re.compile(rb"@?(?:prefix|base|version)\b", re.IGNORECASE)
NAMESPACE_BYTES_MAX = 16 << 10
"""A prefix or base that is longer is malformed: it is repeated in the header of each unit that may use it."""
FEW_PREFIXES = 32
"""Up to so many, each is looked for in a text; of more, the text is cut into the names that it may use."""
_NAME = re.compile(rb"(?<![\w.\-\x80-\xff])[\w.\-\x80-\xff]*+(?=:)")
_NUMBER = re.compile(rb"[-0-9][0-9]*+(?:\.[0-9]*+)?(?:[eE][-0-9][0-9]*+)?")
_NAME_PARTS = 4
"""A prefix comes behind at most three dots in the characters of names before a colon: `"a"@en.p:x`, `1.5.p:x`."""
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
        """Add the declarations that a parser knows at its end; SyntaxError for one that is too long."""
        if any(len(iri) > NAMESPACE_BYTES_MAX for iri in (*prefixes.values(), base or "")):
            raise SyntaxError(f"a prefix or base of more than {NAMESPACE_BYTES_MAX:,} bytes")
        self._base = f"@base <{base}> .\n".encode() if base else b""
        self.prefixes |= {name.encode(): iri.encode() for name, iri in prefixes.items()}
        for name, iri in prefixes.items():
            self._prefixes[f"{name}:".encode()] = f"@prefix {name}: <{iri}> .\n".encode()

    def header(self, text: bytes) -> bytes:
        """The declarations that a text may use, one a line."""
        known = self._prefixes
        if len(known) <= FEW_PREFIXES:
            return self._base + b"".join([line for name, line in known.items() if name in text])
        return self._base + b"".join([known[name] for name in _names(text) if name in known])


def _names(text: bytes) -> Iterable[bytes]:
    """All names of prefixes that a text may use, and others, each with its colon."""
    found = {b"": None}
    for written in dict.fromkeys(_NAME.findall(text)):
        rest = written
        for _ in range(_NAME_PARTS):
            found[rest] = None
            if number := _NUMBER.match(rest):
                found[rest[number.end() :]] = None
            _, _, rest = rest.partition(b".")
    return (b"%b:" % name for name in found)


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
        quads = list(parser)
    except MemoryError as error:
        raise SyntaxError("a directive of more than 16 MiB") from error
    except SyntaxError:
        context.declare(parser.prefixes, parser.base_iri)
        raise
    context.declare(parser.prefixes, parser.base_iri)
    return quads


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
