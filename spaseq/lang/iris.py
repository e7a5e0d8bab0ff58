"""IRIs of the outer language: escapes, resolution against BASE, prefixed names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparql_gpm.tokens import unescape
from spaseq.lang.drafts import BaseClause, Clause, PrefixClause, Word
from spaseq.lang.report import Report, choices_hint

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)


def resolve(reference: str, base: str | None) -> str:
    """The absolute form of an IRI reference (RFC 3986, Section 5.2); without a base it stays as it is."""
    scheme, authority, path, query, fragment = _split(reference)
    if base is None or scheme is not None:
        return reference
    base_scheme, base_authority, base_path, base_query, _ = _split(base)
    if authority is not None:
        path = _without_dots(path)
    elif not path:
        authority, path, query = base_authority, base_path, base_query if query is None else query
    else:
        merged = path if path.startswith("/") else _merged(base_authority, base_path, path)
        authority, path = base_authority, _without_dots(merged)
    pieces = (f"{base_scheme}:" if base_scheme else "", "" if authority is None else f"//{authority}", path)
    return "".join(pieces) + ("" if query is None else f"?{query}") + ("" if fragment is None else f"#{fragment}")


class Namespace:
    """BASE and the prefixes of a query. Each undeclared prefix is reported once, where it is used first."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._undeclared: set[str] = set()
        self.base: str | None = None
        self.prefixes: dict[str, str] = {}

    def declare(self, clauses: Iterable[Clause]) -> None:
        """Takes BASE and PREFIX in the order written; a later declaration replaces an earlier one."""
        for clause in clauses:
            match clause:
                case BaseClause(iri):
                    self.base = self.expand(iri)
                case PrefixClause(prefix, iri) if prefix.text.endswith(":"):
                    self.prefixes[prefix.text[:-1]] = self.expand(iri)
                case PrefixClause(prefix, _):
                    message = f"'{prefix.text}' is not a prefix"
                    self._report.error(prefix.span, message, "a prefix ends with a colon: PREFIX ex: <…>")

    def expand(self, word: Word) -> str:
        """The IRI of `<…>` or `prefix:local`."""
        try:
            if word.text.startswith("<"):
                return resolve(unescape(word.text[1:-1]), self.base)
            self.check(word)
            prefix, _, local = word.text.partition(":")
            return self.prefixes.get(prefix, "") + unescape(local)
        except ValueError as error:
            self._report.error(word.span, str(error))
            return ""

    def check(self, word: Word) -> None:
        """Reports the prefix of a prefixed name unless it is declared."""
        prefix = word.text.partition(":")[0]
        if prefix in self.prefixes or prefix in self._undeclared:
            return
        self._undeclared.add(prefix)
        write = f"declare it: PREFIX {prefix}: <…>"
        hint = choices_hint(f"{prefix}:", [f"{known}:" for known in self.prefixes], f"{write}; declared here: {{}}")
        self._report.error(word.span, f"undeclared prefix '{prefix}:'", hint or write)

    def with_undeclared(self) -> dict[str, str]:
        """The prefixes, those that are missing included, so that one missing prefix hides no other mistake."""
        return {**self.prefixes, **{prefix: f"urn:undeclared:{prefix}:" for prefix in self._undeclared}}


def _split(reference: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    found = _PARTS.fullmatch(reference)
    assert found, reference
    scheme, authority, path, query, fragment = found.groups()
    return scheme, authority, path, query, fragment


def _merged(base_authority: str | None, base_path: str, path: str) -> str:
    if base_authority is not None and not base_path:
        return f"/{path}"
    return base_path[: base_path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    """The path without `.` and `..` segments (RFC 3986, Section 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == ".." and len(kept) > 1:
            kept.pop()
        elif segment not in {".", ".."}:
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/".join(kept)
