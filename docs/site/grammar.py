"""The grammar of the specification as a tree: alternatives of sequences of optional and repeated items."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*('[^']*'|[A-Za-z]+|[()\[\]|*+]|,)")
_RULE = re.compile(r"^(\w+)\s*:=\s*(.*?)(?=^\w+\s*:=|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Literal:
    """A keyword or a mark, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Named:
    """What another rule describes, or SPARQL's grammar."""

    name: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A rule, or the end of one, in words."""

    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """Items one after the other."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of several."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """At least so many of an item; `least` is 0 or 1, `most` 1 or None for any number."""

    item: Item
    least: int
    most: int | None


Item = Literal | Named | Remark | Row | Either | Repeated


def rules(specification: str) -> Mapping[str, Item]:
    """The rules by name, in the order of Section 2.1 of the specification. Raises ValueError for what is none."""
    text = specification.split("### 2.1 Grammar")[1].split("```")[1]
    return {name: _Reader(body).rule() for name, body in _RULE.findall(text)}


class _Reader:
    """Reads one rule from left to right."""

    def __init__(self, text: str) -> None:
        self._remark = ""
        if found := re.search(r",\s*(each .*)$|^(a \w+ other than .*)$", text.strip(), re.DOTALL):
            self._remark = (found[1] or found[2]).strip()
            text = text.strip()[: found.start()]
        self._tokens = _TOKEN.findall(text)
        if "".join(self._tokens) != re.sub(r"\s", "", text):
            raise ValueError(f"no rule of a grammar: {text}")
        self._at = 0

    def rule(self) -> Item:
        """The whole rule."""
        if not self._tokens:
            return Remark(self._remark)
        item = self._either("")
        return Row((item, Remark(self._remark))) if self._remark else item

    def _either(self, end: str) -> Item:
        found = [self._row(end)]
        while self._next() == "|":
            self._at += 1
            found.append(self._row(end))
        if self._next() != end:
            raise ValueError(f"'{end}' is missing before '{self._next()}'")
        self._at += 1
        return found[0] if len(found) == 1 else Either(tuple(found))

    def _row(self, end: str) -> Item:
        items: list[Item] = []
        while self._next() not in (end, "|", ""):
            items.append(self._repeated())
        return items[0] if len(items) == 1 else Row(tuple(items))

    def _repeated(self) -> Item:
        item = self._item()
        while self._next() in ("*", "+"):
            item = Repeated(item, int(self._next() == "+"), None)
            self._at += 1
        return item

    def _item(self) -> Item:
        token = self._next()
        self._at += 1
        if token == "(":
            return self._either(")")
        if token == "[":
            return Repeated(self._either("]"), 0, 1)
        if token in (")", "]", "*", "+", ","):
            raise ValueError(f"'{token}' begins nothing")
        return Literal(token[1:-1]) if token.startswith("'") else Named(token)

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""
