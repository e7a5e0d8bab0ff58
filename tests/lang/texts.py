"""Query texts for the tests of the language."""

from __future__ import annotations

import re

from spaseq.lang.ast import Define, Expr, Query
from spaseq.lang.parse import parse

_COMMENT = re.compile(r"#[^\n]*")
_LIMIT = re.compile(r"(?i)\bwithin\s+\d+\s+\w+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def text_of(sequence: str, *, form: str = "SELECT *", header: str = "", bodies: dict[str, str] | None = None) -> str:
    """A query with this sequence; a Name without a body in `bodies` gets `{ ?s :p ?name }`."""
    names = [
        name
        for name in dict.fromkeys(_WORD.findall(_LIMIT.sub("", _COMMENT.sub("", sequence))))
        if name.upper() not in {"SEQ", "ALL"}
    ]
    given = bodies or {}
    defines = "\n".join(
        f"  DEFINE GPM {name} ON S1 {{ {given.get(name, f'?s :p ?{name.lower()}')} }}" for name in names
    )
    within = "" if "WITHIN" in header else "WITHIN 30 MINUTES\n"
    start = f"PREFIX : <http://example.org/>\n{form}\n{within}FROM STREAM S1 <http://example.org/s1>\n{header}\n"
    return f"{start}WHERE {{\n  SEQ({sequence})\n{defines}\n}}\n"


def query_of(sequence: str, **parts: object) -> Query:
    """The query of `text_of`, parsed."""
    return parse(text_of(sequence, **parts))  # type: ignore[arg-type]


def sequence_of(sequence: str) -> Expr:
    """The parsed sequence."""
    return query_of(sequence).sequence


def define_of(query: Query, name: str) -> Define:
    """The definition with this Name."""
    return next(define for define in query.defines if define.name == name)
