"""Pictures on pages: blocks of code in two languages of their own become drawings of what the engine finds.

    ```matches              a stream, and for each sequence its matches below the time line
    A1 X2 B3 B4
    SEQ(A ; B)
    WITHIN 2 SECONDS: SEQ(A : B)
    ```
    ```automaton            the automaton of a sequence
    SEQ(A ; B+)
    ```
An event is its kind and its time in seconds. Where no drawing is made, the block says the same as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import spaseq
from spaseq.explain.render import render
from spaseq.lang.ast import Query

_BLOCK = re.compile(r"^```(matches|automaton)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"(?:(WITHIN [^:]+): )?(?:SELECT (\w+) )?(SEQ\(.*\))((?: AFTER MATCH| LIMIT).*)?$")
_EVENT = re.compile(r"([A-Z])(\d+)$")
_LEFT, _RIGHT, _TITLE, _ROW = 24, 616, 24, 18
STYLE = """<style>
.picture { margin: 1em 0; }
.picture svg { max-width: 100%; height: auto; }
.picture .drawn { stroke: currentColor; fill: none; }
.picture text { font: 13px monospace; fill: currentColor; }
.picture .event { text-anchor: middle; }
.picture .match { stroke: #3f51b5; stroke-width: 2; fill: none; }
.picture .taken { fill: #3f51b5; }
.automaton { background: #fff; overflow-x: auto; }
.automaton text { fill: #000; font: 12px sans-serif; }
</style>
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A line of a `matches` block: its text, and the times of the events of each match, in output order."""

    text: str
    matches: tuple[tuple[int, ...], ...]


def with_pictures(text: str) -> str:
    """The text of a page with its pictures drawn."""
    if _BLOCK.search(text) is None:
        return text
    title, newline, rest = text.partition("\n")
    return f"{title}{newline}\n{STYLE}{_BLOCK.sub(_drawing, rest)}"


def cases(block: str) -> tuple[Mapping[int, str], list[Case]]:
    """The events of a `matches` block, kind by time, and its cases. Raises ValueError for what is none."""
    stream, *lines = block.strip().splitlines()
    events = {int(found[2]): found[1] for found in map(_matched_event, stream.split())}
    return events, [Case(line, _matches(line, events)) for line in lines]


def query_of(line: str) -> Query:
    """The query of a line: a step is an event of the kind of its name."""
    found = _LINE.match(line)
    if found is None:
        raise ValueError(f"no sequence: {line}")
    window, selector, sequence, after = found.groups()
    names = sorted(set(re.findall(r"\b[A-Z]\b", sequence)))
    steps = " ".join(f"DEFINE GPM {name} ON S {{ ?{name.lower()} a <urn:{name}> }}" for name in names)
    head = f"SELECT {selector or ''} * {window or 'WITHIN 1 HOUR SLIDING'} FROM STREAM S <urn:s>"
    return spaseq.parse(f"{head} {{ {sequence} {steps} }} {after or ''}")


def _matched_event(word: str) -> re.Match[str]:
    found = _EVENT.match(word)
    if found is None:
        raise ValueError(f"no event: {word}")
    return found


def _matches(line: str, events: Mapping[int, str]) -> tuple[tuple[int, ...], ...]:
    rows: list[spaseq.Row] = []
    engine = spaseq.Engine()
    engine.register(query_of(line), on_match=rows.append)
    for time, kind in events.items():
        engine.push("S", f"[] a <urn:{kind}> .", time, name=f"urn:{time}")
    engine.close()
    return tuple(
        tuple(sorted(int(name.removeprefix("urn:")) for _, names in row.events for name in names)) for row in rows
    )


def _drawing(found: re.Match[str]) -> str:
    if found[1] == "automaton":
        svg = render(spaseq.describe(query_of(found[2].strip())), "svg")
        return f'<div class="picture automaton">{" ".join(svg.split())}</div>'
    events, drawn = cases(found[2])
    parts: list[str] = []
    height = 0
    for case in drawn:
        parts.append(f'<g transform="translate(0 {height})">{_case(case, events)}</g>')
        height += _TITLE + 30 + _ROW * max(1, len(case.matches)) + 8
    size = f'viewBox="0 0 640 {height}" width="640" height="{height}"'
    return f'<div class="picture"><svg {size}>{"".join(parts)}</svg></div>'


def _case(case: Case, events: Mapping[int, str]) -> str:
    """The title of a case, its time line with the events, and a line for each match."""
    last = max(events)
    place = {time: _LEFT + (_RIGHT - _LEFT) * time / (last + 1) for time in events}
    line = _TITLE + 16
    parts = [f'<text x="0" y="14">{escape(case.text)}</text>']
    parts.append(f'<path class="drawn" d="M{_LEFT} {line}H{_RIGHT}"/>')
    for time, kind in events.items():
        parts.append(f'<circle class="drawn" cx="{place[time]:.0f}" cy="{line}" r="3"/>')
        parts.append(f'<text class="event" x="{place[time]:.0f}" y="{line - 7}">{kind}{time}</text>')
    for row, match in enumerate(case.matches):
        parts.append(_match([place[time] for time in match], line + _ROW * (row + 1)))
    if not case.matches:
        parts.append(f'<text x="{_LEFT}" y="{line + _ROW}">no match</text>')
    return "".join(parts)


def _match(places: Sequence[float], height: int) -> str:
    dots = "".join(f'<circle class="taken" cx="{place:.0f}" cy="{height}" r="4"/>' for place in places)
    return f'<path class="match" d="M{places[0]:.0f} {height}H{places[-1]:.0f}"/>{dots}'
