"""The names of constructed graphs (specification 3.5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from itertools import permutations

import pyoxigraph

from sparql_gpm.terms import Term, blank_nodes, relabelled, to_ntriples
from spaseq.lang import ast
from spaseq.lang.canonical import canonical_text
from tests.reference.shape import names
from tests.reference.stream import Triples
from tests.reference.view import Entries, Entry
from tests.reference.world import World


def graph_name(world: World, entries: Entries) -> str:
    """The name of the graph of a match."""
    order = {step: number for number, step in enumerate(names(world.root))}
    given = {f"{name}#": term for name, term in world.given.items()} if world.query.using else {}
    takings = sorted((order[entry.step], entry.event.position, _taking(entry, given)) for entry in entries)
    whole = digest_of_query(world.query) + b"".join(taking for _, _, taking in takings)
    return f"urn:spaseq:match:{sha256(whole).hexdigest()[:32]}"


@lru_cache(maxsize=64)
def digest_of_query(query: ast.Query) -> bytes:
    """The hash of the query's canonical text."""
    return sha256(canonical_text(query).encode()).digest()


def _taking(entry: Entry, given: Mapping[str, Term]) -> bytes:
    """With USING the values of the partition are part of ν, under names of their own."""
    texts = [entry.step, entry.event.name]
    for variable, term in sorted([*entry.solution, *given.items()], key=lambda pair: pair[0]):
        texts += [variable, _shown(term, entry.event.triples)]
    return sha256(b"".join(b"%d:%s" % (len(text.encode()), text.encode()) for text in texts)).digest()


def _shown(term: Term, triples: Triples) -> str:
    labels = _canonical_labels(triples) if any(blank_nodes(term)) else {}
    return _renamed(term, labels)


def _renamed(term: Term, labels: Mapping[str, str]) -> str:
    return to_ntriples(relabelled(term, lambda label: labels.get(label, label)))


@lru_cache(maxsize=4096)
def _canonical_labels(triples: Triples) -> dict[str, str]:
    """Some renaming of the blank nodes that gives the canonical graph, which pyoxigraph finds."""
    nodes = sorted({node.label for triple in triples for term in triple for node in blank_nodes(term)})
    canonical = pyoxigraph.Dataset(pyoxigraph.parse(_lines(triples, {}), format=pyoxigraph.RdfFormat.N_TRIPLES))
    canonical.canonicalize(pyoxigraph.CanonicalizationAlgorithm.RDFC_1_0)
    wanted = {f"{quad.triple} ." for quad in canonical}
    for order in permutations(range(len(nodes))):
        renaming = {label: f"c14n{number}" for label, number in zip(nodes, order, strict=True)}
        if set(_lines(triples, renaming).splitlines()) == wanted:
            return renaming
    raise AssertionError(triples)


def _lines(triples: Triples, renaming: dict[str, str]) -> str:
    return "".join(f"{' '.join(_renamed(term, renaming) for term in triple)} .\n" for triple in triples)
