"""The progress line on a terminal."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from rich.console import Console

from spaseq.cli.progress import Progress, format_duration


@dataclass
class Counters:
    events: int = 0
    matches: int = 0
    lag_ns: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def terminal(shown: bool = True) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return console_on(text, shown=shown), text


def console_on(text: io.StringIO, width: int = 80, shown: bool = True, term: str = "xterm") -> Console:
    return Console(file=text, force_terminal=shown, width=width, color_system=None, _environ={"TERM": term})


def test_nothing_is_written_when_stderr_is_no_terminal() -> None:
    console, text = terminal(shown=False)
    clock = Clock()
    progress = Progress(console, clock)
    clock.now += 10
    progress.update(Counters(events=5))
    progress.clear()
    progress.finish(Counters(events=5))
    assert text.getvalue() == ""


def test_the_line_is_drawn_at_most_five_times_a_second() -> None:
    console, text = terminal()
    clock = Clock()
    progress = Progress(console, clock)
    for events in range(100):
        clock.now += 0.01
        progress.update(Counters(events=events))
    assert 4 <= text.getvalue().count("events/s") <= 5


def test_the_line_shows_events_rate_matches_and_lag() -> None:
    console, text = terminal()
    clock = Clock()
    progress = Progress(console, clock)
    clock.now += 0.5
    progress.update(Counters(events=50_000, matches=12, lag_ns=90_000_000_000))
    assert "50,000 events · 100,000 events/s · 12 matches · lag 1 min 30 s" in text.getvalue()


def test_clear_erases_the_line_once() -> None:
    console, text = terminal()
    clock = Clock()
    progress = Progress(console, clock)
    clock.now += 1
    progress.update(Counters(events=1))
    progress.clear()
    erased = text.getvalue()
    assert erased.endswith("\r\x1b[2K")
    progress.clear()
    assert text.getvalue() == erased


def test_a_terminal_that_cannot_erase_gets_the_summary_alone() -> None:
    text = io.StringIO()
    clock = Clock()
    progress = Progress(console_on(text, term="dumb"), clock)
    clock.now += 1
    progress.update(Counters(events=1))
    assert text.getvalue() == ""
    progress.finish(Counters(events=1))
    assert text.getvalue().startswith("1 events")


def test_the_summary_gives_the_rate_of_the_whole_run() -> None:
    console, text = terminal()
    clock = Clock()
    progress = Progress(console, clock)
    clock.now += 4
    progress.finish(Counters(events=2_000, matches=1))
    assert text.getvalue() == "2,000 events · 500 events/s · 1 match · lag 0 s · 4 s\n"


def test_a_narrow_terminal_gets_one_line_still() -> None:
    text = io.StringIO()
    clock = Clock()
    progress = Progress(console_on(text, width=20), clock)
    clock.now += 1
    progress.update(Counters(events=1_000_000_000, matches=1_000_000_000))
    assert "\n" not in text.getvalue()
    assert len(text.getvalue()) <= 19


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0 s"),
        (1_500_000, "1.5 ms"),
        (250_000_000, "250 ms"),
        (1_500_000_000, "1.5 s"),
        (59_999_999_999, "1 min"),
        (125_000_000_000, "2 min 5 s"),
        (3_600_000_000_000, "1 h"),
        (5_400_000_000_000, "1 h 30 min"),
        (273_600_000_000_000, "3 d 4 h"),
        (999_999_999, "1 s"),
    ],
)
def test_durations_are_written_in_the_units_that_matter(duration_ns: int, text: str) -> None:
    assert format_duration(duration_ns) == text
