"""The lexer of Pygments for queries, so that documentation and notebooks show them in colours."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Text, string_to_tokentype

from spaseq.editors.states import START, STATES, Row


def _rule(row: Row) -> tuple[Any, ...]:
    pattern = f"(?i:{row.pattern})" if row.ignore_case else row.pattern
    kind = Text if row.kind is None else string_to_tokentype(row.kind.pygments)
    after = row.push or ("#pop" if row.pop else None)
    return (pattern, kind, after) if after else (pattern, kind)


class SPAseqLexer(RegexLexer):  # type: ignore[misc]
    """SPAseq queries, by the name `spaseq` or in files `*.spaseq`."""

    name = "SPAseq"
    aliases: ClassVar[list[str]] = ["spaseq"]
    filenames: ClassVar[list[str]] = ["*.spaseq"]
    flags = 0
    tokens: ClassVar[dict[str, list[tuple[Any, ...]]]] = {
        "root" if state == START else state: [_rule(row) for row in rows] for state, rows in STATES.items()
    }
