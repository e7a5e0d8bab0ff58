"""The language of code blocks: queries have SPARQL's on GitHub, and on the site that of our own lexer of Pygments."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"^```sparql\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_QUERY = re.compile(r"\bDEFINE\s+GPM\b|\bSEQ\s*\(")


def with_colours(text: str) -> str:
    """The page with its queries in the language `spaseq`."""
    return _BLOCK.sub(lambda block: f"```spaseq\n{block[1]}```" if _QUERY.search(block[1]) else block[0], text)


def queries_of(text: str) -> list[str]:
    """The code blocks of a page that are queries."""
    return [block[1] for block in _BLOCK.finditer(text) if _QUERY.search(block[1])]
