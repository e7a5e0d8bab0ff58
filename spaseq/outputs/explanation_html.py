"""Explanations: common forms, and their text as nested lists of HTML for notebooks."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from html import escape
from typing import Any


def text_as_html(text: str) -> str:
    """A text in which indentation says what belongs together, as nested lists."""
    parts, depths = ['<div class="spaseq-explanation">'], [-1]
    for line in filter(None, text.splitlines()):
        depth = len(line) - len(line.lstrip())
        while depths[-1] > depth:
            parts.append("</li></ul>")
            depths.pop()
        if depths[-1] < depth:
            parts.append("<ul>")
            depths.append(depth)
        else:
            parts.append("</li>")
        parts.append(f"<li>{escape(line.strip())}")
    parts += ["</li></ul>"] * (len(depths) - 1)
    return "".join([*parts, "</div>"])


class Explanation(ABC):
    """An explanation as values; `str` gives its text."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON has it."""

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_html(self) -> str:
        """The text as nested lists of HTML."""
        return text_as_html(str(self))

    def _repr_html_(self) -> str:
        return self.to_html()
