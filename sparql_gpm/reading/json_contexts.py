"""Contexts of JSON-LD that were supplied, in place of their URLs; none is ever fetched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

NESTED_MAX = 16
"""Contexts inside supplied contexts."""


class MissingContext(Exception):
    """A document names a context that was not supplied."""

    def __init__(self, url: str) -> None:
        super().__init__(f"the JSON-LD context {url} is not given, and none is ever fetched")
        self.url = url


def context_of(text: str) -> Any:
    """The context of a context document; raises ValueError for a text that is none."""
    found = json.loads(text)
    if not isinstance(found, dict) or "@context" not in found:
        raise ValueError("it is no JSON object with @context")
    return found["@context"]


def with_contexts(text: bytes, contexts: Mapping[str, Any]) -> bytes:
    """A document with contexts in place of their URLs; raises MissingContext, or ValueError for what is no JSON."""
    if b"@context" not in text and b"@import" not in text and b"\\u" not in text:
        return text
    try:
        document = json.loads(text.decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        return text  # its parser says where
    replaced = _replaced(document, contexts, 0)
    return text if replaced is document else json.dumps(replaced).encode()


def _replaced(value: Any, contexts: Mapping[str, Any], depth: int) -> Any:
    """The value with contexts in place; itself if nothing was to be replaced."""
    if isinstance(value, list):
        items = [_replaced(each, contexts, depth) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        return value
    literal = value.get("@type") == "@json"
    found = {
        name: _context(inner, contexts, depth)
        if name == "@context"
        else inner
        if literal and name == "@value"
        else _replaced(inner, contexts, depth)
        for name, inner in value.items()
    }
    return value if all(found[name] is inner for name, inner in value.items()) else found


def _context(value: Any, contexts: Mapping[str, Any], depth: int) -> Any:
    """A context with those that it names in their places."""
    if depth > NESTED_MAX:
        raise ValueError("contexts are nested too deeply")
    if isinstance(value, str):
        if value not in contexts:
            raise MissingContext(value)
        return _context(contexts[value], contexts, depth + 1)
    if isinstance(value, list):
        parts: list[Any] = []
        for each in value:
            part = _context(each, contexts, depth)
            parts += part if isinstance(part, list) and not isinstance(each, list) else [part]
        return value if len(parts) == len(value) and all(map(_same, parts, value)) else parts
    if isinstance(value, dict) and isinstance(url := value.get("@import"), str):
        imported = _context(url, contexts, depth + 1)
        if not isinstance(imported, dict):
            raise ValueError(f"the context {url} is no object and cannot be imported")
        rest = {name: inner for name, inner in value.items() if name != "@import"}
        return _replaced({**imported, **rest}, contexts, depth)
    return _replaced(value, contexts, depth)


def _same(one: Any, other: Any) -> bool:
    return one is other
