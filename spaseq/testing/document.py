"""A test file as RDF: its quads by graph, in order, and what its default graph says about a resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyoxigraph as ox

from sparql_gpm.terms import IRI, RDF, BlankNode, Term, to_ntriples
from spaseq.errors import InputError
from spaseq.inputs.terms import own_term
from spaseq.outputs.trig import VOCABULARY

Triple = tuple[Term, Term, Term]
_FIRST, _REST, _NIL = IRI(RDF + "first"), IRI(RDF + "rest"), IRI(RDF + "nil")


@dataclass(frozen=True, slots=True)
class Document:
    """A TriG document.

    graphs      the triples of each graph by its name, in the order of the text; those of the default graph by ""
    prefixes    the namespaces by their prefixes
    """

    path: Path
    graphs: Mapping[str, Sequence[Triple]]
    prefixes: Mapping[str, str]
    _values: dict[tuple[str, Term, str], list[Term]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for graph, triples in self.graphs.items():
            for subject, predicate, value in triples:
                if isinstance(predicate, IRI):
                    self._values.setdefault((graph, subject, predicate.value), []).append(value)

    @staticmethod
    def read(path: Path) -> Document:
        """The document in a file; InputError names the line of what is no TriG."""
        try:
            text = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}", hint="give a TriG file or a folder") from None
        graphs: dict[str, list[Triple]] = {}
        try:
            parser = ox.parse(text, ox.RdfFormat.TRIG, base_iri=path.absolute().as_uri())
            for quad in parser:
                name = "" if isinstance(quad.graph_name, ox.DefaultGraph) else to_name(quad.graph_name)
                triple = own_term(quad.subject), own_term(quad.predicate), own_term(quad.object)
                graphs.setdefault(name, []).append(triple)
        except (SyntaxError, ValueError) as error:
            raise InputError(f"{path} is no TriG: {error}", hint="correct it; the position is line:column") from None
        return Document(path, graphs, dict(parser.prefixes))

    def own(self, subject: Term, name: str, graph: str = "") -> list[Term]:
        """The values of a property of SPAseq's vocabulary."""
        return self.values(subject, VOCABULARY + name, graph)

    def values(self, subject: Term, predicate: str, graph: str = "") -> list[Term]:
        """The values of a property of a resource in one graph."""
        return self._values.get((graph, subject, predicate), [])

    def subjects(self, graph: str) -> list[Term]:
        """The subjects of a graph, in the order of the text, without the nodes of lists."""
        found = dict.fromkeys(subject for subject, _, _ in self.graphs.get(graph, ()))
        return [each for each in found if not self.values(each, _FIRST.value, graph)]

    def members(self, node: Term, graph: str) -> Iterator[Term]:
        """The members of a list; of what is no list, itself."""
        if node != _NIL and not self.values(node, _FIRST.value, graph):
            yield node
            return
        while node != _NIL:
            yield from self.values(node, _FIRST.value, graph)
            node = next(iter(self.values(node, _REST.value, graph)), _NIL)

    def file_of(self, term: Term) -> Path:
        """The path of a file that an IRI of the document names; InputError for anything else."""
        parts = urlsplit(term.value) if isinstance(term, IRI) else None
        if parts is None or parts.scheme != "file":
            raise InputError(f"{self.path}: {to_ntriples(term)} is no file", hint="write <query.rq>, without a host")
        return Path(url2pathname(parts.path))


def to_name(node: object) -> str:
    """The name of a graph as rows have it."""
    term = own_term(node)
    return term.value if isinstance(term, IRI) else f"_:{term.label}" if isinstance(term, BlankNode) else ""
