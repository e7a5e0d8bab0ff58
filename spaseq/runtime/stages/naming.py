"""The names of CONSTRUCT's graphs: hashes of the matches that they are made of (specification 3.5.3).

name      := "urn:spaseq:match:", the first 16 bytes of SHA-256(SHA-256(canonical text of the query) taking …) in hex
taking    := SHA-256(text(step) text(graph name) text(variable) text(term) …), one for each (step, event, ν)
text(x)   := number of bytes, ":", bytes

Takings stand in the order of the steps in SEQ, then of the events, then of their bytes; the variables that ν binds in
the order of their names. Terms are canonical N-Triples; a blank node of the event has its label in the canonical form
of the event's graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from automata.values import UNBOUND, Match
from sparql_gpm.canonical_labels import canonical_labels, with_labels
from sparql_gpm.dictionary import Dictionary
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.enrichment import Enricher
from spaseq.runtime.state.graph_names import GraphNames
from spaseq.runtime.state.kept_solutions import KeptSolutions

PREFIX = "urn:spaseq:match:"
_BYTES = 16
_TAKINGS_MAX = 1 << 16
"""Takings whose hashes are cached; when there are more, the cache is cleared."""
_TEXTS_MAX = 10_000
"""Terms whose texts are cached; likewise."""


class MatchNames:
    """Names the matches of one query."""

    def __init__(
        self, compiled: Compiled, dictionary: Dictionary, enricher: Enricher, kept: KeptSolutions, names: GraphNames
    ) -> None:
        self._dictionary = dictionary
        self._enricher = enricher
        self._kept = kept
        self._names = names
        self._begun = sha256(compiled.query.digest)
        self._takings: dict[tuple[int, int, int], bytes] = {}
        self._labels: dict[int, Mapping[str, str]] = {}
        self._texts: dict[int, bytes] = {}
        self._generation = dictionary.generation
        self._steps = [_text(pattern.name.encode()) for pattern in compiled.query.patterns]
        every = {name for pattern in compiled.query.patterns for name in pattern.variables}
        self._variables = {name: _text(name.encode()) for name in sorted(every.union(enricher.variables))}

    def of(self, match: Match) -> str:
        """The name of the graph of a match."""
        return self.of_entries(match.entries)

    def of_entries(self, entries: Iterable[tuple[int, int, int]]) -> str:
        """The name of the graph of a match with these entries, in any order."""
        known = self._takings
        if len(known) > _TAKINGS_MAX or len(self._labels) > _TAKINGS_MAX:
            known.clear()
            self._labels.clear()
        takings = []
        for taken in entries:
            hashed = known.get(taken)
            if hashed is None:
                hashed = known[taken] = self._taking(*taken)
            takings.append((taken[0], taken[1], hashed))
        whole = self._begun.copy()
        whole.update(b"".join([hashed for _, _, hashed in sorted(takings)]))
        return PREFIX + whole.digest()[:_BYTES].hex()

    def _taking(self, symbol: int, position: int, number: int) -> bytes:
        if self._generation != self._dictionary.generation or len(self._texts) > _TEXTS_MAX:
            self._texts.clear()
            self._generation = self._dictionary.generation
        values = self._enricher.of_solution(symbol, self._kept.of(symbol, position, number))
        parts = [self._steps[symbol], _text(self._names.of([position])[0].encode())]
        for name in sorted(values):
            value = values[name]
            if value != UNBOUND:
                parts += self._variables[name], self._texts.get(value) or self._term(value, position)
        return sha256(b"".join(parts)).digest()

    def _term(self, identifier: int, position: int) -> bytes:
        token = self._dictionary.token(identifier)
        if not token.startswith((b"_:", b"<<")):
            text = self._texts[identifier] = _text(token)
            return text
        if position not in self._labels:
            self._labels[position] = self._labels_at(position)
        labels = self._labels[position]
        named = with_labels(token.decode(errors="surrogatepass"), lambda node: labels.get(node, node))
        return _text(named.encode(errors="surrogatepass"))

    def _labels_at(self, position: int) -> Mapping[str, str]:
        graph = self._kept.graph(position)
        if graph is None:
            return {}
        columns = [
            [self._dictionary.token(i).decode(errors="surrogatepass") for i in ids.tolist()] for ids in graph.terms
        ]
        return canonical_labels(list(zip(*columns, strict=True)))


def _text(value: bytes) -> bytes:
    return b"%d:%s" % (len(value), value)
