"""The machine of `spaseq.editors.states` as JSON for CodeMirror and as a TextMate grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spaseq.editors import words
from spaseq.editors.kinds import Kind
from spaseq.editors.states import LEAVE, START, STATES, Row

SCOPE = "source.spaseq"
TABLE = Path("editors/tokens.json")
GRAMMAR = Path("editors/vscode/syntaxes/spaseq.tmLanguage.json")

_PYTHON_CLASSES = re.compile(r"\[\^\\W\\d_\]|\[\^\\W\\d\]|\\w|\[|\]|\\.")
"""What JavaScript reads in another way, the brackets of classes, and other escapes."""


def table() -> dict[str, Any]:
    """The machine with patterns in JavaScript's syntax, for the flags `u` and, where `ignoreCase` is, `i`."""
    return {
        "comment": "Made from spaseq.editors.states by `make grammars`.",
        "start": START,
        "states": {state: [_row(row) for row in rows] for state, rows in STATES.items()},
        "kinds": {kind.name.lower(): kind.codemirror for kind in Kind},
        "keywords": words.KEYWORDS,
        "sparqlKeywords": words.SPARQL_KEYWORDS,
        "functions": words.FUNCTIONS,
    }


def _row(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {"pattern": javascript(row.pattern), "kind": row.kind.name.lower() if row.kind else None}
    found |= {"ignoreCase": True} if row.ignore_case else {}
    found |= {"push": row.push} if row.push else {}
    return found | ({"pop": True} if row.pop else {})


def javascript(pattern: str) -> str:
    r"""The pattern with the letters of all alphabets in `\w`, as Python has it."""
    inside = False
    parts: list[str] = []
    end = 0
    for found in _PYTHON_CLASSES.finditer(pattern):
        parts.append(pattern[end : found.start()])
        end = found.end()
        match found.group():
            case r"[^\W\d_]":
                parts.append(r"\p{L}")
            case r"[^\W\d]":
                parts.append(r"[\p{L}_]")
            case r"\w":
                parts.append(r"\p{L}\p{N}_" if inside else r"[\p{L}\p{N}_]")
            case bracket:
                inside = bracket == "[" or (inside and bracket != "]")
                parts.append(bracket)
    return "".join([*parts, pattern[end:]])


def grammar() -> dict[str, Any]:
    """The TextMate grammar: a state is a rule that begins where it is entered and ends where it is left."""
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "comment": "Made from spaseq.editors.states by `make grammars`.",
        "name": "SPAseq",
        "scopeName": SCOPE,
        "fileTypes": ["rq", "spaseq"],
        "patterns": [{"include": f"#{START}"}],
        "repository": {state: {"patterns": _rules(rows)} for state, rows in STATES.items()},
    }


def _rules(rows: tuple[Row, ...]) -> list[dict[str, Any]]:
    """The rules of a state but for those that leave it, which are the end of the rule that enters it."""
    return [_rule(row) for row in rows if not row.pop]


def _rule(row: Row) -> dict[str, Any]:
    if row.push is None:
        return {"match": _oniguruma(row), **({"name": row.kind.textmate} if row.kind else {})}
    ends = [leaving for leaving in STATES[row.push] if leaving.pop]
    captures = {str(place): {"name": end.kind.textmate} for place, end in enumerate(ends, 1) if end.kind}
    return {
        "begin": _oniguruma(row),
        "beginCaptures": {"0": {"name": row.kind.textmate}} if row.kind else {},
        "end": "|".join(f"({_oniguruma(end)})" for end in ends),
        "endCaptures": captures,
        **({"applyEndPatternLast": 1} if LEAVE in ends else {}),
        "patterns": [{"include": f"#{row.push}"}],
    }


def _oniguruma(row: Row) -> str:
    return f"(?i:{row.pattern})" if row.ignore_case else row.pattern


MADE: dict[Path, Callable[[], dict[str, Any]]] = {TABLE: table, GRAMMAR: grammar}
"""The files that are made from the machine."""


def text(made: dict[str, Any]) -> str:
    """A made file's text."""
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def write(folder: Path) -> None:
    """Write every made file below a folder, that of the project."""
    for path, make in MADE.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text(make()), encoding="utf-8")


if __name__ == "__main__":
    write(Path.cwd())
