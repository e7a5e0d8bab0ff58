"""The cost of contexts of JSON-LD, known before their parser takes them: it copies them, and follows their terms."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparql_gpm.reading.decoded import count_decoded

CONTEXT_TERMS_MAX = 4_000_000
"""Terms of the contexts in force, together for all objects of a document that bring a context."""
CONTEXT_CHAIN_MAX = 500
"""Terms of a context each of which is defined by the one before."""
_TERM_BYTES = 600
"""Of a term while chains are looked for."""
_DEFINED_BY = ("@id", "@type", "@reverse", "@index", "@nest")


def check_contexts(document: Any, placed: Sequence[Any], objects: int) -> None:
    """Raises SyntaxError for contexts that cost their parser more than they may.

    placed      the contexts of the document, but those inside others
    objects     in the document, at most
    """
    costs = _Costs()
    scoped = any(costs.of(each).scoped >= 0 for context in placed for each in _objects(context))
    if any(costs.chain(context) > CONTEXT_CHAIN_MAX for context in placed):
        raise SyntaxError(f"a context has more than {CONTEXT_CHAIN_MAX} terms each defined by another")
    if sum(map(costs.terms, placed)) * (objects if scoped else len(placed)) <= CONTEXT_TERMS_MAX:
        return
    waiting, total = [(document, 0)], 0
    while waiting:
        value, active = waiting.pop()
        if isinstance(value, dict):
            own = costs.terms(value["@context"]) if "@context" in value else 0
            active += own
            total += active if own or scoped or "@context" in value else 0
            if total > CONTEXT_TERMS_MAX:
                raise SyntaxError(f"contexts with together more than {CONTEXT_TERMS_MAX:,} terms in force")
            waiting += [(each, active) for name, each in value.items() if name != "@context"]
        elif isinstance(value, list):
            waiting += [(each, active) for each in value]


def _objects(context: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a context, which may be a list."""
    for each in context if isinstance(context, list) else (context,):
        if isinstance(each, dict):
            yield each


@dataclass(frozen=True, slots=True)
class _Cost:
    """The cost of one object of a context.

    terms   that it defines, and those of the contexts inside it
    chain   the longest one of terms each defined by another, in the object itself
    scoped  the longest one in contexts inside its terms; below 0: it has none
    """

    terms: int
    chain: int
    scoped: int


class _Costs:
    """The costs of contexts; an object that stands in several places is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, _Cost] = {}

    def of(self, each: Mapping[str, Any]) -> _Cost:
        """The cost of an object of a context, which lives as long as this."""
        if id(each) not in self._known:
            inner = [term["@context"] for term in each.values() if isinstance(term, dict) and "@context" in term]
            terms = len(each) + sum(map(self.terms, inner))
            count_decoded(size := _TERM_BYTES * terms)
            chain = _chain_of(each)
            count_decoded(-size)
            self._known[id(each)] = _Cost(terms, chain, max(map(self.chain, inner), default=-1))
        return self._known[id(each)]

    def terms(self, context: Any) -> int:
        """The terms that a context defines, and those of the contexts inside it."""
        return 1 + sum(self.of(each).terms for each in _objects(context))

    def chain(self, context: Any) -> int:
        """The longest chain of terms each defined by another, through contexts that are inside terms."""
        costs = [self.of(each) for each in _objects(context)]
        return max((cost.chain for cost in costs), default=0) + max(0, *(cost.scoped for cost in costs), 0)


def _chain_of(context: Mapping[str, Any]) -> int:
    """The longest chain in one object; terms that go round in a circle count all."""
    needed = {name: _defined_by(name, value, context) for name, value in context.items()}
    users: dict[str, list[str]] = {}
    for name, others in needed.items():
        for other in others:
            users.setdefault(other, []).append(name)
    left = {name: len(others) for name, others in needed.items()}
    ready, length = deque((name, 1) for name, count in left.items() if not count), 0
    done = 0
    while ready:
        name, length = ready.popleft()
        done += 1
        for user in users.get(name, ()):
            left[user] -= 1
            if not left[user]:
                ready.append((user, length + 1))
    return length + len(context) - done


def _defined_by(name: str, value: Any, context: Mapping[str, Any]) -> set[str]:
    """The other terms of a context by which one is defined."""
    texts = [name, value] if not isinstance(value, dict) else [name, *(value.get(key) for key in _DEFINED_BY)]
    written = [text for text in texts if isinstance(text, str)]
    return ({*written, *(text.partition(":")[0] for text in written)} - {name}) & context.keys()
