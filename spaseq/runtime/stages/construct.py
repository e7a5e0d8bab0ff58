"""CONSTRUCT: from the values of a match to the triples of its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from automata.values import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.pattern import Expression, Node, Variable
from sparql_gpm.terms import IRI, BlankNode, Literal, Term, TripleTerm
from spaseq.lang.ast import TemplateTriple
from spaseq.outputs.rows import RowTriple


class GraphTemplate:
    """The template of one query."""

    def __init__(self, template: Sequence[TemplateTriple], dictionary: Dictionary) -> None:
        self._template = template
        self._dictionary = dictionary

    def expressions(self) -> dict[str, Expression]:
        """The values that the template uses: its variables, and its computed objects under names of their own."""
        found: dict[str, Expression] = {}
        for triple in self._template:
            nodes = (triple.pattern.subject, triple.pattern.predicate, triple.pattern.object)
            found |= {n.name: n for n in nodes if isinstance(n, Variable) and not n.name.startswith("_:")}
            if triple.object is not None:
                found[_computed(triple)] = triple.object
        return found

    def triples(self, values: Mapping[str, int], graph: str) -> tuple[RowTriple, ...]:
        """The triples that are RDF with these values; blank nodes are fresh in every graph."""
        found: dict[RowTriple, None] = {}
        for triple in self._template:
            subject = self._term(triple.pattern.subject, values, graph)
            predicate = self._term(triple.pattern.predicate, values, graph)
            computed = None if triple.object is None else Variable(_computed(triple))
            target = self._term(computed or triple.pattern.object, values, graph)
            if isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI) and target is not None:
                found[(subject, predicate, target)] = None
        return tuple(found)

    def _term(self, node: Node, values: Mapping[str, int], graph: str) -> Term | None:
        match node:
            case Variable(name) if name.startswith("_:"):
                return BlankNode(f"{graph.replace(':', '-')}-{name[2:]}")
            case Variable(name):
                return self._dictionary.term(values[name]) if values[name] != UNBOUND else None
            case IRI() | BlankNode() | Literal() | TripleTerm():
                return node


def _computed(triple: TemplateTriple) -> str:
    """The name of a computed object; no variable has it."""
    return f" {triple.object}"
