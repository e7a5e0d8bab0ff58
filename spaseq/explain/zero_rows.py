"""The reason why a query gave no row: what is known of it as values, and as at most five lines of text.

A reason is a count of matches that there would be if one constraint were left out. It says nothing of what was not
counted: where only a part of the events was looked at, the text says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum

LINES_MAX = 5
"""Lines of the text, whatever the number of queries."""
_STEPS_MAX = 6
_NAMES_MAX = 3
_SHOWN_MAX = 120
"""Characters of a condition or IRI that are shown."""


class Constraint(Enum):
    """A kind of constraint that stands between events and a match."""

    WINDOW = "window"
    JOIN = "join"
    CONTIGUITY = "contiguity"
    CONDITION = "condition"
    ITERATIONS = "iterations"
    ABSENCE = "absence"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Loss:
    """A constraint, and the matches there would be without it.

    text        of the constraint: `WITHIN 10 SECONDS`, `?x`, `;`, a FILTER, `{3,}`, `B!`
    matches     at least so many; of the sequence up to the step where it fails
    """

    constraint: Constraint
    text: str
    matches: int


@dataclass(frozen=True, slots=True)
class UnseenConstant:
    """A constant of a step that no event has had; `seen` are the most similar ones that events have had."""

    step: str
    kind: str
    iri: str
    seen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepSeen:
    """A step and its solutions.

    narrowed    the variable by which it was looked for only in events that agree with other steps; "": only at the
                times of other members of `&`; None: everywhere
    named       events have had every constant that its pattern asks for
    """

    name: str
    streams: tuple[str, ...]
    solutions: int
    narrowed: str | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class Emptied:
    """The part of a step's pattern that no event passes, and how many come to it; a knowledge base has no line."""

    text: str
    line: int | None
    events: int


@dataclass(frozen=True, slots=True)
class Stuck:
    """The place in SEQ( ) where there is no match any more, and why.

    before      what still matches, "" for nothing: the first element of the sequence fails
    reached     its matches, at least so many
    step        the next element
    steps       how many steps that element has
    losses      the constraints without which there are matches, each alone, the worst one first
    together    constraints that are in the way only together
    too_soon    no event of the element comes after any event of the one before it
    narrowed    its steps were looked for only where those before could go on
    """

    before: str
    reached: int
    step: str
    steps: int = 1
    losses: tuple[Loss, ...] = ()
    together: tuple[Loss, ...] = ()
    too_soon: bool = False
    narrowed: bool = False


@dataclass(frozen=True, slots=True)
class ZeroRows:
    """Facts about a query that gave no row.

    events      that it read, by the name of the stream
    lost        events that it did not read, by reason: "late", "malformed"
    steps       of SEQ( ), each once, without those of `!`
    required    the steps without a solution that every match needs
    emptied     of the first of them, by its funnel; None: it was not counted
    stuck       None: not known
    looked_at   the number of events that the counts of `stuck` are about; None: all
    kept_back   what removes matches that there are: `SELECT STRICT`; "" where there is none
    too_early   every event came before STARTING AT
    using       USING says which events a partition has: solutions in other events are not counted
    searched    the constraint that is in the way was looked for
    open        its streams have not ended
    continued   it had read more before, which is not counted
    """

    query: str
    events: Mapping[str, int]
    lost: Mapping[str, int]
    steps: tuple[StepSeen, ...] = ()
    unseen: tuple[UnseenConstant, ...] = ()
    required: tuple[StepSeen, ...] = ()
    emptied: Emptied | None = None
    stuck: Stuck | None = None
    looked_at: int | None = None
    kept_back: str = ""
    too_early: bool = False
    using: bool = False
    searched: bool = True
    open: bool = False
    continued: bool = False


def zero_rows_lines(queries: Sequence[ZeroRows], count: int) -> list[str]:
    """At most LINES_MAX lines: all that is known of one query, or the reason of the first of so many."""
    if count == 1:
        return _of_one(queries[0])[:LINES_MAX]
    shown = queries if count <= LINES_MAX else queries[: LINES_MAX - 1]
    lines = [f"no row of '{each.query}': {_reason(each)}" for each in shown]
    if count > len(shown):
        lines.append(f"no row of {count - len(shown)} more queries")
    return lines


def most_similar(iri: str, seen: Iterable[str]) -> tuple[str, ...]:
    """The names most similar to an IRI, the nearest first; local names count more than namespaces."""
    wanted = _local(iri)

    def likeness(other: str) -> tuple[float, float]:
        return SequenceMatcher(None, wanted, _local(other)).ratio(), SequenceMatcher(None, iri, other).ratio()

    return tuple(sorted(seen, key=lambda other: (likeness(other), other), reverse=True)[:_NAMES_MAX])


def similarity(one: str, other: str) -> float:
    """The likeness of the local names of two IRIs, from 0 to 1."""
    return SequenceMatcher(None, _local(one), _local(other)).ratio()


def _local(iri: str) -> str:
    return max(iri.rsplit("#", 1)[-1].rsplit("/", 1)[-1], iri if iri.endswith(("#", "/")) else "").casefold()


def _of_one(known: ZeroRows) -> list[str]:
    lines = [f"no row of '{known.query}': {_reason(known)}"]
    lines += [f"  {line}" for line in _details(known)]
    if any(known.events.values()):
        lines.append(f"  {_read(known)}")
    if known.lost:
        lost = " and ".join(f"{count:,} {reason}" for reason, count in sorted(known.lost.items()))
        lines.append(f"  not read: {lost}; --max-delay lets late events in, --dead-letter keeps what is not read")
    return lines


def _reason(known: ZeroRows) -> str:
    """The first thing to know."""
    if known.continued:
        return "what it had read before this start is not counted here"
    if not any(known.events.values()):
        lost = ", ".join(f"{count:,} {reason}" for reason, count in sorted(known.lost.items()))
        if lost:
            return f"it read no event ({lost})"
        return "it read no event" if known.open else "its streams have no event"
    if known.too_early:
        return "every event comes before STARTING AT"
    if known.unseen:
        return f"no event {'that was read ' if known.lost else ''}has {_unseen(known.unseen[0], _NAMES_MAX)}"
    if known.required:
        return _without_solution(known)
    if known.kept_back:
        return f"{known.kept_back} keeps none of its matches"
    if known.stuck:
        return _stuck_in_words(known.stuck)
    if known.open:
        return "its steps have solutions; a match may wait for later events, or for the end of its streams"
    if not known.searched:
        return "its steps have solutions, and no row came of them; why was not looked for in so many events"
    return "its steps have solutions, and no match has all of them"


def _without_solution(known: ZeroRows) -> str:
    step = known.required[0]
    read = [name for name in step.streams if known.events.get(name)]
    if not read:
        return f"{_listed(step.streams, 'and')} has no event, and {step.name} reads no other stream"
    if step.narrowed == "":
        return f"no event at the time of the other members of '&' matches {step.name}"
    if step.narrowed:
        return f"no event with the ?{step.narrowed} of the steps before it, and in their window, matches {step.name}"
    others = [each.name for each in known.required[1:]]
    also = f", nor {_listed(others, 'or')}" if others else ""
    named = ", though events have every constant of its pattern" if step.named and not others else ""
    if known.emptied is not None:
        named = f"; {_emptied(known.emptied, step.name if others else '')}"
    if known.using:
        return f"no event that USING puts into a partition matches {step.name}{also}"
    return f"no event matches {step.name}{also}{named}"


def _emptied(part: Emptied, step: str) -> str:
    came = "1 event comes" if part.events == 1 else f"{part.events:,} events come"
    whose = f" of {step}" if step else ""
    line = "" if part.line is None else f" on line {part.line}"
    return f"{came} to {_short(part.text)}{whose}{line}, and {'does not pass' if part.events == 1 else 'none passes'}"


def _stuck_in_words(stuck: Stuck) -> str:
    step, before = stuck.step, stuck.before
    if stuck.losses:
        first, *others = stuck.losses
        return f"{_lost(first, stuck)}{''.join(f', {each.matches:,} without {_named(each)}' for each in others)}"
    if stuck.together:
        names = _listed([_named(loss) for loss in stuck.together], "and")
        if all(loss.constraint is Constraint.ABSENCE for loss in stuck.together):
            return f"{names} together rule out every match"
        return f"no {f'{step} follows {before}' if before else step}: {names} are in the way together"
    if not before:
        subject = "each of its steps has" if stuck.steps > 1 else "it has"
        return f"no {step}: {subject} solutions, and none makes a match"
    if stuck.too_soon:
        return f"no {step} comes after {before}"
    if stuck.narrowed:
        return f"no {step} that agrees with {before} follows it in its window"
    return f"no {step} follows {before}; which constraint is in the way is not known"


def _lost(loss: Loss, stuck: Stuck) -> str:
    """The loss as a sentence that ends with what there would be without it."""
    would = f"{loss.matches:,} would match"
    step, before = stuck.step, stuck.before
    fitting = f"{step} that fits {before}" if before else step
    match loss.constraint:
        case Constraint.JOIN:
            follows = f"{step} that could follow {before} has its" if before else f"{step} agrees on"
            return f"no {follows} {loss.text}; without this join {would}"
        case Constraint.WINDOW:
            return f"no {fitting} lies within {loss.text}; in a longer one {would}"
        case Constraint.CONTIGUITY:
            return f"no {fitting} is as near as {loss.text} says; with ':' {would}"
        case Constraint.CONDITION:
            where = f"where {step} could follow {before}" if before else f"for {step}"
            return f"{_short(loss.text)} never holds {where}; without it {would}"
        case Constraint.ITERATIONS:
            return f"{step} does not come {loss.text} times; with fewer {would}"
        case Constraint.LIMIT:
            return f"no {fitting} is in time, by {loss.text}; with a longer limit {would}"
        case Constraint.ABSENCE:
            return f"{loss.text} rules out every match; without it {would}"


def _named(loss: Loss) -> str:
    match loss.constraint:
        case Constraint.JOIN:
            return f"the join on {loss.text}"
        case Constraint.CONTIGUITY:
            return f"the contiguity {loss.text}"
        case Constraint.ITERATIONS:
            return f"the count of {loss.text}"
        case Constraint.LIMIT:
            return f"the limit {loss.text}"
        case _:
            return _short(loss.text)


def _unseen(constant: UnseenConstant, names: int) -> str:
    seen = ", ".join(f"<{_short(name)}>" for name in constant.seen[:names])
    return (
        f"{constant.kind} <{_short(constant.iri)}>, which {constant.step} asks for{f'; seen: {seen}' if seen else ''}"
    )


def _details(known: ZeroRows) -> list[str]:
    """More about the reason: another constant, and how often each step was met."""
    if not any(known.events.values()):
        return []
    lines = [f"nor {_unseen(each, 1)}" for each in known.unseen[1:2]]
    steps = [f"{each.name} {each.solutions:,}" for each in known.steps[:_STEPS_MAX]]
    more = f" and {len(known.steps) - _STEPS_MAX} more steps" if len(known.steps) > _STEPS_MAX else ""
    narrowed = [each.name for each in known.steps if each.narrowed is not None]
    where = f" ({_listed(narrowed, 'and')} only where other steps could go on)" if narrowed else ""
    reached = (
        f"; matches of {known.stuck.before}: {known.stuck.reached:,}" if known.stuck and known.stuck.before else ""
    )
    return [*lines, f"solutions: {', '.join(steps)}{more}{where}{reached}"]


def _read(known: ZeroRows) -> str:
    events = ", ".join(f"{name} {count:,}" for name, count in known.events.items())
    part = "" if known.looked_at is None else f"; the reason is that in {known.looked_at:,} of them"
    return f"events: {events}{part}"


def _listed(names: Sequence[str], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN_MAX else f"{flat[: _SHOWN_MAX - 1]}…"
