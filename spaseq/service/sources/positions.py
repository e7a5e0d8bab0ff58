"""Positions as texts, each with the source that it belongs to: a stream may get another one."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

_Value = TypeVar("_Value")


def position_text(source: str, value: Any) -> bytes:
    """The text of a position (JSON)."""
    return msgspec.json.encode({"source": source, "at": value})


def position_in(text: bytes | None, source: str, kind: type[_Value]) -> _Value | None:
    """The position in its text; None if there is none, or it belongs to another source."""
    if text is None:
        return None
    found = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    if msgspec.json.decode(found["source"]) != source:
        return None
    return msgspec.json.decode(found["at"], type=kind)
