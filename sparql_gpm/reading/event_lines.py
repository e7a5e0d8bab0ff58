"""Events of a batch as N-Quads that are read as the same events with the same options."""

from __future__ import annotations

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.event_text import quad_lines, time_line
from sparql_gpm.reading.event_times import values_inside
from sparql_gpm.reading.options import PROV_TIME, ReadOptions


def event_lines(
    events: EventBatch, index: int, dictionary: Dictionary, options: ReadOptions
) -> tuple[list[str], list[str]]:
    """The lines of an event: its time in the default graph, none if it is inside the graph; and its quads."""
    quads = quad_lines(events, index, dictionary)
    if _states_time(events, index, dictionary, options):
        return [], quads
    return [time_line(events, index, (*options.time_predicates, PROV_TIME)[0])], quads


def _states_time(events: EventBatch, index: int, dictionary: Dictionary, options: ReadOptions) -> bool:
    """True if the graph of an event says its time."""
    rows = slice(int(events.offsets[index]), int(events.offsets[index + 1]))
    triples = list(zip(*(column[rows].tolist() for column in events.terms), strict=True))
    paths = (*((iri,) for iri in options.time_predicates), *options.time_rule.paths)
    rule = options.time_rule
    try:
        times = [rule.stated(dictionary.term(value)) for value in values_inside(triples, paths, dictionary)]
        return bool(times) and rule.chosen(times) == int(events.times[index])
    except ValueError:
        return False
