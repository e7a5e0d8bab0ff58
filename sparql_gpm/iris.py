"""Resolution of relative IRI references against a base (RFC 3986, Section 5.2)."""

from __future__ import annotations

import re

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)


def is_absolute(iri: str) -> bool:
    """True if the IRI has a scheme."""
    return _split(iri)[0] is not None


def resolve_iri(reference: str, base: str) -> str:
    """The absolute IRI of a reference under a base; an absolute reference is returned as it is."""
    if is_absolute(reference):
        return reference
    scheme, authority, path, query, _ = _split(base)
    _, own_authority, own_path, own_query, fragment = _split(reference)
    if own_authority is not None:
        authority, path, query = own_authority, _without_dots(own_path), own_query
    elif own_path:
        merged = own_path if own_path.startswith("/") else _merged(path, own_path, authority is not None)
        path, query = _without_dots(merged), own_query
    elif own_query is not None:
        query = own_query
    parts = (("", scheme, ":"), ("//", authority, ""), ("", path, ""), ("?", query, ""), ("#", fragment, ""))
    return "".join(before + part + after for before, part, after in parts if part is not None)


def _split(iri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    found = _PARTS.fullmatch(iri)
    assert found is not None, iri
    scheme, authority, path, query, fragment = found.groups()
    return scheme, authority, path, query, fragment


def _merged(path: str, reference: str, has_authority: bool) -> str:
    if has_authority and not path:
        return "/" + reference
    return path[: path.rfind("/") + 1] + reference


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", "..") and (not kept or kept[-1]):
        kept.append("")
    return "/".join(kept)
