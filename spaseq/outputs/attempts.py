"""The reasons why there is no match: the attempts that came furthest, as values, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparql_gpm.terms import IRI, BlankNode, Literal, Term, TripleTerm
from spaseq.outputs.explanation_html import Explanation
from spaseq.outputs.explanations import Terms, terms_dict, terms_text
from spaseq.outputs.rows import StepEvents

CAUSES = (
    "late", "malformed", "bound", "pattern", "service", "order", "join", "partition", "condition", "limit", "window",
    "contiguity", "absence", "iterations", "extendable", "selector", "skip", "distinct", "having", "limit-rows", "end",
    "waiting",
)  # fmt: skip
"""In the order in which one is named where several hold for an event."""
_SHOWN_MAX = 10
"""Attempts that the text shows; JSON has all."""
_ALIKE = {
    "value": ": equal values, but different terms",
    "text": ": the same text, but different terms",
    "number": ": the same number, but different terms",
    "case": ": the same text but for upper and lower case",
}
"""In words, what the two terms of a join have in common."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A constraint that keeps an attempt from going on.

    detail  terms, names, texts and numbers, by name
    repair  the least change that takes the constraint out of the way
    """

    cause: str
    detail: Mapping[str, Any]
    repair: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """A partial match that came furthest, and what keeps it from going on.

    step    that was to be taken next, or that removes it
    event   that was to be taken next; None: there was none
    faults  at least one; in the order of CAUSES
    """

    events: StepEvents
    bindings: Terms
    step: str
    event: str | None
    faults: tuple[Fault, ...]

    @property
    def cause(self) -> str:
        """The first cause."""
        return self.faults[0].cause

    @property
    def also(self) -> tuple[str, ...]:
        """The other causes, each once."""
        return tuple(dict.fromkeys(fault.cause for fault in self.faults[1:]))

    @property
    def repair(self) -> str:
        """The least change with which it goes further."""
        return "; and ".join(fault.repair for fault in self.faults)

    def to_dict(self) -> dict[str, Any]:
        """The attempt as JSON has it."""
        return {
            "events": {step: list(names) for step, names in self.events},
            "bindings": terms_dict(self.bindings),
            "step": self.step,
            "cause": self.cause,
            "also": list(self.also),
            "event": self.event,
            "detail": {name: _plain(value) for name, value in self.faults[0].detail.items()},
            "repair": self.repair,
        }


@dataclass(frozen=True, slots=True)
class WhyNot(Explanation):
    """The reasons why there is no match with some events and bindings.

    matches     the number of rows that there are; then there are no attempts
    attempts    those that came furthest, those with the fewest causes first
    left_out    attempts that came as far and were not looked into
    ended_early the partial matches were too many to look at all of them: others may have come further
    """

    query: str
    matches: int
    attempts: tuple[Attempt, ...]
    left_out: int = 0
    ended_early: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it; `endedEarly` only where it is true."""
        found: dict[str, Any] = {
            "query": self.query,
            "matches": self.matches,
            "attempts": [attempt.to_dict() for attempt in self.attempts],
        }
        return found | ({"endedEarly": True} if self.ended_early else {})

    def __str__(self) -> str:
        return "\n".join(_lines(self)) + "\n"


def _plain(value: Any) -> Any:
    """A value of a detail as JSON has it."""
    if isinstance(value, IRI | BlankNode | Literal | TripleTerm):
        return terms_dict([("", value)])[""]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _lines(found: WhyNot) -> Iterator[str]:
    if found.matches:
        rows = "row fits" if found.matches == 1 else "rows fit"
        yield f"'{found.query}': {found.matches:,} {rows}; 'spaseq why' explains them"
        return
    yield f"no match of '{found.query}'; the attempts that came furthest:"
    for number, attempt in enumerate(found.attempts[:_SHOWN_MAX], start=1):
        yield from _attempt(number, attempt)
    more = len(found.attempts) - _SHOWN_MAX + found.left_out if len(found.attempts) > _SHOWN_MAX else found.left_out
    if more > 0:
        yield f"and {more:,} more that came as far"
    if found.ended_early:
        yield "not all partial matches were looked at: bindings, events or a period make them fewer"


def _attempt(number: int, attempt: Attempt) -> Iterator[str]:
    taken = ", ".join(f"{step} = {' '.join(f'<{name}>' for name in names)}" for step, names in attempt.events)
    yield f"{number}. {taken or 'nothing could be the first step'}"
    if attempt.bindings:
        yield f"   with {terms_text(attempt.bindings)}"
    which = f" <{attempt.event}>" if attempt.event else ""
    yield f"   then {attempt.step}{which}:"
    for fault in attempt.faults:
        yield f"   - {fault.cause}: {in_words(fault)}"
        yield f"     repair: {fault.repair}"


def in_words(fault: Fault) -> str:
    """The detail of a fault as a clause."""
    detail = fault.detail
    match fault.cause:
        case "late":
            return f"<{detail['event']}> came {detail['delay']} too late"
        case "malformed":
            return f"line {detail['line']} of {detail['source']}: {detail['reason']}"
        case "pattern":
            return _lacking(detail)
        case "order" if "after" in detail:
            return f"<{detail['event']}> does not come after <{detail['after']}>"
        case "order":
            return f"{_graphs(detail['events'])} have different times"
        case "join":
            terms = f"?{detail['variable']} is {_value(detail['run'])} here and {_value(detail['event'])} there"
            return terms + _ALIKE.get(detail.get("same", ""), "")
        case "service":
            return f"endpoint <{detail['kb']}> did not answer"
        case "bound":
            return f"<{detail['event']}> has {detail['reason']}"
        case "waiting":
            until = f" until {detail['until']}" if detail["until"] is not None else ""
            return f"an event may still come on {detail['stream']}{until}"
        case "partition":
            return f"?{detail['variable']} is unbound"
        case "having":
            return f"{detail['text']} does not hold of its group{_with(detail['values'])}"
        case "condition":
            return f"{detail['text']} does not hold{_with(detail['values'])}"
        case "limit":
            return f"{detail['took']} is more than {detail['limit']}"
        case "window":
            return f"{detail['needed']} do not fit into {detail['window']}"
        case "contiguity":
            return f"<{detail['event']}> is in between, and '{detail['operator']}' is written"
        case "absence" if "negation" in detail:
            return f"{detail['negation']} occurred"
        case "extendable" if "repetition" in detail:
            return f"events extend {detail['repetition']}"
        case "absence":
            return f"{_graphs(detail.get('events', (detail['event'],)))} occurred"
        case "iterations":
            return f"{detail['taken']} of {detail['at_least']} iterations were taken"
        case "extendable":
            return f"<{detail['event']}> extends it"
        case "end":
            return f"no later event on {', '.join(detail['streams'])}"
    kept = ", ".join(f"{step} = {_graphs(names)}" for step, names in detail.get("kept", {}).items())
    return f"kept instead: {kept}" if kept else "it is no row"


def _lacking(detail: Mapping[str, Any]) -> str:
    if "kb" in detail:
        return f"knowledge base <{detail['kb']}> has no solution"
    if "filter" in detail:
        return f"{detail['filter']} does not hold{_with(detail['values'])}"
    seen = f"; events have <{detail['seen']}>" if "seen" in detail else ""
    return f"no triple matches {detail['pattern']}{seen}"


def _with(values: Mapping[str, Term]) -> str:
    return f" with {terms_text(tuple(values.items()))}" if values else ""


def _value(term: Term) -> str:
    return terms_text([("", term)]).removeprefix("? = ")


def _graphs(names: Sequence[str]) -> str:
    return " ".join(f"<{name}>" for name in names)
