"""Contexts of JSON-LD that were supplied, in place of their URLs; none is ever fetched."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparql_gpm.reading.context_cost import check_contexts
from sparql_gpm.reading.decoded import JSON_ENDS, count_decoded, longest_part

NESTED_MAX = 16
"""Contexts inside supplied contexts."""
_DICT_BYTES, _LIST_BYTES, _ITEM_BYTES, _QUOTE_BYTES = 232, 64, 40, 30
_SHORT_BYTES = 64 << 10
"""A document up to this length is one part."""
_PARTS_BYTES = 1 << 20
"""The length of a part, at most about."""
_PART_PRODUCT = 1 << 30
"""The length of a part by that of its longest string, at most about: each statement may repeat it."""
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


def with_contexts(text: bytes, contexts: Mapping[str, Any]) -> Sequence[bytes]:
    """A document with contexts in place of their URLs, in parts that mean the same together; one part if it is short.

    Raises MissingContext, SyntaxError for contexts that cost too much, or ValueError for what is no JSON.
    """
    if b"@context" not in text and b"@import" not in text and b"\\u" not in text:
        return (text,)
    size = _loaded_bytes(text)
    count_decoded(size)
    try:
        document = json.loads(text.decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        return (text,)  # its parser says where
    else:
        supplied = _Contexts(contexts)
        replaced = supplied.replaced(document)
        check_contexts(replaced, supplied.placed, text.count(b"{"))
        ready = text if replaced is document else json.dumps(replaced).encode()
        return (_parts(replaced, ready) if len(ready) > _SHORT_BYTES else ()) or (ready,)
    finally:
        count_decoded(-size)


def _loaded_bytes(text: bytes) -> int:
    """The memory of a document as Python objects, at most."""
    sizes = ((b"{", _DICT_BYTES), (b"[", _LIST_BYTES), (b",", _ITEM_BYTES), (b'"', _QUOTE_BYTES))
    return 2 * len(text) + sum(size * text.count(mark) for mark, size in sizes)


def _parts(document: Any, text: bytes) -> list[bytes]:
    """The nodes of a long @graph by some, each with the context and the name of the graph; none if it has no such form.

    The parser holds an object until its end, and so the whole document if it is one.
    """
    if not isinstance(document, dict) or not {"@context", "@graph"} <= document.keys():
        return []
    nodes, head = document["@graph"], {key: value for key, value in document.items() if key != "@graph"}
    if not isinstance(nodes, list) or head.keys() - {"@context", "@id"} or not isinstance(head.get("@id", ""), str):
        return []
    most = min(_PARTS_BYTES, _PART_PRODUCT // longest_part(text, JSON_ENDS))
    count = max(1, min(len(nodes), len(text) // max(most, 4 * len(json.dumps(head)))))
    size = -(-len(nodes) // count)
    return [json.dumps({**head, "@graph": nodes[at : at + size]}).encode() for at in range(0, len(nodes), size)]


class _Contexts:
    """The supplied contexts of one document; each is put together once, however often it is named.

    named       of the context of a URL, with those that it names in their places: it and its characters
    characters  of all contexts that were put in place so far
    placed      the contexts of the document itself
    """

    def __init__(self, contexts: Mapping[str, Any]) -> None:
        self._contexts = contexts
        self._named: dict[str, tuple[Any, int]] = {}
        self._characters = 0
        self.placed: list[Any] = []

    def replaced(self, value: Any) -> Any:
        """The document with contexts in place; itself if nothing was to be replaced."""
        return self._replaced(value, 0, self.placed)

    def _replaced(self, value: Any, depth: int, placed: list[Any]) -> Any:
        if isinstance(value, list):
            items = [self._replaced(each, depth, placed) for each in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        if not isinstance(value, dict):
            return value
        literal = value.get("@type") == "@json"
        found = {}
        for name, inner in value.items():
            if name == "@context":
                found[name] = self._context(inner, depth)
                placed.append(found[name])
            elif literal and name == "@value":
                found[name] = inner
            else:
                found[name] = self._replaced(inner, depth, placed)
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
            return self._replaced({**imported, **rest}, depth, [])
        return self._replaced(value, depth, [])

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
