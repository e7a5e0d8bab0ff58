"""The states of the queries of a network and of their inputs, written and read: each by itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from automata.state import Unreadable
from sparql_gpm.dictionary import Dictionary
from spaseq.errors import RunError
from spaseq.runtime.embedded.audience import Audience, Reader
from spaseq.runtime.embedded.audiences import Audiences
from spaseq.runtime.embedded.reader_state import reader_state, restore_reader
from spaseq.runtime.state.saved_states import InputState, QueryState
from spaseq.runtime.state.snapshot import dumps, loads


def saved_states(
    readers: Collection[Reader], dictionary: Dictionary
) -> tuple[list[InputState], dict[Reader, QueryState]]:
    """The inputs of queries that are awake, between two slices, and the state of each query."""
    numbers = {audience: number for number, audience in enumerate(dict.fromkeys(each.audience for each in readers))}
    inputs = [InputState(list(each.input.iris), dumps(each.input.snapshot(), dictionary)) for each in numbers]
    states = {
        each: QueryState.of(each.query, each.text, numbers[each.audience], reader_state(each), dictionary)
        for each in readers
    }
    return inputs, states


class Restoring:
    """The inputs of a saved network, each of which becomes an audience when the first of its queries comes."""

    def __init__(self, inputs: Sequence[InputState], audiences: Audiences, dictionary: Dictionary) -> None:
        self._inputs, self._audiences, self._dictionary = inputs, audiences, dictionary
        self._opened: dict[int, Audience] = {}

    def restore(self, reader: Reader, state: QueryState | None) -> None:
        """Let a query go on from its state, in the audience of its input; raises whatever is wrong with the state.

        A query whose own state alone is wrong has joined the audience.
        """
        if state is None:
            raise Unreadable("there is none")
        state.check(reader.query, reader.text)
        audience = self._audience(state.input, reader.iris)
        try:
            restore_reader(reader, *loads(state.blob, self._dictionary))
        except Exception:
            reader.stop()
            audience.add(reader)
            raise
        audience.add(reader)

    def _audience(self, number: int, iris: tuple[str, ...]) -> Audience:
        saved = self._inputs[number]
        if tuple(saved.iris) != iris:
            raise Unreadable(f"it is the state of a query over {', '.join(saved.iris)}")
        if number not in self._opened:
            self._opened[number] = self._audiences.restored(iris, loads(saved.blob, self._dictionary))
        return self._opened[number]


def unreadable(reader: Reader, error: Exception, way_back: str) -> RunError:
    """The reason for which a query does not go on from its state."""
    told = isinstance(error, Unreadable | RunError)
    reason = str(error).removeprefix("the saved state is ") if told else f"{type(error).__name__}: {error}"
    return RunError(f"the saved state of query '{reader.query.name}' cannot be read: {reason}", hint=way_back)
