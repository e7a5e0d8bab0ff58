"""A description as text for people, as JSON for programs, as DOT and Mermaid for pictures."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import assert_never

from spaseq.explain.description import Description, Format
from spaseq.explain.diagram import to_dot, to_mermaid
from spaseq.explain.text import to_text


def render(description: Description, format: Format) -> str:
    """The description in this format, ending with a line end."""
    match format:
        case "text":
            return to_text(description)
        case "json":
            return to_json(description)
        case "dot":
            return to_dot(description)
        case "mermaid":
            return to_mermaid(description)
        case _:
            assert_never(format)


def to_json(description: Description) -> str:
    """The description as JSON: its fields in order, empty ones included."""
    return json.dumps(asdict(description), ensure_ascii=False, indent=2) + "\n"
