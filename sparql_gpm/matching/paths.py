"""Property paths over a whole batch of graphs at once (SPARQL 1.1, Sections 9 and 18.4).

A path's value is a multiset of pairs (start, end) per event. Sequences and alternatives keep
multiplicities; `?`, `*` and `+` are sets. Closures run semi-naively on the disjoint union of all graphs.

Where multiplicities do not matter, `reached` follows the whole path set at a time from the end that is given, so that
its cost is that of the solutions, not that of all pairs that parts of the path connect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, assert_never

import numpy as np

from arrays.columns import in_ranges
from sparql_gpm.algebra.traversal import subpaths
from sparql_gpm.bounds import RowCount, check_time
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
    """Given terms at one end of a path: nodes for paths of length zero; pairs without one of them may be left out.

    restricts   False: they are nodes, and all pairs are wanted
    written     they stand in the pattern, or are substituted there
    """

    events: Ids
    terms: Ids
    restricts: bool = True
    written: bool = False


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


def reached(
    compiled: CompiledPath, view: BatchView, live: Mask | None, start: Anchor | None, end: Anchor | None
) -> Pairs:
    """As `path_pairs`, each pair once; anchors that are not `written` must be nodes of the graph."""
    graph = _Graph(view, live, compiled.ids)
    if start is None and end is None and not any(isinstance(part, Repeat) for part in subpaths(compiled.path)):
        return _pairs(compiled.path, graph, None, None).distinct()
    first = start or end or Anchor(*view.nodes(live))
    origins = Pairs(first.events, first.terms, first.terms).distinct()
    forward = start is not None or end is None
    found = _followed(compiled.path, graph, origins, forward, end if forward else None, first.written)
    return found if forward else found.inverse()


def _followed(
    path: Path, graph: _Graph, pairs: Pairs, forward: bool, other: Anchor | None, written: bool = False
) -> Pairs:
    """The pairs with their ends moved along the path, or back along it; each once.

    other       the terms at the other end of the path, for paths of length zero
    written     the present ends stand in the pattern: they need not be nodes for paths of length zero
    """
    match path:
        case Inverse(inner):
            return _followed(inner, graph, pairs, not forward, other, written)
        case PathSequence(first, second):
            near, far = (first, second) if forward else (second, first)
            return _followed(far, graph, _followed(near, graph, pairs, forward, None, written), forward, other)
        case PathAlternative(left, right):
            sides = [_followed(side, graph, pairs, forward, other, written) for side in (left, right)]
            return _both(*sides).distinct()
        case Repeat():
            return _followed_often(path, graph, pairs, forward, other, written)
        case _:
            steps = _pairs(path, graph, None, None)
            return _compose(pairs, steps if forward else steps.inverse()).distinct()


def _followed_often(
    path: Repeat, graph: _Graph, pairs: Pairs, forward: bool, other: Anchor | None, written: bool
) -> Pairs:
    if path.unbounded and not any(isinstance(part, Repeat | PathSequence) for part in subpaths(path.path)):
        steps = _pairs(path.path, graph, None, None)
        steps = steps if forward else steps.inverse()
        found = _closed(_compose(pairs, steps).distinct(), steps)
    else:
        found = fresh = _followed(path.path, graph, pairs, forward, other, written)
        while path.unbounded and len(fresh.events):
            fresh = _without(_followed(path.path, graph, fresh, forward, None, False), found)
            found = _both(found, fresh)
    if path.at_least_one:
        return found
    if not written:
        nodes = graph.view.nodes(graph.live)
        given = nodes if other is None else other
        some = Anchor(np.concatenate((nodes.events, given.events)), np.concatenate((nodes.terms, given.terms)))
        pairs = pairs.rows(_among(pairs, some))
    return _both(pairs, found).distinct()


def _without(pairs: Pairs, known: Pairs) -> Pairs:
    every = _both(known, pairs)
    first = first_rows(list(every))
    return every.rows(first[first >= len(known.events)])


def _among(pairs: Pairs, terms: Anchor) -> Mask:
    """The pairs whose end is among some terms of their event."""
    count = len(pairs.events)
    nodes = groups([np.concatenate((pairs.events, terms.events)), np.concatenate((pairs.ends, terms.terms))])
    some = np.zeros(len(nodes.first), dtype=np.bool_)
    some[nodes.of_row[count:]] = True
    found: Mask = some[nodes.of_row[:count]]
    return found


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
    nodes_only = [anchor._replace(restricts=False) if anchor else None for anchor in (start, end)]
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
    if start is None:
        return _closed(steps.distinct(), steps)
    return _closed(steps.rows(_among(steps.inverse(), start)).distinct(), steps)


def _closed(pairs: Pairs, steps: Pairs) -> Pairs:
    """The distinct pairs, and all that further steps reach from their ends; each once."""
    if not len(pairs.events):
        return pairs
    events = np.concatenate((steps.events, steps.events, pairs.events, pairs.events))
    terms = np.concatenate((steps.starts, steps.ends, pairs.starts, pairs.ends))
    nodes = groups([events, terms])
    count, size = len(steps.events), len(nodes.first)
    assert size < 2**31, size
    sources, targets, starts, ends = np.split(nodes.of_row, [count, 2 * count, 2 * count + len(pairs.events)])
    edges = np.unique(sources * size + targets)
    begins = np.searchsorted(edges // size, np.arange(size + 1))
    found = _reach(np.sort(starts * size + ends), begins, edges % size, events[nodes.first])
    from_row, to_row = nodes.first[found // size], nodes.first[found % size]
    return Pairs(events[from_row], terms[from_row], terms[to_row])


def _reach(seed: Ids, begins: Ids, targets: Ids, events: Ids) -> Ids:
    """All pairs origin·size + node that `seed` and further edges reach; sorted. Raises TooManyRows.

    begins, targets     the edges of node n are targets[begins[n]:begins[n + 1]]
    events              of the nodes; size is their number

    Semi-naive: each round goes one edge on from the pairs that the last round has found.
    """
    size, count = len(events), RowCount()
    known = fresh = seed
    while len(fresh):
        check_time()
        count.add(events[fresh // size], len(fresh))
        nodes = fresh % size
        counts = begins[nodes + 1] - begins[nodes]
        rows = np.repeat(np.arange(len(fresh), dtype=np.int64), counts)
        found = np.unique((fresh[rows] - nodes[rows]) + targets[in_ranges(begins[nodes], counts)])
        position = np.minimum(np.searchsorted(known, found), len(known) - 1)
        fresh = found[known[position] != found]
        known = np.sort(np.concatenate((known, fresh)), kind="stable")  # two runs: linear
    return known
