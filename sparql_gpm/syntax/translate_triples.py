"""Triples and property paths of a parse tree (SPARQL 1.1, Sections 4.2, 9 and 18.2.2.3-4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.rewrite import balanced
from sparql_gpm.algebra.traversal import subpaths
from sparql_gpm.errors import PatternSyntaxError
from sparql_gpm.pattern import Node, Path, Repeat, Variable
from sparql_gpm.syntax.grammar import Tree
from sparql_gpm.syntax.translate_terms import Source, name_of
from sparql_gpm.terms import IRI


def triples(block: Tree, source: Source) -> Iterator[algebra.Triple | algebra.PathTriple]:
    """The triples of a TriplesBlock."""
    for same_subject in block.triples:
        for subject, verb, object_ in zip(*[iter(same_subject)] * 3, strict=True):
            for triple in _triple(source.node(subject), verb, source.node(object_), source):
                source.note(triple, (object_, _first_leaf(verb), subject))
                yield triple


def blank_labels(block: Tree, source: Source) -> Iterator[Any]:
    """The placeholders of the blank node labels written in a TriplesBlock."""
    for same_subject in block.triples:
        for node in same_subject:
            leaf = None if name_of(node) else source.leaf(node)
            if leaf is not None and leaf.token.kind == "bnode":
                yield node


def _triple(subject: Node, verb: Any, object_: Node, source: Source) -> Iterator[algebra.Triple | algebra.PathTriple]:
    if not name_of(verb):
        predicate = source.node(verb)
        assert isinstance(predicate, IRI | Variable), predicate
        yield algebra.Triple(subject, predicate, object_)
    else:
        yield from _connect(subject, _path(verb, source), object_, source)


def _connect(subject: Node, path: Path, object_: Node, source: Source) -> Iterator[algebra.Triple | algebra.PathTriple]:
    """Section 18.2.2.4: links, inverses and sequences at the top of a path become plain triples.

    A sequence with `?`, `*` or `+` stays one path, which is followed as a whole; its solutions are the same.
    """
    match path:
        case algebra.Link(iri):
            yield algebra.Triple(subject, iri, object_)
        case algebra.Inverse(inner):
            yield from _connect(object_, inner, subject, source)
        case algebra.PathSequence(first, second) if Repeat not in map(type, subpaths(path)):
            middle = source.fresh()
            yield from _connect(subject, first, middle, source)
            yield from _connect(middle, second, object_, source)
        case _:
            yield algebra.PathTriple(subject, path, object_)


def _path(tree: Tree, source: Source) -> Path:
    match name_of(tree):
        case "PathAlternative":
            return balanced(algebra.PathAlternative, [_path(part, source) for part in tree.part])
        case "PathSequence":
            return balanced(algebra.PathSequence, [_path(part, source) for part in tree.part])
        case "PathEltOrInverse":
            return algebra.Inverse(_path(tree.part, source))
        case "PathElt":
            path = _path(tree.part, source)
            return Repeat(path, at_least_one=tree.mod == "+", unbounded=tree.mod != "?") if tree.mod else path
        case "PathNegatedPropertySet":
            return _negated(tree, source)
        case "":
            return algebra.Link(source.iri(tree))
    raise PatternSyntaxError("DISTINCT cannot stand in a path", source.token(_first_leaf(tree)).start)


def _negated(tree: Tree, source: Source) -> algebra.NegatedSet:
    forward: list[IRI] = []
    backward: list[IRI] = []
    for part in tree.part or ():
        leaf = source.leaf(part)
        (backward if leaf is not None and leaf.inverse else forward).append(source.iri(part))
    return algebra.NegatedSet(tuple(forward), tuple(backward))


def _first_leaf(tree: Tree) -> Any:
    while name_of(tree):
        tree = tree.part[0] if isinstance(tree.part, list) else tree.part
    return tree
