"""The states of networks in tests: taken out of one, and put into another with the same queries."""

from __future__ import annotations

from spaseq.runtime.embedded.network import Network
from spaseq.runtime.state.saved_states import NetworkState


def taken(network: Network) -> NetworkState:
    """The states, those of the queries in the order of the network."""
    inputs, states = network.snapshot()
    return NetworkState(inputs, [states[reader] for reader in network.readers])


def put_back(network: Network, state: NetworkState) -> None:
    """Let a network with the same queries go on; their names may be one and the same."""
    network.restore(state.inputs, dict(zip(network.readers, state.queries, strict=True)), "there is no way back")
    network.raise_stopped()


def size_of(state: NetworkState) -> int:
    """The bytes of the states."""
    return sum(len(each.blob) for each in (*state.inputs, *state.queries))
