"""The options that say which time an event has, as users write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sparql_gpm.reading.event_times import CHOICES, Path, TimeRule
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import SECOND_NS, parse_time
from sparql_gpm.well_formed import is_iri
from spaseq.errors import InputError

UNITS_NS = {"s": SECOND_NS, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""The units that a number may count, in nanoseconds."""
_STEP = r"<[^<>]*>|[^<>/]+"
_PREFIXED = r"[^\s<>\"{}|^`\\/:]*:[^\s<>\"{}|^`\\/]*"
_PATH = re.compile(rf"(?:<[^<>]*>|{_PREFIXED})(?:/(?:<[^<>]*>|{_PREFIXED}))*")

__all__ = ["CHOICES", "UNITS_NS", "TimeReading", "is_path", "is_time", "path_of", "reading_of"]


@dataclass(frozen=True, slots=True)
class TimeReading:
    """The fields of `ReadOptions` that say which time an event has."""

    predicates: tuple[str, ...]
    rule: TimeRule


def path_of(text: str, prefixes: Mapping[str, str]) -> Path:
    """The predicates of `<IRI1>/<IRI2>`, of prefixed names, or of an IRI without brackets."""
    bare = text.split("/")
    if "<" not in text and not all(_is_prefixed(step, prefixes) for step in bare):
        return (text,)
    return tuple(_iri(step, prefixes) for step in re.findall(_STEP, text))


def is_path(text: str) -> bool:
    """True for a text of which `path_of` makes absolute IRIs, if it knows the prefixes."""
    if "<" not in text and is_iri(text):
        return True
    steps = re.findall(_STEP, text)
    return bool(_PATH.fullmatch(text)) and all(is_iri(step[1:-1]) for step in steps if step.startswith("<"))


def is_time(text: str) -> bool:
    """True for an xsd:dateTime or xsd:date that can be a time."""
    return _time(text) is not None


def reading_of(
    predicates: Sequence[str], choice: str | None, unit: str, origin: str | None, prefixes: Mapping[str, str]
) -> TimeReading:
    """The options as readers take them, the prefixes are those of the queries; InputError for one that is none."""
    paths = [path_of(text, prefixes) for text in predicates]
    if wrong := next((step for path in paths for step in path if not is_iri(step)), None):
        raise InputError(f"the time predicate '{wrong}' is no IRI", hint="a prefix is one that the query declares")
    rule = TimeRule(
        tuple(path for path in paths if len(path) > 1), choice or "", UNITS_NS[unit], _time(origin or "1970-01-01") or 0
    )
    return TimeReading(tuple(path[0] for path in paths if len(path) == 1), rule)


def _time(text: str) -> int | None:
    try:
        return parse_time(Literal(text, XSD + ("dateTime" if "T" in text else "date")))
    except ValueError:
        return None


def _is_prefixed(step: str, prefixes: Mapping[str, str]) -> bool:
    prefix, colon, _ = step.partition(":")
    return bool(colon) and prefix in prefixes


def _iri(step: str, prefixes: Mapping[str, str]) -> str:
    if step.startswith("<"):
        return step[1:-1]
    prefix, _, local = step.partition(":")
    return prefixes[prefix] + local if prefix in prefixes else step
