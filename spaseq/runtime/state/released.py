"""The states of a network as release 0.1.0 wrote them: one tree, in which each query had a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparql_gpm.dictionary import Dictionary
from spaseq.lang.parse import parse
from spaseq.runtime.state.saved_states import InputState, NetworkState, QueryState, text_digest
from spaseq.runtime.state.snapshot import dumps


def separated(network: Sequence[Any], queries: Sequence[tuple[str, str]], dictionary: Dictionary) -> NetworkState:
    """The states of a network, each by itself; the ids of the tree are those of the dictionary.

    queries     names and texts, in the order in which the network had them
    """
    inputs, readers = network
    found, iris = [], {}
    for (number, running, derived), (name, text) in zip(readers, queries, strict=True):
        iris[number] = [stream.iri for stream in parse(text, name).streams]
        found.append(QueryState(name, text_digest(text), b"", number, dumps([running, derived], dictionary)))
    saved = [InputState(iris[number], dumps(each, dictionary)) for number, each in enumerate(inputs)]
    return NetworkState(saved, found)
