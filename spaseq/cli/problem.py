"""The command `spaseq problem`: title, cause and cure of problems of queries."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from textwrap import fill

import click

from spaseq.lang.codes import Code


def told(codes: Sequence[str]) -> str:
    """The texts of the problems with these codes, of all where none is named; UsageError for an unknown code."""
    known = {code.code: code for code in Code}
    for name in codes:
        if name.upper() not in known:
            near = ", ".join(get_close_matches(name.upper(), known)) or "SQ001"
            raise click.UsageError(f"there is no code {name}; codes are like {near}")
    chosen = [known[name.upper()] for name in codes] or list(Code)
    return "\n\n".join(map(_text, chosen))


def _text(code: Code) -> str:
    paragraphs = (f"{code.severity}[{code.code}]: {code.title}", code.cause, f"Cure: {code.cure}")
    return "\n".join(fill(each, 100, break_long_words=False, break_on_hyphens=False) for each in paragraphs)
