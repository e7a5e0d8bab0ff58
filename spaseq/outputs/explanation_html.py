"""Explanations as HTML, for notebooks: their text, escaped."""

from __future__ import annotations

from html import escape


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
