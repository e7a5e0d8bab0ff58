"""The triple terms in the triple patterns of a basic graph pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sparql_gpm.algebra.traversal import nodes
from sparql_gpm.pattern import Member, Node, PathTriple, TermParts, Triple

Statement = tuple[Triple | PathTriple, tuple[TermParts, ...]]
"""A triple pattern and the triple terms in it, each before those inside of it."""


def statements(members: Sequence[Member]) -> list[Statement]:
    """The triple patterns, in order, with their triple terms."""
    terms: dict[Node, TermParts] = {member.term: member for member in members if isinstance(member, TermParts)}
    triples = [member for member in members if not isinstance(member, TermParts)]
    if not terms:
        return [(triple, ()) for triple in triples]
    found = [(triple, tuple(dict.fromkeys(_inside(nodes(triple), terms)))) for triple in triples]
    assert {parts.term for _, own in found for parts in own} == terms.keys(), members
    return found


def _inside(some: Iterable[Node], terms: Mapping[Node, TermParts]) -> Iterator[TermParts]:
    for node in some:
        if node in terms:
            yield (parts := terms[node])
            yield from _inside((parts.subject, parts.object), terms)


def with_terms(write: Callable[[Node], str], terms: Iterable[TermParts]) -> Callable[[Node], str]:
    """Writes nodes, and `<<( … )>>` for the variables of these triple terms."""
    known: dict[Node, TermParts] = {parts.term: parts for parts in terms}

    def text(node: Node) -> str:
        if node not in known:
            return write(node)
        parts = known[node]
        return f"<<( {text(parts.subject)} {text(parts.predicate)} {text(parts.object)} )>>"

    return text
