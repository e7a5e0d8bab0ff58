"""The knowledge bases of a run, for `GRAPH` and `SERVICE` in patterns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kb.access import Access, shown
from kb.entail import SCHEMA, Schema
from kb.errors import KnowledgeBaseError
from kb.loaded import Loaded
from kb.local import Progress
from kb.prepared import Prepared
from kb.prepared_file import SUFFIX
from kb.proofs import covers, one_each
from kb.source import PathLike, Source
from sparql_gpm.background import Background
from sparql_gpm.columns import EventBatch, Ids, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.pattern import Pattern
from sparql_gpm.relations.relation import Relation
from sparql_gpm.terms import IRI

if TYPE_CHECKING:
    from kb.bind_join import EndpointCounts
    from kb.endpoint import Endpoint
    from kb.loop import LoopThread

    Base = Loaded | Prepared | Endpoint

_PROVEN_MAX = 1024
"""Proofs that are cached."""


class KnowledgeBases(Background):
    """Knowledge bases by their IRI, and the facts that optimisation rests on.

    bases       by IRI; or graphs that are in memory already, as batches of one event
    services    those of them that SERVICE names; `GRAPH ?g` does not range over them
    """

    def __init__(
        self,
        bases: Mapping[str, Base | EventBatch],
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
        services: Collection[str] = (),
        access: Access | None = None,
        loop: LoopThread | None = None,
    ) -> None:
        self._bases: dict[str, Base] = {
            iri: Loaded(partial(_same, base), dictionary, evaluator) if isinstance(base, EventBatch) else base
            for iri, base in bases.items()
        }
        self._dictionary = dictionary
        self._evaluator = evaluator
        self._services = frozenset(services)
        self._loop = loop
        self._access = access or Access.to()
        self._entailing: list[str] = []
        self._schema: tuple[int, Schema] | None = None
        self._version = [0]
        self._proven: dict[tuple[object, ...], bool] = {}

    @staticmethod
    def load(
        sources: Mapping[str, Source | PathLike],
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
        *,
        access: Access | None = None,
        usable: Callable[[str], Collection[Pattern] | None] = lambda iri: None,
        progress: Progress | None = None,
    ) -> KnowledgeBases:
        """Reads files, opens prepared ones, and makes clients for endpoints; raises KnowledgeBaseError.

        access      the allowed hosts; by default those that sources and queries name
        usable      the patterns over a knowledge base, None: not known
        progress    called while files are read
        """
        found = KnowledgeBases({}, dictionary, evaluator, access=access)
        for iri, given in sources.items():
            found.supply(iri, Source.of(given), partial(usable, iri), progress)
        return found

    def supply(
        self,
        iri: str,
        source: Source,
        usable: Callable[[], Collection[Pattern] | None] = lambda: None,
        progress: Progress | None = None,
    ) -> Base | None:
        """Adds a knowledge base, or replaces the one of this IRI, which it returns; raises KnowledgeBaseError.

        What `named` chose before keeps the one that it has, which is closed when nothing uses it.
        """
        base = self._opened(iri, source, usable, progress)
        replaced = self._replaced(iri, base)
        if source.entail or (isinstance(base, Prepared) and base.entailed):
            self._entailing.append(iri)
        return replaced

    def supply_graph(self, iri: str, graph: EventBatch) -> Base | None:
        """Adds a graph in memory, a batch of one event, or replaces the knowledge base of this IRI by it."""
        return self._replaced(iri, Loaded(partial(_same, graph), self._dictionary, self._evaluator))

    def _replaced(self, iri: str, base: Base) -> Base | None:
        """The knowledge base that another one replaces."""
        replaced = self._bases.get(iri)
        self._bases[iri] = base
        self._version[0] += 1
        self._entailing = [each for each in self._entailing if each != iri]
        return replaced

    def _opened(
        self, iri: str, source: Source, usable: Callable[[], Collection[Pattern] | None], progress: Progress | None
    ) -> Base:
        if source.remote:
            if source.entail:
                hint = "dump its graph to a file, or have it reason itself"
                raise KnowledgeBaseError("RDFS is not applied to endpoints", shown(source.location), hint=hint)
            return self._endpoint(source)
        if source.location.endswith(SUFFIX):
            return Prepared.opened(source, iri, self._dictionary)
        return Loaded.of(source, iri, self._dictionary, self._evaluator, usable, progress)

    def _endpoint(self, source: Source) -> Endpoint:
        """An endpoint; imports the event loop and HTTP client that only endpoints need."""
        from kb.endpoint import Endpoint
        from kb.loop import LoopThread

        self._loop = self._loop or LoopThread()
        return Endpoint(source, self._access, self._dictionary, self._loop)

    def __contains__(self, iri: object) -> bool:
        return iri in self._bases

    def __len__(self) -> int:
        return len(self._bases)

    def named(self, iris: Iterable[str], services: Iterable[str] = ()) -> KnowledgeBases:
        """The knowledge bases that a query names; raises KnowledgeBaseError if one was not supplied.

        services    IRIs named after SERVICE; one without a source is itself the URL
        """
        hidden = frozenset(services) - (known := frozenset(iris))
        for iri in hidden - self._bases.keys():
            if not Source(iri).remote:
                raise KnowledgeBaseError("SERVICE asks over http or https only", iri, hint="or supply it with --kb")
            self._bases[iri] = self._endpoint(Source(iri))
        bases = {iri: self._base(iri) for iri in known | hidden}
        chosen = KnowledgeBases(bases, self._dictionary, self._evaluator, hidden, self._access, self._loop)
        chosen._version = self._version
        return chosen

    def with_older(self, older: Mapping[str, Base]) -> KnowledgeBases:
        """The same with other ones, which `supply` has returned, in the place of some."""
        bases = {**self._bases, **older}
        found = KnowledgeBases(bases, self._dictionary, self._evaluator, self._services, self._access, self._loop)
        found._version, found._entailing = self._version, self._entailing
        return found

    def names(self) -> Sequence[str]:
        """The IRIs, sorted: what `GRAPH ?g` ranges over."""
        return sorted(self._bases.keys() - self._services)

    def version(self) -> int:
        return self._version[0]

    def is_bind_joined(self, name: str, pattern: Pattern) -> bool:
        base = self._base(name)
        if isinstance(base, Prepared):
            base.prepare(pattern)
        elif not isinstance(base, Loaded):
            base.check(pattern, name in self._services)
        return base.is_bind_joined

    def solve(self, name: str, pattern: Pattern, given: Mapping[str, Ids] | None = None, rows: int = 1) -> Solutions:
        base = self._base(name)
        assert isinstance(base, Loaded), name
        return base.solve(pattern, given, rows, self)

    def bind_join(self, name: str, pattern: Pattern, given: Mapping[str, Ids]) -> Solutions:
        base = self._base(name)
        assert not isinstance(base, Loaded), name
        return base.bind_join(pattern, given)

    def how(self, name: str) -> str:
        """The kind of access to a knowledge base, in words, for `explain`."""
        return self._base(name).how

    def unprovable(self, name: str) -> str | None:
        """The reason why nothing can be proven about a knowledge base; None if it is in memory and never changes."""
        return self._base(name).unprovable

    def one_each(self, name: str, pattern: Pattern, keys: Sequence[str]) -> bool:
        """True if each solution of the pattern binds the keys, and no two different ones agree in them."""
        question = ("one each", name, pattern, tuple(keys))
        return self._proof(question, lambda: one_each(self._solutions(name, pattern), keys))

    def covers(self, name: str, pattern: Pattern, given: Pattern, keys: Sequence[str]) -> bool:
        """True if each solution of `given` agrees in the keys, which it binds, with a solution of the pattern."""
        question = ("covers", name, pattern, given, tuple(keys))
        return self._proof(question, lambda: covers(self._solutions(name, pattern), self._solutions(name, given), keys))

    def _proof(self, question: tuple[object, ...], answer: Callable[[], bool]) -> bool:
        """The cached result of a proof: many queries need the same one."""
        asked = (self.version(), *question)
        if asked not in self._proven:
            if len(self._proven) >= _PROVEN_MAX:
                self._proven.clear()
            self._proven[asked] = answer()
        return self._proven[asked]

    def _solutions(self, name: str, pattern: Pattern) -> Relation:
        """All solutions, in ids that only compare with those of the same knowledge base."""
        base = self._base(name)
        if isinstance(base, Prepared):
            return base.solved(pattern)
        assert isinstance(base, Loaded), name
        solutions = base.solve(pattern, None, 1, self)
        return Relation(len(solutions), None, solutions.columns)

    @property
    def entails(self) -> bool:
        """True if the schema of some knowledge base applies to events; whether a query names it does not matter."""
        return bool(self._entailing)

    def entailed(self, batch: EventBatch) -> EventBatch:
        """The events with the triples that follow by the schemas of all knowledge bases that entail."""
        if self._schema is None or self._schema[0] != self.version():
            bases = [self._bases[iri] for iri in self._entailing]
            ids = np.array([self._dictionary.pin(IRI(iri)) for iri in SCHEMA], dtype=np.int64)
            triples = [base.triples_with(ids) for base in bases if isinstance(base, Loaded | Prepared)]
            self._schema = (self.version(), Schema.of(triples, self._dictionary))
            self._dictionary.hold(self, self._schema[1].columns())
        return self._schema[1].applied(batch)

    def refresh(self) -> None:
        """Between batches: reads changed files again and drops expired answers."""
        for base in self._bases.values():
            self._version[0] += base.refresh()

    def counts(self) -> Mapping[str, EndpointCounts]:
        """The counts of each endpoint."""
        return {iri: base.counts for iri, base in self._bases.items() if not isinstance(base, Loaded | Prepared)}

    def close(self) -> None:
        """Closes connections and files."""
        for base in self._bases.values():
            base.close()
        if self._loop is not None:
            self._loop.close()

    def _base(self, iri: str) -> Base:
        if iri not in self._bases:
            supplied = ", ".join(self.names()) or "none"
            message = "the query asks this knowledge base, but it was not supplied"
            raise KnowledgeBaseError(message, iri, hint=f"supplied: {supplied}")
        return self._bases[iri]


def may_entail(given: Source | PathLike) -> bool:
    """True if the schema of a knowledge base applies to events, or may: a prepared file says so itself."""
    source = Source.of(given)
    return source.entail or (not source.remote and source.location.endswith(SUFFIX))


def _same(graph: EventBatch) -> EventBatch:
    return graph
