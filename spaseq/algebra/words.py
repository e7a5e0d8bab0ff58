"""The meaning of a query in English sentences, the head of `spaseq explain`."""

from __future__ import annotations

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression, Limit, limits_of
from automata.plan.program import Selector, Skip, Window
from sparql_gpm.algebra.describe import expression_text
from spaseq.algebra.nodes import OverMatches, TemporalQuery
from spaseq.algebra.partitions import as_written, in_writing
from spaseq.lang.ast import Unit

_THEN = {Contiguity.STRICT: "directly followed by", Contiguity.NEXT: "then the next", Contiguity.ANY: "then any later"}
BETWEEN = {
    Contiguity.STRICT: "strict: nothing on any stream between two iterations",
    Contiguity.NEXT: "skip-till-next: each iteration is the next that fits",
    Contiguity.ANY: "skip-till-any: any later one may be the next iteration",
}
"""The contiguity between iterations, in words."""
_SELECTORS = {
    Selector.STRICT: "Only matches without a gap are kept.",
    Selector.NEXT: "Of the matches that end at one event, the one that takes the earliest events is kept.",
    Selector.LAST: "Of the matches that end at one event, the one that takes the latest events is kept.",
    Selector.MAX: "Of the matches that end at one event, those not contained in another are kept.",
}
_SKIPS = {
    Skip.TO_NEXT: "After a match, no other with the same first event is reported.",
    Skip.TO_FIRST: "After a match, none that begins before its first {} is reported.",
    Skip.TO_LAST: "After a match, none that begins before its last {} is reported.",
    Skip.PAST_LAST: "After a match, none that begins at or before its last event is reported.",
    Skip.CONSUME_ALL: "Once the matches of an event are reported, every partial match is dropped.",
}


def sentences(query: TemporalQuery) -> tuple[str, ...]:
    """The query in words, one sentence each."""
    names = tuple(pattern.name for pattern in query.patterns)
    found = [f"Find {_phrase(query.sequence, names)}, {window_in_words(query.window)}."]
    if query.partition:
        variables = ", ".join(f"?{as_written(name)}" for name in query.partition)
        found.append(f"Each value of {variables} is a partition of its own.")
    if query.using is not None:
        found.append("It has the events in which USING finds the value, whether a step matches them or not.")
    skip = _SKIPS.get(query.skip, "").format(query.skip_to)
    found += [text for text in (_SELECTORS.get(query.selector), skip) if text]
    if query.over is not None:
        found += _groups(query, query.over)
    elif query.template is not None:
        target = f" on stream <{query.register}>" if query.register else ""
        found.append(f"Each match gives one graph{target}.")
    else:
        columns = ", ".join(f"?{column.name}" for column in query.columns) or "no variable"
        found.append(f"Each match gives one row of {columns}{', without repeats' if query.distinct else ''}.")
    if query.limit is not None:
        each = "last event" if query.over is None else _unit(query.window)
        found.append(f"At most {query.limit} rows are reported for each {each}.")
    return tuple(found)


def _groups(query: TemporalQuery, over: OverMatches) -> list[str]:
    """The sentences about the groups of OVER MATCHES."""
    keys = f" with the same values of {', '.join(f'?{as_written(name)}' for name in over.keys)}" if over.keys else ""
    found = [f"The matches of each {_unit(query.window)}{keys} are a group."]
    kept = f" for which HAVING holds ({expression_text(in_writing(over.having))})" if over.having is not None else ""
    if query.template is not None:
        target = f" on stream <{query.register}>" if query.register else ""
        return [*found, f"Each group{kept} gives one graph{target}."]
    columns = ", ".join(f"?{column.name}" for column in query.columns)
    repeats = ", without repeats" if query.distinct else ""
    return [*found, f"Each group{kept} gives one row of {columns}{repeats}."]


def _unit(window: Window) -> str:
    return "last event" if window.sliding else "window"


def window_in_words(window: Window) -> str:
    """Such as "within a tumbling window of 30 minutes"."""
    kind = "sliding" if window.sliding else "tumbling" if window.hop is None else "hopping"
    size = _counted(window.size, "event") if window.in_events else duration_in_words(window.size)
    start = f" that starts at {window.start}" if window.anchored else ""
    every = ""
    if window.hop is not None:
        hop = _counted(window.hop, "event") if window.in_events else duration_in_words(window.hop)
        every = f" every {hop}"
    return f"within a {kind} window of {size}{every}{start}"


def duration_in_words(nanoseconds: int) -> str:
    """Such as "30 minutes": in the largest unit that divides it."""
    for unit in reversed(Unit):
        if unit is not Unit.EVENT and nanoseconds % unit.value == 0:
            return _counted(nanoseconds // unit.value, unit.name.lower())
    return _counted(nanoseconds, "nanosecond")


def _phrase(node: Expression, names: tuple[str, ...]) -> str:
    match node:
        case nodes.Step(symbol):
            return names[symbol]
        case nodes.Conjunction(members):
            return " and at the same time ".join(_phrase(member, names) for member in members)
        case nodes.Sequence(items, operators):
            first, *rest = (_phrase(item, names) for item in items)
            joined = (
                f", with {part}," if isinstance(item, nodes.Negation) else f" {_THEN[operator]}{_within(limit)} {part}"
                for item, operator, limit, part in zip(items[1:], operators, limits_of(node), rest, strict=True)
            )
            return f"{first}{''.join(joined)}".rstrip(",")
        case nodes.Choice(branches):
            return f"either {' or '.join(_phrase(branch, names) for branch in branches)}"
        case nodes.AnyOrder(members):
            return f"all of [{'; '.join(_phrase(member, names) for member in members)}] in any order"
        case nodes.Repetition(inner, at_least, at_most, _, possessive):
            possessively = ", as often as it goes on," if possessive and at_least != at_most else ""
            return f"{_times(at_least, at_most)}{possessively} ({_phrase(inner, names)})"
        case nodes.Optional(inner):
            return f"optionally ({_phrase(inner, names)})"
        case nodes.Negation(inner, limit=limit):
            return f"no ({_phrase(inner, names)}){_within(limit) or ' there'}"
        case nodes.Limited(inner, limit):
            return f"({_phrase(inner, names)}){_within(limit)} in all"


def _within(limit: Limit | None) -> str:
    return f" within {duration_in_words(limit.size)}" if limit else ""


def _times(at_least: int, at_most: int | None) -> str:
    if at_most is None:
        return "one or more times" if at_least == 1 else f"{at_least} or more times"
    return f"exactly {_counted(at_least, 'time')}" if at_least == at_most else f"{at_least} to {at_most} times"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
