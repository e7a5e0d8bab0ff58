"""A description as JSON: the field names of the values are the keys, in their order."""

from __future__ import annotations

import json
from dataclasses import asdict

from spaseq.explain.description import Description


def to_json(description: Description) -> str:
    """The whole description; keys that have nothing to say are there, and empty."""
    return json.dumps(asdict(description), ensure_ascii=False, indent=2) + "\n"
