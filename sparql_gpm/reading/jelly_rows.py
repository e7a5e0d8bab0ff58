"""Rows of Jelly (the protocol's version 1.1): lookup tables, options, and statements as quads of pyoxigraph.

A table is filled by entries; identifier 0 stands for the next one of an entry, for the next name, or for the same
prefix as before. A term that a statement leaves out is that of the statement before.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyoxigraph as ox

from sparql_gpm.reading.document_terms import UnsupportedTerm
from sparql_gpm.reading.protobuf import BYTES, VARINT, BadMessage, fields

VERSION_MAX = 2
TABLE_MAX = 1 << 20
"""The largest lookup table that is accepted."""
TRIPLES, QUADS, GRAPHS = 1, 2, 3
"""Physical types."""
FLAT_LOGICAL = (0, 1, 2)
"""Logical types in which frames mean nothing, by the last digit of their number; in others a frame is a unit."""
_OPTIONS, _TRIPLE, _QUAD, _GRAPH_START, _GRAPH_END, _NAME, _PREFIX, _DATATYPE = 1, 2, 3, 4, 5, 9, 10, 11
"""Kinds of rows; a declaration of a namespace says nothing about data."""

Node = ox.NamedNode | ox.BlankNode | ox.Literal
Graph = ox.NamedNode | ox.BlankNode | ox.DefaultGraph
_DEFAULT = ox.DefaultGraph()


@dataclass(slots=True)
class Options:
    """The options in the first row of a stream."""

    physical: int = 0
    logical: int = 0
    names: int = 0
    prefixes: int = 0
    datatypes: int = 0
    version: int = 0


class Table:
    """A lookup table: texts by identifiers from 1 to its size."""

    def __init__(self, size: int, what: str) -> None:
        if size > TABLE_MAX:
            raise BadMessage(f"a table of {size:,} {what}s: at most {TABLE_MAX:,}")
        self._texts: list[str | None] = [None] * (size + 1)
        self._what, self._last = what, 0

    def enter(self, identifier: int, text: str) -> int:
        """Enter a text; returns its identifier."""
        self._last = identifier or self._last + 1
        if self._last >= len(self._texts):
            raise BadMessage(f"{self._what} {self._last} is beyond the table's size, {len(self._texts) - 1}")
        self._texts[self._last] = text
        return self._last

    def text(self, identifier: int) -> str:
        """The text of an identifier."""
        found = self._texts[identifier] if identifier < len(self._texts) else None
        if found is None:
            raise BadMessage(f"there is no {self._what} {identifier}")
        return found


class Rows:
    """The state of a stream: its tables, its last terms, and the graph that is open.

    options     None before the first row
    """

    def __init__(self) -> None:
        self.options: Options | None = None
        self._names = self._prefixes = self._datatypes = Table(0, "entry")
        self._iris: dict[int, dict[int, ox.NamedNode]] = {}
        self._prefix = self._name = 0
        self._last: list[Node | None] = [None, None, None]
        self._last_graph: Graph | None = None
        self._graph: Graph = _DEFAULT

    def take(self, data: bytes, at: int, end: int) -> ox.Quad | None:
        """Read a row; a quad if it is a statement.

        Raises UnsupportedTerm or ValueError for a statement that is no RDF, BadMessage for what is no Jelly.
        """
        for number, wire, begin, stop in fields(data, at, end):
            if wire != BYTES:
                raise BadMessage("a row is a message")
            if self.options is None and number != _OPTIONS:
                raise BadMessage("the stream does not begin with its options")
            if number in (_TRIPLE, _QUAD):
                return self._statement(data, begin, stop, number == _QUAD)
            if number in (_NAME, _PREFIX, _DATATYPE):
                self._entry(number, data, begin, stop)
            elif number == _OPTIONS:
                self._enter_options(data, begin, stop)
            elif number == _GRAPH_START:
                self._graph = self._started(data, begin, stop)
            elif number == _GRAPH_END:
                self._graph = _DEFAULT
        return None

    def _enter_options(self, data: bytes, at: int, end: int) -> None:
        found = {number: value for number, wire, _, value in fields(data, at, end) if wire == VARINT}
        options = Options(*(found.get(number, 0) for number in (2, 14, 9, 10, 11, 15)))
        if self.options is not None:
            if options != self.options:
                raise BadMessage("the options of the stream change")
            return
        if options.version > VERSION_MAX:
            raise BadMessage(f"version {options.version} of Jelly: at most {VERSION_MAX} is read")
        if options.physical not in (TRIPLES, QUADS, GRAPHS):
            raise BadMessage(f"the physical type {options.physical} is none of TRIPLES, QUADS and GRAPHS")
        self._names, self._prefixes = Table(options.names, "name"), Table(options.prefixes, "prefix")
        self._datatypes = Table(options.datatypes, "datatype")
        self.options = options

    def _entry(self, number: int, data: bytes, at: int, end: int) -> None:
        identifier, text = 0, ""
        for field, wire, begin, value in fields(data, at, end):
            if field == 1 and wire == VARINT:
                identifier = value
            elif field == 2 and wire == BYTES:
                text = data[begin:value].decode()
        if number == _DATATYPE:
            self._datatypes.enter(identifier, text)
            return
        if number == _NAME:
            self._iris.pop(self._names.enter(identifier, text), None)
        else:
            self._prefixes.enter(identifier, text)
            self._iris.clear()

    def _statement(self, data: bytes, at: int, end: int, quad: bool) -> ox.Quad:
        fault: ValueError | None = None
        for number, wire, begin, stop in fields(data, at, end):
            slot, kind = divmod(number - 1, 4)
            if slot > 3 or wire != BYTES:
                raise BadMessage("a statement has another field than its terms")
            try:
                if slot == 3:
                    self._last_graph = self._graph_term(kind, data, begin, stop)
                else:
                    self._last[slot] = self._term(kind, data, begin, stop)
            except BadMessage:
                raise
            except ValueError as error:
                self._last[min(slot, 2)] = None
                fault = fault or error
        if fault is not None:
            raise fault
        subject, predicate, target = self._last
        graph = self._last_graph if quad else self._graph
        if subject is None or predicate is None or target is None or graph is None:
            raise BadMessage("a statement repeats a term that there was not")
        if isinstance(subject, ox.Literal) or not isinstance(predicate, ox.NamedNode):
            raise UnsupportedTerm("generalized statements are not supported: a subject or predicate is of another kind")
        return ox.Quad(subject, predicate, target, graph)

    def _started(self, data: bytes, at: int, end: int) -> Graph:
        for number, _, begin, stop in fields(data, at, end):
            return self._graph_term(number - 1, data, begin, stop)
        return _DEFAULT

    def _graph_term(self, kind: int, data: bytes, at: int, end: int) -> Graph:
        if kind == 2:
            return _DEFAULT
        if kind == 3:
            raise UnsupportedTerm("literals as names of graphs (generalized RDF) are not supported")
        found = self._term(kind, data, at, end)
        assert isinstance(found, ox.NamedNode | ox.BlankNode), found
        return found

    def _term(self, kind: int, data: bytes, at: int, end: int) -> Node:
        match kind:
            case 0:
                return self._iri(data, at, end)
            case 1:
                return _blank(data[at:end].decode())
            case 2:
                return self._literal(data, at, end)
        raise UnsupportedTerm("triple terms (RDF-star, RDF 1.2) are not supported")

    def _iri(self, data: bytes, at: int, end: int) -> ox.NamedNode:
        prefix = name = 0
        for number, wire, _, value in fields(data, at, end):
            if wire == VARINT:
                prefix, name = (value, name) if number == 1 else (prefix, value)
        self._prefix = prefix or self._prefix
        self._name = name or self._name + 1
        known = self._iris.setdefault(self._name, {})
        found = known.get(self._prefix)
        if found is None:
            text = (self._prefixes.text(self._prefix) if self._prefix else "") + self._names.text(self._name)
            found = known[self._prefix] = ox.NamedNode(text)
        return found

    def _literal(self, data: bytes, at: int, end: int) -> ox.Literal:
        text, language, datatype = "", None, 0
        for number, wire, begin, value in fields(data, at, end):
            if number == 1 and wire == BYTES:
                text = data[begin:value].decode()
            elif number == 2 and wire == BYTES:
                language = data[begin:value].decode()
            elif number == 3 and wire == VARINT:
                datatype = value
        if language is not None:
            return ox.Literal(text, language=language)
        return ox.Literal(text, datatype=ox.NamedNode(self._datatypes.text(datatype))) if datatype else ox.Literal(text)


def _blank(label: str) -> ox.BlankNode:
    try:
        return ox.BlankNode(label)
    except ValueError:
        return ox.BlankNode(f"x{label.encode().hex()}")
