"""What a query means, rendered: as text for people, as JSON for programs, as DOT and Mermaid for pictures."""

from __future__ import annotations

from typing import assert_never

from spaseq.explain.description import (
    Alternative,
    Condition,
    Description,
    Edge,
    Evaluator,
    Format,
    KnowledgeBase,
    KnowledgeUse,
    PatternPlan,
    Repetition,
    State,
    StateKind,
    Stream,
)
from spaseq.explain.diagram import to_dot, to_mermaid
from spaseq.explain.document import to_json
from spaseq.explain.text import to_text

__all__ = [
    "Alternative",
    "Condition",
    "Description",
    "Edge",
    "Evaluator",
    "Format",
    "KnowledgeBase",
    "KnowledgeUse",
    "PatternPlan",
    "Repetition",
    "State",
    "StateKind",
    "Stream",
    "render",
    "to_dot",
    "to_json",
    "to_mermaid",
    "to_text",
]


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
