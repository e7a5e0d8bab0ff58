"""The layouts of the states of queries, inputs and derived streams; those of evaluators are in `automata.layouts`."""

from __future__ import annotations

from typing import Any, Final

from automata.state import Layout


def _named_input(state: list[Any]) -> dict[str, Any]:
    still_open, untouched, waiting = state
    return {"open": still_open, "untouched": untouched, "buffers": waiting["buffers"]}


def _named_stream(state: list[Any]) -> dict[str, Any]:
    waiting, triggers = state
    return {"waiting": waiting, "triggers": triggers}


_QUERY = "kind sequence position matches names graphs solutions projector groups progress open_slot"
QUERY: Final = Layout("query", _QUERY, lambda state: {**state, "progress": None})
PROJECTOR: Final = Layout("rows so far", "reported projected")
EVENTS: Final = Layout("events", "times streams names offsets subjects predicates objects")
BUFFER: Final = Layout("events of a stream", "largest arrived watermark waiting")
INPUT: Final = Layout("input", "open untouched buffers", _named_input)
STOPPED: Final = Layout("stopped query", "stopped reason", lambda state: {**state, "reason": ""})
DERIVED: Final = Layout("derived stream", "waiting triggers", _named_stream)
