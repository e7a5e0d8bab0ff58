"""The states of a network as bytes: a blob for each query and each input, which says whose it is.

So each is found by its query, compared with it, and can be read, or be damaged, without the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from automata.state import Unreadable
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.nodes import TemporalQuery
from spaseq.runtime.state.snapshot import digest, dumps


class QueryState(msgspec.Struct, frozen=True, array_like=True):
    """The state of one query.

    name    of the query
    text    a digest of its text; empty where it is not known
    shape   a digest of what its text and its knowledge bases decide of the state; empty where it is not known
    input   the number of its input
    blob    its operator and the stream that it makes, for `spaseq.runtime.state.snapshot`
    """

    name: str
    text: bytes
    shape: bytes
    input: int
    blob: bytes

    @staticmethod
    def of(query: TemporalQuery, text: str, number: int, state: Sequence[Any], dictionary: Dictionary) -> QueryState:
        """The state of a query, as `spaseq.runtime.embedded.reader_state` has it."""
        return QueryState(query.name, text_digest(text), shape_digest(query), number, dumps(state, dictionary))

    def check(self, query: TemporalQuery, text: str) -> None:
        """Raises Unreadable unless it is the state of this query, as it is run now."""
        if self.name != query.name:
            raise Unreadable(f"it is the state of a query '{self.name}'")
        if self.text and self.text != text_digest(text):
            raise Unreadable("it is the state of another text")
        if self.shape and self.shape != shape_digest(query):
            raise Unreadable("its knowledge bases are other ones than those of the state: it is run in another way now")


class InputState(msgspec.Struct, frozen=True, array_like=True):
    """The state of the input of queries that read the same streams: the IRIs of these, and a blob."""

    iris: list[str]
    blob: bytes


class NetworkState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a network."""

    inputs: list[InputState]
    queries: list[QueryState]


def text_digest(text: str) -> bytes:
    """Tells a text from every other one."""
    return digest(text.encode())


def shape_digest(query: TemporalQuery) -> bytes:
    """Tells the variables of a query as it is run, by pattern and by enrichment.

    What its knowledge bases prove decides them.
    """
    patterns = [[pattern.name, list(pattern.variables)] for pattern in query.patterns]
    late = [[each.step, each.knowledge, list(each.keys), list(each.variables)] for each in query.enrichments]
    return digest(msgspec.msgpack.encode([list(query.variables), patterns, late]))
