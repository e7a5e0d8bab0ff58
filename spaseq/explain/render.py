"""A description as text for people, as JSON for programs, as DOT and Mermaid for pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

from spaseq.explain.description import Description, Format
from spaseq.explain.diagram import to_dot, to_mermaid
from spaseq.explain.text import to_text


def to_json(description: Description) -> str:
    """The description as JSON: its fields in order, empty ones included."""
    return json.dumps(asdict(description), ensure_ascii=False, indent=2) + "\n"


_RENDERERS: dict[Format, Callable[[Description], str]] = {
    "text": to_text,
    "json": to_json,
    "dot": to_dot,
    "mermaid": to_mermaid,
}


def render(description: Description, format: Format) -> str:
    """The description in this format, ending with a line end."""
    return _RENDERERS[format](description)
