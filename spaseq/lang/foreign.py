"""Texts that are queries of other languages, told by what only those write.

Looked at only where a text is no query, so that one error replaces all those that its every line would have. A text
that defines a GPM is a query of this language, whatever else is wrong with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from automata.plan.expression import Span
from spaseq.lang.codes import Code
from spaseq.lang.lexemes import DEFINITION, OUTER
from spaseq.lang.report import Report

_PAGE = "docs/coming-from.md"
_NEAR = "{0,300}"
"""Characters between two brackets of a hallmark: no more are looked through for the closing one."""
_IRI = rf"(?:<[^>]{_NEAR}>|(?:\w[\w.-]{_NEAR})?:[\w.-]*)"
_ESPER_WINDOWS = "time|length|time_batch|length_batch|ext_timed|ext_timed_batch|keepall|lastevent|unique|firstevent"
_HALLMARKS = (
    ("SQL MATCH_RECOGNIZE", r"\bMATCH_RECOGNIZE\b"),
    ("FlinkCEP", rf"\bPattern\s*\.\s*(?:<[^>]{_NEAR}>\s*)?begin(?=\s*[(\[])"),
    ("RSP-QL", r"\bFROM\s+NAMED\s+WINDOW\b"),
    ("RSP-QL", r"\b(?:REGISTER|CONSTRUCT|SELECT|AS)\s+[IRD]STREAM\b"),
    ("RSP-QL", rf"\bWINDOW\s+(?:{_IRI}|[?$]\w+)(?=\s*\{{)"),
    ("C-SPARQL", r"\bREGISTER\s+QUERY\b"),
    ("C-SPARQL", r"\bCOMPUTED\s+EVERY\b"),
    ("C-SPARQL", rf"\bFROM\s+(?:NAMED\s+)?STREAM\s+{_IRI}\s*\[\s*RANGE\b"),
    ("CQELS", rf"(?<!FROM )(?<!NAMED )\bSTREAM\s+(?:{_IRI}|[?$]\w+)\s*\[[^\]]{_NEAR}\](?=\s*\{{)"),
    ("EP-SPARQL", r"\}\s*(?:SEQ|EQUALS)(?=\s*\{)"),
    ("EP-SPARQL", r"\b(?:OPTIONALSEQ|EQUALSOPTIONAL)(?=\s*\{)"),
    ("EP-SPARQL", r"\bget(?:DURATION|STARTTIME|ENDTIME)(?=\s*\()"),
    ("EPL (Esper)", rf"\bPATTERN\s*(?:@\w+(?:\([^)]{_NEAR}\))?\s*)*\["),
    ("EPL (Esper)", r"\bFROM\s+EVERY\b"),
    ("EPL (Esper)", rf"#(?:{_ESPER_WINDOWS})\s*\("),
    ("EPL (Esper)", r"\.(?:win|std|ext)\s*:\s*\w+(?=\s*\()"),
    ("EPL (Esper)", r"\btimer\s*:\s*(?:within|interval|at|schedule)\b"),
    ("EPL (Esper)", r"\bCREATE\s+(?:SCHEMA|CONTEXT|WINDOW)\b"),
    ("EPL (Esper)", r"\bINSERT\s+INTO\s+\w+\s+SELECT\b"),
)
"""Text that only queries of a language have; the first one found tells the language."""
_PATTERNS = tuple((language, re.compile(pattern, re.IGNORECASE)) for language, pattern in _HALLMARKS)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A language, and the place of what tells it."""

    language: str
    span: Span


def foreign(text: str) -> Foreign | None:
    """The other language that a text is written in; None if nothing shows one."""
    plain = _without_texts(text)
    if DEFINITION.search(plain):
        return None
    for language, pattern in _PATTERNS:
        if found := pattern.search(plain):
            return Foreign(language, Span(found.start(), found.end()))
    return None


def report_foreign(found: Foreign, text: str, report: Report) -> None:
    """Reports the language of a text as its only problem."""
    shown = " ".join(text[found.span.start : found.span.end].split())
    message = f"this query is written in {found.language}: SPAseq has no '{shown}'"
    report.add(Code.FOREIGN, found.span, message, f"{_PAGE} has its constructs beside ours, and translated queries")


def _without_texts(text: str) -> str:
    """The text with blanks inside of strings and IRIs, and in place of comments; all else keeps its offset."""
    parts: list[str] = []
    for match in OUTER.finditer(text):
        piece = match.group()
        match match.lastgroup:
            case "SPACE" if not re.match(rf"\s*#(?:{_ESPER_WINDOWS})\s*\(", piece, re.IGNORECASE):
                piece = _blank(piece)
            case "STRING" | "BAD_STRING" | "IRI":
                piece = piece[0] + _blank(piece[1:-1]) + piece[-1]
        parts.append(piece)
    return "".join(parts)


def _blank(piece: str) -> str:
    return " " * len(piece)
