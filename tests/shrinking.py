"""Making a pair that shows a difference smaller, while it still shows one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from spaseq.errors import QueryError
from spaseq.lang.parse import parse
from tests.random_pairs import Pair

_PARTS = re.compile(r" WITHIN \d+ \w+|(?<=[+*}])\+|OPTIONAL \{[^{}]*\}| (?:AT|AS) \?\w+|DISTINCT |\S+(?= FROM )")


def smallest(pair: Pair, differs: Callable[[Pair], bool]) -> Pair:
    """The pair without the events, clauses and conditions that the difference does not need."""
    pair = _fewer_events(pair, differs)
    text = ""
    while text != pair.query.text:
        text = pair.query.text
        for shorter in shorter_texts(text):
            try:
                less = replace(pair, query=parse(shorter, pair.query.name))
            except QueryError:
                continue
            if differs(less):
                pair = less
                break
    return _fewer_events(pair, differs)


def _fewer_events(pair: Pair, differs: Callable[[Pair], bool]) -> Pair:
    for number in reversed(range(len(pair.arrived))):
        less = pair.without(number)
        if differs(less):
            pair = less
    return pair


def shorter_texts(text: str) -> Iterator[str]:
    """The query without a line, a condition, or another small part."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.startswith(("PREFIX", "WHERE", "  SEQ", "WITHIN", "}")):
            yield "\n".join([*lines[:number], *lines[number + 1 :]])
    for found in re.finditer(r"FILTER ?\(", text):
        yield text[: found.start()] + text[_closing(text, found.end()) :]
    for found in _PARTS.finditer(text):
        if text[found.start() - 1] != "\n":
            yield text[: found.start()] + text[found.end() :]


def _closing(text: str, begin: int) -> int:
    """The index behind the parenthesis that closes the one before `begin`."""
    depth, end = 1, begin
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return end
