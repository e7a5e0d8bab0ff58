"""The names of CONSTRUCT's graphs: hashes of the matches that they are made of (specification 3.5.3).

name      := "urn:spaseq:match:", the first 16 bytes of SHA-256(SHA-256(canonical text of the query) taking …) in hex
taking    := SHA-256(text(step) text(graph name) text(variable) text(term) …), one for each (step, event, ν)
text(x)   := number of bytes, ":", bytes

Takings stand in the order of the steps in SEQ, then of the events, then of their bytes; the variables that ν binds in
the order of their names. Terms are canonical N-Triples; a blank node of the event has its label in the canonical form
of the event's graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from automata.values import UNBOUND, Match
from sparql_gpm.canonical_labels import canonical_labels
from sparql_gpm.dictionary import Dictionary
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.enrichment import Enricher
from spaseq.runtime.state.graph_names import GraphNames
from spaseq.runtime.state.kept_solutions import KeptSolutions

PREFIX = "urn:spaseq:match:"
_BYTES = 16
_TAKINGS_MAX = 1 << 16
"""Takings whose hashes are cached; when there are more, the cache is cleared."""


class MatchNames:
    """Names the matches of one query."""

    def __init__(
        self, compiled: Compiled, dictionary: Dictionary, enricher: Enricher, kept: KeptSolutions, names: GraphNames
    ) -> None:
        self._query = compiled.query
        self._dictionary = dictionary
        self._enricher = enricher
        self._kept = kept
        self._names = names
        self._begun = sha256(compiled.query.digest)
        self._takings: dict[tuple[int, int, int], bytes] = {}
        self._labels: dict[int, Mapping[str, str]] = {}

    def of(self, match: Match) -> str:
        """The name of the graph of a match."""
        known = self._takings
        if len(known) > _TAKINGS_MAX or len(self._labels) > _TAKINGS_MAX:
            known.clear()
            self._labels.clear()
        takings = []
        for taken in match.entries:
            hashed = known.get(taken)
            if hashed is None:
                hashed = known[taken] = self._taking(*taken)
            takings.append((taken[0], taken[1], hashed))
        whole = self._begun.copy()
        whole.update(b"".join([hashed for _, _, hashed in sorted(takings)]))
        return PREFIX + whole.digest()[:_BYTES].hex()

    def _taking(self, symbol: int, position: int, number: int) -> bytes:
        names, query = self._query.variables, self._query
        solution = {names[variable]: value for variable, value in self._kept.of(symbol, position, number).items()}
        values = self._enricher.of_solution(symbol, solution)
        parts = [query.patterns[symbol].name, *self._names.of([position])]
        for name in sorted(values):
            if values[name] != UNBOUND:
                parts += name, self._term(values[name], position)
        encoded = (part.encode(errors="surrogatepass") for part in parts)
        return sha256(b"".join([b"%d:%s" % (len(part), part) for part in encoded])).digest()

    def _term(self, identifier: int, position: int) -> str:
        """The text of a term of a solution of the event at a position."""
        text = self._text(identifier)
        if not text.startswith("_:"):
            return text
        if position not in self._labels:
            graph = self._kept.graph(position)
            columns = [] if graph is None else [map(self._text, column.tolist()) for column in graph.terms]
            self._labels[position] = canonical_labels(list(zip(*columns, strict=True)))
        return self._labels[position].get(text, text)

    def _text(self, identifier: int) -> str:
        return self._dictionary.token(identifier).decode(errors="surrogatepass")
