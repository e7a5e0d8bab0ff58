"""Property paths over a whole batch of graphs at once (SPARQL 1.1, Sections 9 and 18.4).

A path's value is a multiset of pairs (start, end) per event. Sequences and alternatives keep
multiplicities; `?`, `*` and `+` are sets. Closures run semi-naively on the disjoint union of all graphs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, assert_never

import numpy as np

from arrays.columns import in_ranges
from sparql_gpm.columns import Ids, Mask
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.pattern import Inverse, Link, NegatedSet, Path, PathAlternative, PathSequence, Repeat
from sparql_gpm.relations.join import join
from sparql_gpm.relations.keys import first_rows, groups
from sparql_gpm.relations.relation import Relation
from sparql_gpm.terms import IRI


@dataclass(frozen=True, slots=True)
class CompiledPath:
    """A path with the ids of its IRIs."""

    path: Path
    ids: Mapping[IRI, int]


class Anchor(NamedTuple):
    """Given terms at one end of a path: nodes for paths of length zero; pairs without one of them may be left out."""

    events: Ids
    terms: Ids
    restricts: bool = True

    def only_nodes(self) -> Anchor:
        """The same terms as nodes, with all pairs."""
        return Anchor(self.events, self.terms, False)


class Pairs(NamedTuple):
    """Starts and ends, with the event whose graph connects them."""

    events: Ids
    starts: Ids
    ends: Ids

    def inverse(self) -> Pairs:
        """Ends for starts."""
        return Pairs(self.events, self.ends, self.starts)

    def distinct(self) -> Pairs:
        """Each pair once."""
        return self.rows(first_rows(list(self)))

    def rows(self, rows: Ids | Mask) -> Pairs:
        """Only these rows."""
        return Pairs(self.events[rows], self.starts[rows], self.ends[rows])


class _Graph(NamedTuple):
    view: BatchView
    live: Mask | None
    ids: Mapping[IRI, int]


def path_pairs(
    compiled: CompiledPath, view: BatchView, live: Mask | None, start: Anchor | None, end: Anchor | None
) -> Pairs:
    """The pairs that the path connects in the live events; at least those between the anchors."""
    return _pairs(compiled.path, _Graph(view, live, compiled.ids), start, end)


def _pairs(path: Path, graph: _Graph, start: Anchor | None, end: Anchor | None) -> Pairs:
    match path:
        case Link(iri):
            return _triples(graph, graph.view.rows(graph.ids[iri]))
        case Inverse(inner):
            return _pairs(inner, graph, end, start).inverse()
        case PathSequence(first, second):
            return _compose(_pairs(first, graph, start, None), _pairs(second, graph, None, end))
        case PathAlternative(left, right):
            return _both(_pairs(left, graph, start, end), _pairs(right, graph, start, end))
        case NegatedSet(forward, backward):
            return _negated(graph, forward, backward)
        case Repeat():
            return _repeated(path, graph, start, end)
        case _:
            assert_never(path)


def _triples(graph: _Graph, rows: Ids) -> Pairs:
    view = graph.view
    if graph.live is not None:
        rows = rows[graph.live[view.events[rows]]]
    return Pairs(view.events[rows], view.batch.subjects[rows], view.batch.objects[rows])


def _negated(graph: _Graph, forward: tuple[IRI, ...], backward: tuple[IRI, ...]) -> Pairs:
    """Triples with another predicate than those listed; an empty direction is not followed unless both are empty."""
    predicates = graph.view.batch.predicates

    def others(iris: tuple[IRI, ...]) -> Pairs:
        listed = np.array([graph.ids[iri] for iri in iris], dtype=np.int64)
        return _triples(graph, np.flatnonzero(~np.isin(predicates, listed)))

    if not backward:
        return others(forward)
    return _both(others(forward), others(backward).inverse()) if forward else others(backward).inverse()


def _both(left: Pairs, right: Pairs) -> Pairs:
    return Pairs(*(np.concatenate(columns) for columns in zip(left, right, strict=True)))


def _compose(first: Pairs, second: Pairs) -> Pairs:
    left = Relation(len(first.events), first.events, {"start": first.starts, "between": first.ends})
    right = Relation(len(second.events), second.events, {"between": second.starts, "end": second.ends})
    joined = join(left, right)
    if joined.events is None:
        none = np.zeros(0, dtype=np.int64)
        return Pairs(none, none, none)
    return Pairs(joined.events, joined.columns["start"], joined.columns["end"])


def _repeated(path: Repeat, graph: _Graph, start: Anchor | None, end: Anchor | None) -> Pairs:
    nodes_only = [anchor.only_nodes() if anchor else None for anchor in (start, end)]
    pairs = _pairs(path.path, graph, nodes_only[0], nodes_only[1])
    if path.unbounded:
        if start is not None and start.restricts:
            pairs = _closure(pairs, start)
        elif end is not None and end.restricts:
            pairs = _closure(pairs.inverse(), end).inverse()
        else:
            pairs = _closure(pairs, None)
    return pairs.distinct() if path.at_least_one else _both(_zero_length(graph, start, end), pairs).distinct()


def _zero_length(graph: _Graph, start: Anchor | None, end: Anchor | None) -> Pairs:
    """Every node with itself, or those of the anchor."""
    anchors = [anchor for anchor in (start, end) if anchor is not None]
    restricting = [anchor for anchor in anchors if anchor.restricts]
    if restricting:
        events, terms = restricting[0].events, restricting[0].terms
    else:
        nodes = graph.view.nodes(graph.live)
        events = np.concatenate([nodes.events, *(anchor.events for anchor in anchors)])
        terms = np.concatenate([nodes.terms, *(anchor.terms for anchor in anchors)])
    return Pairs(events, terms, terms)


def _closure(steps: Pairs, start: Anchor | None) -> Pairs:
    """One or more steps, from anywhere or from the anchor."""
    if not len(steps.events):
        return steps
    given = start or Anchor(steps.events[:0], steps.starts[:0])
    events = np.concatenate((steps.events, steps.events, given.events))
    terms = np.concatenate((steps.starts, steps.ends, given.terms))
    nodes = groups([events, terms])
    count, size = len(steps.events), len(nodes.first)
    assert size < 2**31, size
    edges = np.unique(nodes.of_row[:count] * size + nodes.of_row[count : 2 * count])
    sources, targets = edges // size, edges % size
    begins = np.searchsorted(sources, np.arange(size + 1))
    seed = edges
    if start is not None:
        wanted = np.zeros(size, dtype=np.bool_)
        wanted[nodes.of_row[2 * count :]] = True
        seed = edges[wanted[sources]]
    reached = _reach(seed, begins, targets, size)
    from_row, to_row = nodes.first[reached // size], nodes.first[reached % size]
    return Pairs(events[from_row], terms[from_row], terms[to_row])


def _reach(seed: Ids, begins: Ids, targets: Ids, size: int) -> Ids:
    """All pairs origin·size + node that `seed` and further edges reach; sorted.

    begins, targets     the edges of node n are targets[begins[n]:begins[n + 1]]

    Semi-naive: each round goes one edge on from the pairs that the last round has found.
    """
    known = fresh = seed
    while len(fresh):
        nodes = fresh % size
        counts = begins[nodes + 1] - begins[nodes]
        rows = np.repeat(np.arange(len(fresh), dtype=np.int64), counts)
        found = np.unique((fresh[rows] - nodes[rows]) + targets[in_ranges(begins[nodes], counts)])
        position = np.minimum(np.searchsorted(known, found), len(known) - 1)
        fresh = found[known[position] != found]
        known = np.union1d(known, fresh)
    return known
