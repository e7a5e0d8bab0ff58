"""Random graphs, events and patterns over a small vocabulary, for comparing the matcher with its oracle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.pattern import (
    BGP,
    Aggregate,
    Call,
    Constant,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    PathAlternative,
    PathSequence,
    PathTriple,
    Pattern,
    Project,
    Repeat,
    Slice,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import IRI, Term
from tests.sparql_gpm.matcher_oracle import Triples, integer

KBS = ("http://kb/1", "http://kb/2")
NODES: tuple[Term, ...] = (IRI("http://x/a"), IRI("http://x/b"), integer(1), integer(2))
OUTSIDE: tuple[Term, ...] = (*NODES, IRI("http://x/never"))
PREDICATES = (IRI("http://x/p"), IRI("http://x/q"))
VARIABLES = ("x", "y", "z", "w")

graphs = st.frozensets(
    st.tuples(st.sampled_from(NODES), st.sampled_from(PREDICATES), st.sampled_from(NODES)), max_size=5
)
"""Generalised RDF: a literal may be a subject, which makes more joins."""

_variables = st.sampled_from(VARIABLES).map(Variable)
_ends = st.one_of(_variables, _variables, st.sampled_from(OUTSIDE), st.just(Variable("_:n")))
_links = st.sampled_from(PREDICATES).map(Link)
paths = st.recursive(
    st.one_of(_links, st.builds(NegatedSet, st.lists(st.sampled_from(PREDICATES), max_size=1).map(tuple), st.just(())),
              st.builds(NegatedSet, st.just(()), st.just(PREDICATES[:1]))),
    lambda inner: st.one_of(
        inner.map(Inverse),
        st.builds(PathSequence, inner, inner),
        st.builds(PathAlternative, inner, inner),
        st.builds(Repeat, inner, st.booleans(), st.booleans()).filter(lambda r: r.unbounded or not r.at_least_one),
    ),
    max_leaves=3,
)  # fmt: skip
_triples = st.one_of(
    st.builds(Triple, _ends, st.one_of(st.sampled_from(PREDICATES), _variables), _ends),
    st.builds(Triple, _variables, st.sampled_from(PREDICATES), _variables),
    st.builds(PathTriple, _ends, paths.filter(lambda path: not isinstance(path, Link)), _ends),
)
bgps = st.lists(_triples, max_size=3).map(lambda triples: BGP(tuple(triples)))

_atoms = st.one_of(_variables, st.sampled_from(OUTSIDE).map(Constant))
_tests = st.one_of(
    st.builds(lambda v: Call("BOUND", (v,)), _variables),
    st.builds(lambda a, b: Call("SAMETERM", (a, b)), _atoms, _atoms),
    st.builds(lambda a, b: Call("<", (a, b)), _variables, _atoms),
)


@st.composite
def conditions(draw: st.DrawFn, depth: int) -> Expression:
    """Conditions with the three-valued logic, and EXISTS over patterns of that depth."""
    match draw(st.integers(0, 6)):
        case 0 if depth:
            return Exists(draw(patterns(depth - 1)), draw(st.booleans()))
        case 1:
            return Call("!", (draw(conditions(depth)),))
        case 2:
            return Call(draw(st.sampled_from(("&&", "||"))), (draw(conditions(depth)), draw(conditions(depth))))
        case _:
            return draw(_tests)


@st.composite
def _values(draw: st.DrawFn) -> Values:
    names = draw(st.lists(st.sampled_from(VARIABLES), min_size=1, max_size=2, unique=True))
    row = st.tuples(*(st.one_of(st.none(), st.sampled_from(OUTSIDE)) for _ in names))
    return Values(tuple(names), tuple(draw(st.lists(row, max_size=3))))


@st.composite
def _extend(draw: st.DrawFn, depth: int) -> Pattern:
    inner = draw(patterns(depth))
    free = [v for v in VARIABLES if v not in in_scope(inner)]
    if not free:
        return inner
    return Extend(inner, draw(st.sampled_from(free)), draw(st.one_of(_atoms, _tests)))


@st.composite
def _subquery(draw: st.DrawFn, depth: int) -> Pattern:
    inner = draw(patterns(depth))
    names = sorted(in_scope(inner))
    kept = tuple(v for v in names if draw(st.booleans()))
    match draw(st.sampled_from(("plain", "distinct", "slice", "count"))):
        case "plain":
            return Project(inner, kept)
        case "distinct":
            return Distinct(Project(inner, kept))
        case "slice":
            return Slice(_total(Project(inner, kept)), draw(st.integers(0, 1)), draw(st.integers(0, 2)))
    keys = tuple((v, Variable(v)) for v in kept[:2])
    argument = draw(st.one_of(st.none(), _variables))
    grouped = Group(inner, keys, (("agg", Aggregate("COUNT", argument, draw(st.booleans()))),))
    names_out = [v for v in VARIABLES if v not in kept[:2]]
    counted = draw(st.sampled_from(names_out))
    return Project(Extend(grouped, counted, Variable("agg")), (*kept[:2], counted))


def _total(pattern: Project) -> Pattern:
    """Only the solutions that bind everything, so that their order is total."""
    result: Pattern = pattern
    for variable in pattern.variables:
        result = Filter(Call("BOUND", (Variable(variable),)), result)
    return result


@st.composite
def patterns(draw: st.DrawFn, depth: int = 3) -> Pattern:
    """Any pattern of at most that depth."""
    kind = draw(st.integers(0, 11 if depth else 2))
    if kind <= 1:
        return draw(bgps)
    if kind == 2:
        return draw(_values())
    if kind == 3:
        return draw(_extend(depth - 1))
    if kind <= 5:
        return draw(_subquery(depth - 1))
    inner = draw(patterns(depth - 1))
    match kind:
        case 6:
            return Filter(draw(conditions(depth - 1)), inner)
        case 7:
            return Graph(draw(st.one_of(st.sampled_from(KBS).map(IRI), _variables)), inner)
        case 8:
            return LeftJoin(inner, draw(patterns(depth - 1)), draw(st.none() | conditions(depth - 1)))
        case 9:
            return Minus(inner, draw(patterns(depth - 1)))
        case 10:
            return Union(inner, draw(patterns(depth - 1)))
    return Join(inner, draw(patterns(depth - 1)))


def batch_of(events: Sequence[Triples], dictionary: Dictionary) -> EventBatch:
    """The graphs as events, one nanosecond apart."""
    rows = [tuple(map(dictionary.intern, triple)) for graph in events for triple in sorted(graph, key=repr)]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()
    offsets = np.concatenate(([0], np.cumsum([len(graph) for graph in events]))).astype(np.int64)
    times = np.arange(len(events), dtype=np.int64)
    return EventBatch(times, np.zeros_like(times), [f"urn:e{i}" for i in times], offsets, *columns)
