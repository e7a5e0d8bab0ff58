"""What the tests cost, and which of them cover most in little time.

As a plugin of pytest it writes the processor time of each test and fixture, with that of the processes that it has
started, into out/costs; as a program it reads that and the coverage of the same run:

    make test-costs     every test once, with coverage; prints the tables and chooses the tests of `make test-fast`
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "out" / "costs"
SPEEDS = ROOT / "tests" / "speeds.txt"
FAST_S = 200.0
"""Processor time, with coverage, of the tests that are chosen: two minutes of two processors without it."""
SLOW_S = 5.0
"""Processor time, with coverage, of a test function that is slow."""
START_S = 0.05
"""What it costs to begin a test at all."""
_TICKS = os.sysconf("SC_CLK_TCK")
Cost = dict[str, Any]


# --- measuring, in the workers of pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    return (yield from _measured("collection", "", session.name))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    return (yield from _measured("fixture", f"{fixturedef.baseid}::{fixturedef.argname}", fixturedef.scope))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _measured("test", item.nodeid, _kind(item)))


pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup


def _kind(item: pytest.Item) -> str:
    return "property" if item.get_closest_marker("hypothesis") else "example"


def _measured(what: str, name: str, kind: str) -> Generator[None, object, object]:
    wall, cpu = time.monotonic(), _processor_s()
    found = yield
    cost = {"what": what, "name": name, "kind": kind, "cpu": _processor_s() - cpu, "wall": time.monotonic() - wall}
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}.ndjson").open("a") as file:
        file.write(json.dumps(cost) + "\n")
    return found


def _processor_s() -> float:
    """Seconds of this process and of all that it has started."""
    times = os.times()
    ended = times.children_user + times.children_system
    return time.process_time() + ended + sum(map(_ticks, _descendants(os.getpid()))) / _TICKS


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0
    return sum(map(int, fields[11:15]))


def _descendants(pid: int) -> Iterator[int]:
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = tasks.read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _descendants(child)


# --- reading what was measured


def costs() -> list[Cost]:
    """All that the workers wrote."""
    return [json.loads(line) for path in FOLDER.glob("*.ndjson") for line in path.read_text().splitlines()]


def function(name: str) -> str:
    """The test function of a node: without parameters."""
    return name.partition("[")[0]


def by(found: Iterable[Cost], key: Callable[[Cost], str]) -> dict[str, list[float]]:
    """Number, processor seconds and wall seconds of each group, the dearest first."""
    groups: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for cost in found:
        group = groups[key(cost)]
        group[0] += 1
        group[1] += cost["cpu"]
        group[2] += cost["wall"]
    return dict(sorted(groups.items(), key=lambda item: -item[1][1]))


def table(title: str, groups: dict[str, list[float]], most: int) -> None:
    """Print the dearest groups."""
    print(f"\n{title:<100} {'number':>7} {'CPU s':>8} {'wall s':>8}")
    for name, (number, cpu, wall) in list(groups.items())[:most]:
        print(f"{name[-100:]:<100} {number:>7.0f} {cpu:>8.1f} {wall:>8.1f}")


def lines_of_functions(data: Path) -> dict[str, set[tuple[str, int]]]:
    """The lines of the product that each test function covers, by coverage's contexts."""
    from coverage import CoverageData

    read = CoverageData(str(data))
    read.read()
    found: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for file in read.measured_files():
        for line, contexts in read.contexts_by_lineno(file).items():
            for context in contexts:
                if context:
                    found[function(context.partition("|")[0])].add((file, line))
    return found


def fast(seconds: dict[str, float], lines: dict[str, set[tuple[str, int]]]) -> list[str]:
    """Functions by the lines that they add for their seconds, until `FAST_S` are spent.

    What a function adds becomes only less as others are chosen: the first whose worth has not changed is the best.
    """
    chosen, covered, spent = list[str](), set[tuple[str, int]](), 0.0
    worth = [(-len(own) / (seconds[name] + START_S), name) for name, own in lines.items() if name in seconds]
    heapify(worth)
    while worth:
        known, name = heappop(worth)
        added = lines[name] - covered
        now = -len(added) / (seconds[name] + START_S)
        if added and now > known:
            heappush(worth, (now, name))
        elif added and spent + seconds[name] <= FAST_S:
            chosen.append(name)
            covered |= added
            spent += seconds[name]
    return chosen


def main() -> None:
    """Print the tables, and write which tests are fast and which slow."""
    found = costs()
    tests = [cost for cost in found if cost["what"] == "test"]
    table("all", by(found, lambda cost: cost["what"]), 9)
    table("folder", by(tests, lambda cost: cost["name"].partition("::")[0].rpartition("/")[0]), 99)
    table(
        "fixture", by([c for c in found if c["what"] == "fixture"], lambda cost: f"{cost['name']} ({cost['kind']})"), 30
    )
    table("property", by([c for c in tests if c["kind"] == "property"], lambda cost: function(cost["name"])), 40)
    table("test", by(tests, lambda cost: function(cost["name"])), 60)
    seconds = {name: cpu for name, (_, cpu, _) in by(tests, lambda cost: function(cost["name"])).items()}
    marks = {name: "slow" for name, cpu in seconds.items() if cpu >= SLOW_S}
    marks |= dict.fromkeys(fast(seconds, lines_of_functions(Path(sys.argv[1]))), "fast")
    SPEEDS.write_text("".join(f"{mark} {name}\n" for name, mark in sorted(marks.items())))


if __name__ == "__main__":
    main()
