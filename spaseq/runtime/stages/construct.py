"""CONSTRUCT: from the values of a match to the triples of its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from automata.values import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.pattern import Expression, Node, TermParts, Triple, Variable
from sparql_gpm.terms import BlankNode, Stated, Term, TripleTerm, is_deepest, stated
from spaseq.lang.ast import TemplateTriple
from spaseq.outputs.rows import RowTriple


class GraphTemplate:
    """The template of one query."""

    def __init__(self, template: Sequence[TemplateTriple], dictionary: Dictionary) -> None:
        self._template = template
        members = list(map(_with_value, template))
        self._triples = [member for member in members if isinstance(member, Triple)]
        self._parts = {member.term.name: member for member in members if isinstance(member, TermParts)}
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
        for triple in self._triples:
            made = self._stated(triple, values, graph)
            if made is not None:
                found[made] = None
        return tuple(found)

    def _stated(self, member: Triple | TermParts, values: Mapping[str, int], graph: str) -> Stated | None:
        return stated(*(self._term(each, values, graph) for each in (member.subject, member.predicate, member.object)))

    def _term(self, node: Node, values: Mapping[str, int], graph: str) -> Term | None:
        match node:
            case Variable(name) if name in self._parts:
                inside = self._stated(self._parts[name], values, graph)
                return None if inside is None or is_deepest(inside[2]) else TripleTerm(*inside)
            case Variable(name) if name.startswith("_:"):
                return BlankNode(f"{graph.replace(':', '-')}-{name[2:]}")
            case Variable(name):
                return self._dictionary.term(values[name]) if values[name] != UNBOUND else None
        return node


def _with_value(triple: TemplateTriple) -> Triple | TermParts:
    """The triple, with its computed object as a variable."""
    return triple.pattern if triple.object is None else replace(triple.pattern, object=Variable(_computed(triple)))


def _computed(triple: TemplateTriple) -> str:
    """The name of a computed object; no variable has it."""
    return f" {triple.object}"
