"""Canonical labels of the blank nodes of a graph: RDF Dataset Canonicalization 1.0 (RDFC-1.0, Section 4) with SHA-256.

Nodes inside triple terms, of which RDFC-1.0 does not know, are named by the triple as its subject and object are.
Isomorphic graphs give corresponding nodes the same labels, whatever they are called. Nodes that their own triples tell
apart cost one hash each. Of others every order of alike neighbours is looked at, which is exponential at worst, so the
work has a bound; beyond it the nodes are numbered in the order in which the triples name them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import permutations

PATHS_MAX = 5_000
"""Orders of alike neighbours looked at in one graph."""
DEPTH_MAX = 100
"""Nodes through which a node's neighbourhood is followed."""

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|<[^<>]*>|_:[^ ]*', re.DOTALL)

TripleText = tuple[str, str, str]
"""A triple as canonical N-Triples texts of its terms."""


class _TooMuchWork(Exception):
    """The graph needs more than PATHS_MAX or DEPTH_MAX."""


def canonical_labels(triples: Sequence[TripleText]) -> dict[str, str]:
    """Blank node as text, with its `_:`  →  `_:c14n0`, `_:c14n1` and so on."""
    try:
        nodes = {node for triple in triples for term in triple for node in _nodes(term)}
        return _Canonicalization(triples).labels() if len(nodes) > 1 else _numbered(nodes)
    except _TooMuchWork:
        return _numbered(node for triple in triples for term in triple for node in _nodes(term))


def _numbered(nodes: Iterable[str]) -> dict[str, str]:
    return {node: f"_:c14n{number}" for number, node in enumerate(dict.fromkeys(nodes))}


def with_labels(term: str, labels: Callable[[str], str]) -> str:
    """The text of a term with other labels of its blank nodes."""
    if term.startswith("_:"):
        return labels(term)
    if term.startswith("<<"):
        return _TOKEN.sub(lambda found: labels(found[0]) if found[0].startswith("_:") else found[0], term)
    return term


def _nodes(term: str) -> list[str]:
    """The blank nodes of a term, in the order of its text."""
    if term.startswith("_:"):
        return [term]
    return [token for token in _TOKEN.findall(term) if token.startswith("_:")] if term.startswith("<<") else []


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


class _Canonicalization:
    """One run over one graph; the names of methods are those of the algorithm's parts."""

    def __init__(self, triples: Sequence[TripleText]) -> None:
        self._triples: dict[str, list[TripleText]] = {}
        for triple in dict.fromkeys(triples):
            for node in {node for term in (triple[0], triple[2]) for node in _nodes(term)}:
                self._triples.setdefault(node, []).append(triple)
        self._first = {node: self._first_degree(node) for node in self._triples}
        self._issued: dict[str, str] = {}
        self._paths = 0

    def labels(self) -> dict[str, str]:
        """The canonical label of each blank node (4.4.3)."""
        alike: dict[str, list[str]] = {}
        for node, hashed in self._first.items():
            alike.setdefault(hashed, []).append(node)
        for hashed in sorted(alike):
            if len(alike[hashed]) == 1:
                self._issue(alike[hashed])
        for hashed in sorted(alike):
            found = []
            for node in alike[hashed]:
                if node not in self._issued:
                    found.append(self._n_degree(node, {node: "_:b0"}, 0))
            for _, temporary in sorted(found, key=lambda pair: pair[0]):
                self._issue(temporary)
        return self._issued

    def _issue(self, nodes: Iterable[str]) -> None:
        for node in nodes:
            self._issued.setdefault(node, f"_:c14n{len(self._issued)}")

    def _first_degree(self, node: str) -> str:
        """Hash First Degree Quads (4.6)."""

        def shown(term: str) -> str:
            return with_labels(term, lambda label: "_:a" if label == node else "_:z")

        return _hash("".join(sorted(f"{shown(s)} {p} {shown(o)} .\n" for s, p, o in self._triples[node])))

    def _related(self, node: str, temporary: dict[str, str]) -> dict[str, list[str]]:
        """Hash Related Blank Node (4.7) of all neighbours: hash → nodes."""
        found: dict[str, list[str]] = {}
        for subject, predicate, target in self._triples[node]:
            inside = ((f"o{place or ''}", related) for place, related in enumerate(_nodes(target)))
            for position, related in (*(("s", related) for related in _nodes(subject)), *inside):
                if related != node:
                    known = self._issued.get(related) or temporary.get(related) or self._first[related]
                    found.setdefault(_hash(f"{position}{predicate}{known}"), []).append(related)
        return found

    def _n_degree(self, node: str, temporary: dict[str, str], depth: int) -> tuple[str, dict[str, str]]:
        """Hash N-Degree Quads (4.8): the hash, and the temporary labels in the order of their issue."""
        if depth > DEPTH_MAX:
            raise _TooMuchWork
        data = []
        related = self._related(node, temporary)
        for hashed in sorted(related):
            chosen: tuple[str, dict[str, str]] | None = None
            for order in permutations(related[hashed]):
                path = self._path(order, temporary, depth, chosen[0] if chosen else "")
                if path is not None and (chosen is None or path[0] < chosen[0]):
                    chosen = path
            assert chosen is not None, node
            data += [hashed, chosen[0]]
            temporary = chosen[1]
        return _hash("".join(data)), temporary

    def _path(
        self, order: Sequence[str], temporary: dict[str, str], depth: int, chosen: str
    ) -> tuple[str, dict[str, str]] | None:
        """The path and the labels of one order of neighbours; None if it cannot come before the chosen one."""
        self._paths += 1
        if self._paths > PATHS_MAX:
            raise _TooMuchWork
        path, temporary = "", dict(temporary)
        followed = []
        for related in order:
            if related not in self._issued and related not in temporary:
                followed.append(related)
                temporary[related] = f"_:b{len(temporary)}"
            path += self._issued.get(related) or temporary[related]
            if _exceeds(path, chosen):
                return None
        for related in followed:
            hashed, found = self._n_degree(related, temporary, depth + 1)
            path += f"{temporary[related]}<{hashed}>"
            temporary = found
            if _exceeds(path, chosen):
                return None
        return path, temporary


def _exceeds(path: str, chosen: str) -> bool:
    return bool(chosen) and len(path) >= len(chosen) and path > chosen
