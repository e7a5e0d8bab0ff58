"""The description of a query: its meaning, its evaluation, and the use of its knowledge bases."""

from __future__ import annotations

from kb.base import KnowledgeBases
from kb.source import Source, how_endpoints_are_asked
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.nodes import AnyQuery, TemporalQuery
from spaseq.engine.arguments import check_knowledge, meanings_of
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Knowledge, Setup, endpoints_of, named_knowledge
from spaseq.explain.description import Description, KnowledgeBase, KnowledgeUse
from spaseq.optimise.driver import Optimised, Placement, optimise
from spaseq.physical.describe import describe as describe_compiled
from spaseq.physical.program import compile_program

_HOW = "(files are solved once and looked up; an endpoint is asked for distinct keys in batches, its answers are kept)"


def describe(
    query: AnyQuery,
    evaluator: str = "auto",
    kb: Knowledge | None = None,
    options: RunOptions | None = None,
    changing: bool = False,
) -> Description:
    """The description of a query, with proofs about knowledge bases that are given; InputError if one is unusable.

    changing    nothing is proven, as knowledge bases are exchanged while queries run
    """
    (meaning,) = meanings_of(query)
    check_knowledge(kb)
    if not kb:
        return _described(meaning, optimise(meaning, None), None, evaluator)
    setup = Setup(named_knowledge([meaning], kb), options or RunOptions(), Dictionary(), [meaning], changing=changing)
    try:
        return _described(meaning, setup.optimised(meaning), setup.bases, evaluator)
    finally:
        setup.bases.close()


def _described(
    meaning: TemporalQuery, optimised: Optimised, bases: KnowledgeBases | None, evaluator: str
) -> Description:
    known = _knowledge(meaning, optimised.placements, bases)
    return describe_compiled(meaning.parsed.text, compile_program(optimised.query), known, evaluator)


def _knowledge(
    query: TemporalQuery, placements: tuple[Placement, ...], bases: KnowledgeBases | None
) -> tuple[KnowledgeBase, ...]:
    """Every knowledge base, and the endpoints that SERVICE names."""
    services = endpoints_of(query)
    found = []
    for iri in dict.fromkeys((*query.knowledge, *services)):
        uses = tuple(_use(each) for each in placements if each.knowledge == iri or each.knowledge.startswith("?"))
        if bases is not None and iri in bases:
            how = bases.how(iri)
        else:
            how = how_endpoints_are_asked(Source(iri)) if iri in services else _HOW
        found.append(KnowledgeBase(iri, how, uses))
    return tuple(found)


def _use(placement: Placement) -> KnowledgeUse:
    when = "never" if placement.dropped else "each match" if placement.late else "each event"
    return KnowledgeUse(placement.step, placement.variables, when, placement.reason)
