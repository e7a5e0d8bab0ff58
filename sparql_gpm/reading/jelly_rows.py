"""Rows of Jelly (the protocol's version 1.1): lookup tables, options, and statements as quads of pyoxigraph.

A table is filled by entries; identifier 0 stands for the next one of an entry, for the next name, or for the same
prefix as before. A term that a statement leaves out is that of the statement before.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyoxigraph as ox

from sparql_gpm.reading.decoded import QUAD_BYTES, TERM_BYTES, count_decoded
from sparql_gpm.reading.document_terms import UnsupportedTerm
from sparql_gpm.reading.protobuf import BYTES, VARINT, BadMessage, fields

VERSION_MAX = 2
TABLE_MAX = 1 << 20
"""The largest lookup table that is accepted."""
TRIPLES, QUADS, GRAPHS = 1, 2, 3
"""Physical types."""
FLAT_LOGICAL = (0, 1, 2)
"""Logical types in which frames mean nothing, by the last digit of their number; in others a frame is a unit."""
OPTIONS, TRIPLE, QUAD, GRAPH_START, GRAPH_END, NAMESPACE, NAME, PREFIX, DATATYPE = 1, 2, 3, 4, 5, 6, 9, 10, 11
"""Kinds of rows. A declaration of a namespace says nothing about data, but its IRI is the last one."""
_NAMESPACE_IRI = 2
ROW = 1
"""The number of the rows among the fields of a frame."""
_OPTIONS_TAG = bytes([OPTIONS << 3 | BYTES])

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
        self._size = size
        self._texts: list[str | None] = []  # as long as needed: the size is what a stream claims
        self.what = what
        self._last = 0

    @property
    def size(self) -> int:
        """The largest identifier."""
        return self._size

    @property
    def last(self) -> int:
        """The identifier entered last."""
        return self._last

    @last.setter
    def last(self, identifier: int) -> None:
        self._last = identifier

    def enter(self, identifier: int, text: str) -> int:
        """Enter a text; returns its identifier."""
        self.last = entered = identifier or self.last + 1
        if entered > self.size:
            raise BadMessage(f"{self.what} {entered} is beyond the table's size, {self.size}")
        self._put(entered, text)
        return entered

    def find(self, identifier: int) -> str | None:
        """The text of an identifier, if it has one."""
        return self._get(identifier) if identifier <= self.size else None

    def text(self, identifier: int) -> str:
        """The text of an identifier; raises BadMessage if it has none."""
        found = self.find(identifier)
        if found is None:
            raise BadMessage(f"there is no {self.what} {identifier}")
        return found

    def _put(self, identifier: int, text: str) -> None:
        self._texts += [None] * (identifier + 1 - len(self._texts))
        self._texts[identifier] = text

    def _get(self, identifier: int) -> str | None:
        return self._texts[identifier] if identifier < len(self._texts) else None


class Rows:
    """The state of a stream: its tables, its last terms, and the graph that is open.

    options         None before the first row, whose bytes are `options_text`
    last            subject, predicate and object of the last statement, and its graph if it was a quad
    graph           of triples
    prefix, name    the identifiers of the last IRI
    """

    def __init__(self) -> None:
        self.options: Options | None = None
        self.options_text = b""
        self.names = self.prefixes = self.datatypes = Table(0, "entry")
        self._iris: dict[int, dict[int, ox.NamedNode]] = {}
        self.prefix = self.name = 0
        self.last: list[Node | Graph | None] = [None, None, None, None]
        self.graph: Graph = _DEFAULT

    def forget_iris(self) -> None:
        """Drop the IRIs of identifiers: the tables have changed."""
        self._iris.clear()

    def first_options(self, frame: bytes) -> Options | None:
        """Read the options if they are the first row of a frame, which may be read again."""
        try:
            number, wire, begin, stop = next(fields(frame, 0, len(frame)), (0, 0, 0, 0))
            if number == ROW and wire == BYTES and frame[begin : begin + 1] == _OPTIONS_TAG:
                self.take(frame, begin, stop)
        except ValueError:
            return None
        return self.options

    def take(self, data: bytes, at: int, end: int) -> ox.Quad | None:
        """Read a row; a quad if it is a statement.

        Raises UnsupportedTerm or ValueError for a statement that is no RDF, BadMessage for what is no Jelly.
        """
        for number, wire, begin, stop in fields(data, at, end):
            if wire != BYTES:
                raise BadMessage("a row is a message")
            if self.options is None and number != OPTIONS:
                raise BadMessage("the stream does not begin with its options")
            if number in (TRIPLE, QUAD):
                return self._statement(data, begin, stop, number == QUAD)
            if number in (NAME, PREFIX, DATATYPE):
                self._entry(number, data, begin, stop)
            elif number == OPTIONS:
                self._enter_options(data, begin, stop)
            elif number == GRAPH_START:
                self.graph = self._started(data, begin, stop)
            elif number == GRAPH_END:
                self.graph = _DEFAULT
            elif number == NAMESPACE:
                self._declare(data, begin, stop)
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
        self.names, self.prefixes = Table(options.names, "name"), Table(options.prefixes, "prefix")
        self.datatypes = Table(options.datatypes, "datatype")
        self.options, self.options_text = options, data[at:end]

    def _declare(self, data: bytes, at: int, end: int) -> None:
        for number, wire, begin, stop in fields(data, at, end):
            if number == _NAMESPACE_IRI and wire == BYTES:
                self._identifiers(data, begin, stop)

    def _entry(self, number: int, data: bytes, at: int, end: int) -> None:
        identifier, text = 0, ""
        for field, wire, begin, value in fields(data, at, end):
            if field == 1 and wire == VARINT:
                identifier = value
            elif field == 2 and wire == BYTES:
                text = data[begin:value].decode()
        if number == DATATYPE:
            self.datatypes.enter(identifier, text)
            return
        if number == NAME:
            self._iris.pop(self.names.enter(identifier, text), None)
        else:
            self.prefixes.enter(identifier, text)
            self._iris.clear()

    def _statement(self, data: bytes, at: int, end: int, quad: bool) -> ox.Quad:
        fault: ValueError | None = None
        for number, wire, begin, stop in fields(data, at, end):
            slot, kind = divmod(number - 1, 4)
            if slot > 3 or wire != BYTES:
                raise BadMessage("a statement has another field than its terms")
            try:
                read = self._graph_term if slot == 3 else self._term
                self.last[slot] = read(kind, data, begin, stop)
            except BadMessage:
                raise
            except ValueError as error:
                self.last[slot] = None
                fault = fault or error
        if fault is not None:
            raise fault
        subject, predicate, target, last_graph = self.last
        graph = last_graph if quad else self.graph
        if subject is None or predicate is None or target is None or graph is None:
            raise BadMessage("a statement repeats a term that there was not")
        assert not isinstance(target, ox.DefaultGraph) and not isinstance(graph, ox.Literal), (target, graph)
        if isinstance(subject, ox.Literal | ox.DefaultGraph) or not isinstance(predicate, ox.NamedNode):
            raise UnsupportedTerm("generalized statements are not supported: a subject or predicate is of another kind")
        made = ox.Quad(subject, predicate, target, graph)
        count_decoded(QUAD_BYTES + len(str(made)))
        return made

    def _started(self, data: bytes, at: int, end: int) -> Graph:
        for number, wire, begin, stop in fields(data, at, end):
            if wire != BYTES:
                raise BadMessage("the name of a graph is a message")
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
                return blank_node(data[at:end].decode())
            case 2:
                return self.literal(data, at, end)
        raise UnsupportedTerm("triple terms (RDF-star, RDF 1.2) are not supported in Jelly")

    def _iri(self, data: bytes, at: int, end: int) -> ox.NamedNode:
        self._identifiers(data, at, end)
        known = self._iris.get(self.name)
        found = known.get(self.prefix) if known is not None else None
        if found is None:
            text = (self.prefixes.text(self.prefix) if self.prefix else "") + self.names.text(self.name)
            found = ox.NamedNode(text)
            count_decoded(TERM_BYTES + len(text))
            self._iris.setdefault(self.name, {})[self.prefix] = found
        return found

    def _identifiers(self, data: bytes, at: int, end: int) -> None:
        """Read the prefix and the name of an IRI."""
        prefix = name = 0
        for number, wire, _, value in fields(data, at, end):
            if wire == VARINT:
                prefix, name = (value, name) if number == 1 else (prefix, value)
        self.prefix = prefix or self.prefix
        self.name = name or self.name + 1

    def literal(self, data: bytes, at: int, end: int) -> ox.Literal:
        """The literal that is written between two places."""
        text, language, datatype = "", None, 0
        for number, wire, begin, value in fields(data, at, end):
            if number == 1 and wire == BYTES:
                text = data[begin:value].decode()
            elif number == 2 and wire == BYTES:
                language = data[begin:value].decode()
            elif number == 3 and wire == VARINT:
                datatype = value
        if language is not None:
            if "--" in language:
                raise UnsupportedTerm(f"base directions (RDF 1.2) are not supported in Jelly: the language {language}")
            return ox.Literal(text, language=language)
        return ox.Literal(text, datatype=ox.NamedNode(self.datatypes.text(datatype))) if datatype else ox.Literal(text)


def blank_node(label: str) -> ox.BlankNode:
    """The blank node of a label, which may be any text."""
    try:
        return ox.BlankNode(label)
    except ValueError:
        return ox.BlankNode(f"x{label.encode().hex()}")
