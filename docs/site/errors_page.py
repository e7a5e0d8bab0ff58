"""The page of errors and warnings, made from the table of their codes."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill

from spaseq.lang.codes import Code

HEAD = """# Errors and warnings

Made from the program; `spaseq problem SQ018` prints the same. Every problem of the text of a query has a code,
`FILE:LINE:COLUMN: error[SQ018]: …`, which never changes its meaning: in what `spaseq validate`, `run`, `explain` and
`submit` print, and in Python in `QueryError.problems` and `query.warnings` (`problem.code`). A query with an error is
not run; one with a warning is. `-W error` makes errors of warnings (exit code 2).

The [specification](specification.md#21-grammar) has the grammar; [Coming from …](../coming-from.md) has other languages
beside ours.
"""


def errors_page() -> str:
    """The page: each code with its title, cause and cure, errors first."""
    return f"{HEAD}{_section('Errors', 'error')}{_section('Warnings', 'warning')}"


def _section(title: str, severity: str) -> str:
    return f"\n## {title}\n{''.join(_entries(code for code in Code if code.severity == severity))}"


def _entries(codes: Iterable[Code]) -> Iterable[str]:
    for code in codes:
        title = f"{code.title[0].upper()}{code.title[1:]}"
        yield f"\n### {code.code}\n\n{_prose(f'**{title}.** {code.cause}')}\n{_prose(f'*Cure:* {code.cure}')}\n"


def _prose(text: str) -> str:
    """Text in lines; they break at blanks alone."""
    return fill(text, 130, break_long_words=False, break_on_hyphens=False)
