"""Contexts of JSON-LD that were supplied, in place of their URLs; none is ever fetched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

NESTED_MAX = 16
"""Contexts inside supplied contexts."""
CONTEXT_CHARACTERS_MAX = 16_000_000
"""Characters of the supplied contexts in one document, each counted as often as the document or a context names it."""


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
    replaced = _Contexts(contexts).replaced(document)
    return text if replaced is document else json.dumps(replaced).encode()


class _Contexts:
    """The supplied contexts of one document; each is put together once, however often it is named.

    named       of the context of a URL, with those that it names in their places: it and its characters
    characters  of all contexts that were put in place so far
    """

    def __init__(self, contexts: Mapping[str, Any]) -> None:
        self._contexts = contexts
        self._named: dict[str, tuple[Any, int]] = {}
        self._characters = 0

    def replaced(self, value: Any, depth: int = 0) -> Any:
        """The value with contexts in place; itself if nothing was to be replaced."""
        if isinstance(value, list):
            items = [self.replaced(each, depth) for each in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        if not isinstance(value, dict):
            return value
        literal = value.get("@type") == "@json"
        found = {
            name: self._context(inner, depth)
            if name == "@context"
            else inner
            if literal and name == "@value"
            else self.replaced(inner, depth)
            for name, inner in value.items()
        }
        return value if all(found[name] is inner for name, inner in value.items()) else found

    def _context(self, value: Any, depth: int) -> Any:
        """A context with those that it names in their places."""
        if depth > NESTED_MAX:
            raise ValueError("contexts are nested too deeply")
        if isinstance(value, str):
            return self._of(value, depth)
        if isinstance(value, list):
            parts: list[Any] = []
            for each in value:
                part = self._context(each, depth)
                parts += part if isinstance(part, list) and not isinstance(each, list) else [part]
            return value if len(parts) == len(value) and all(map(_same, parts, value)) else parts
        if isinstance(value, dict) and isinstance(url := value.get("@import"), str):
            imported = self._of(url, depth)
            if not isinstance(imported, dict):
                raise ValueError(f"the context {url} is no object and cannot be imported")
            rest = {name: inner for name, inner in value.items() if name != "@import"}
            return self.replaced({**imported, **rest}, depth)
        return self.replaced(value, depth)

    def _of(self, url: str, depth: int) -> Any:
        """The context of a URL."""
        if url not in self._contexts:
            raise MissingContext(url)
        if url not in self._named:
            before = self._characters
            written = len(json.dumps(self._contexts[url]))
            found = self._context(self._contexts[url], depth + 1)
            self._named[url] = found, written + self._characters - before
            self._characters = before
        found, characters = self._named[url]
        self._characters += characters
        if self._characters > CONTEXT_CHARACTERS_MAX:
            most = f"{CONTEXT_CHARACTERS_MAX:,} characters (contexts of a document)"
            raise ValueError(f"the contexts of one document have at most {most}")
        return found


def _same(one: Any, other: Any) -> bool:
    return one is other
