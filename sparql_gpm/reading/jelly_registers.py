"""The last terms of a Jelly stream, which kernels hold as ids and the reader in Python as terms of pyoxigraph."""

from __future__ import annotations

import pyoxigraph as ox

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.document_terms import to_term
from sparql_gpm.reading.jelly_forms import Forms
from sparql_gpm.reading.jelly_lookups import (
    DEFAULT,
    GRAPH,
    LAZY,
    NAME,
    OBJECT,
    OPEN_GRAPH,
    PREDICATE,
    PREFIX,
    SharedState,
)  # fmt: skip
from sparql_gpm.reading.jelly_rows import Graph, Node, Rows
from sparql_gpm.reading.jelly_scanned import Scanned, Statement
from sparql_gpm.terms import IRI, BlankNode, Literal, TripleTerm


class Registers:
    """The registers of one stream, lent to the reader in Python and taken back."""

    def __init__(self, dictionary: Dictionary, forms: Forms, state: SharedState, rows: Rows) -> None:
        self._dictionary, self._forms, self._state, self._rows = dictionary, forms, state, rows

    def keep_blank_nodes(self) -> None:
        """Drop all forms but those of blank nodes in registers."""
        registers = self._state.lookups.registers
        blank = [number for number in range(OPEN_GRAPH + 1) if DEFAULT < registers[number] < 0]
        labels = [self._forms.label(-int(registers[number])) for number in blank]
        self._forms.clear()
        for number, label in zip(blank, labels, strict=True):
            registers[number] = -self._forms.enter(label)

    def quads(self, statements: list[Statement], scanned: Scanned) -> list[ox.Quad]:
        """The statements as quads."""
        known: dict[int, Node | Graph] = {}
        for term in {term for statement in statements for term in statement}:
            known[term] = scanned.term(term) if DEFAULT < term <= LAZY else self.parsed(term)
        return [ox.Quad(*(known[term] for term in statement)) for statement in statements]  # type: ignore[arg-type]

    def parsed(self, value: int) -> Node | Graph:
        """A term in a register as one of pyoxigraph."""
        if value == DEFAULT:
            return ox.DefaultGraph()
        if value < 0:
            return ox.BlankNode(self._forms.label(-value))
        match self._dictionary.term(value):
            case IRI(text):
                return ox.NamedNode(text)
            case BlankNode(label):
                return ox.BlankNode(label)
            case Literal(text, datatype, language):
                if language:
                    return ox.Literal(text, language=language)
                return ox.Literal(text, datatype=ox.NamedNode(datatype))
            case TripleTerm():
                raise AssertionError("Jelly has none here")

    def settle(self, scanned: Scanned) -> None:
        """Give the last terms ids if they have none: their texts are no longer there behind a scan."""
        registers = self._state.lookups.registers
        for register in range(OPEN_GRAPH + 1):
            if DEFAULT < registers[register] <= LAZY:
                registers[register] = self._register(scanned.term(int(registers[register])))

    def lend(self) -> None:
        """Give the reader in Python the last terms; where a register is 0 it has them."""
        rows, registers = self._rows, self._state.lookups.registers
        for slot in range(GRAPH + 1):
            if registers[slot]:
                rows.last[slot] = self.parsed(int(registers[slot]))
        if registers[OPEN_GRAPH]:
            graph = self.parsed(int(registers[OPEN_GRAPH]))
            assert not isinstance(graph, ox.Literal), graph
            rows.graph = graph
        rows.prefix, rows.name = int(registers[PREFIX]), int(registers[NAME])
        rows.forget_iris()

    def take_back(self) -> None:
        """Take the last terms of the reader in Python, apart from those that no statement of RDF has there."""
        rows, registers = self._rows, self._state.lookups.registers
        for slot, term in enumerate((*rows.last, rows.graph)):
            fits = (
                isinstance(term, ox.NamedNode)
                if slot == PREDICATE
                else slot == OBJECT or not isinstance(term, ox.Literal)
            )
            registers[slot] = self._register(term) if term is not None and fits else 0
        registers[PREFIX], registers[NAME] = rows.prefix, rows.name

    def _register(self, term: Node | Graph) -> int:
        if isinstance(term, ox.DefaultGraph):
            return DEFAULT
        if isinstance(term, ox.BlankNode):
            return -self._forms.enter(term.value)
        return self._dictionary.intern(to_term(term))
