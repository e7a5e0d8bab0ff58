"""The engine whose calls are awaited: `AsyncEngine`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from itertools import count
from typing import Any

import pytest

import spaseq
from benchmarks.growth_queries import STREAM, event, two_steps
from spaseq.engine import async_engine
from spaseq.outputs.rows import Row
from tests.conformance.times import to_iso
from tests.driving import comparable
from tests.random_pairs import drawn, expected_rows, shown

LOW, HIGH = event(1, "low", 1), event(1, "high", 2)
SECOND = 1_000_000_000
ABSENT = """PREFIX : <http://ex.org/> SELECT ?h WITHIN 10 SECONDS SLIDING FROM STREAM S <http://ex.org/s>
WHERE { SEQ(A ; B!) DEFINE GPM A ON S { ?h :low ?v } DEFINE GPM B ON S { ?h :high ?w } }"""
TWO = """PREFIX : <http://ex.org/> SELECT ?h WITHIN 1 HOURS SLIDING
FROM STREAM S <http://ex.org/s> FROM STREAM T <http://ex.org/t>
WHERE { SEQ((A | C)) DEFINE GPM A ON S { ?h :low ?v } DEFINE GPM C ON T { ?h :high ?w } }"""


EVERY = two_steps(1).replace("A ; B", "A : B")
"""Every later reading completes the first one."""


def ran(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 60))


def test_matches_of_random_pairs_are_those_of_the_reference() -> None:
    async def rows_of(pair: Any) -> list[Row]:
        iris = {stream.name: stream.iri for stream in pair.query.streams}
        found: dict[str, list[Row]] = {"q": [], "reader": []}

        async def collect(matches: Any, name: str) -> None:
            found[name] += [row async for row in matches]

        async with spaseq.AsyncEngine(max_waiting=2) as engine, asyncio.TaskGroup() as tasks:
            for query in (pair.query, pair.reader):
                if query is not None:
                    tasks.create_task(collect(engine.matches(query), query.name))
            for name, time, graph, triples in pair.arrived:
                if name in iris:
                    await engine.push(iris[name], triples, to_iso(time), graph)
            await engine.close()
        return found["q"] + found["reader"]

    found = 0
    for number in count():
        if (pair := drawn(41, number)) is not None:
            expected = expected_rows(pair)
            assert Counter(map(comparable, asyncio.run(rows_of(pair)))) == Counter(expected), shown(pair)
            found += len(expected)
        if found > 12:
            break


def test_a_push_waits_while_too_many_rows_wait() -> None:
    async def run() -> None:
        pushed: list[int] = []
        engine = spaseq.AsyncEngine(max_waiting=3)
        matches = engine.matches(spaseq.parse(EVERY))

        async def push() -> None:
            await engine.push(STREAM, LOW, 0)
            for second in range(1, 11):
                await engine.push(STREAM, HIGH, second)
                pushed.append(second)

        task = asyncio.create_task(push())
        for _ in range(50):
            await asyncio.sleep(0)
        assert pushed == [1, 2, 3]
        await anext(matches)
        for _ in range(50):
            await asyncio.sleep(0)
        assert pushed == [1, 2, 3, 4]
        taken = 1
        while not task.done() or taken < 10:
            await anext(matches)
            taken += 1
            await asyncio.sleep(0)
        await engine.close()
        assert [row async for row in matches] == [] and len(pushed) == 10

    ran(run())


def test_a_task_that_iterates_and_pushes_does_not_wait_for_itself() -> None:
    async def run() -> None:
        async with spaseq.AsyncEngine(max_waiting=2) as engine:
            matches = engine.matches(spaseq.parse(EVERY))
            await engine.push(STREAM, LOW, 0)
            await engine.push(STREAM, HIGH, 1)
            seen = 0
            async for _ in matches:
                seen += 1
                if seen == 5:
                    await matches.aclose()
                else:
                    for _ in range(3):
                        await engine.push(STREAM, HIGH, seen + 1)
            assert seen == 5 and not engine.registrations

    ran(run())


def test_what_functions_of_rows_return_is_awaited_and_their_errors_end_the_push() -> None:
    async def run() -> None:
        found: list[str] = []

        async def later(row: Row) -> None:
            await asyncio.sleep(0)
            found.append("later")

        def failing(row: Row) -> None:
            found.append("failing")
            raise ZeroDivisionError

        engine = spaseq.AsyncEngine()
        first = await engine.register(spaseq.parse(EVERY, "first"), failing)
        second = await engine.register(spaseq.parse(EVERY, "second"), later)
        await engine.push(STREAM, LOW, 0)
        with pytest.raises(ZeroDivisionError):
            await engine.push(STREAM, HIGH, 1)
        await first.unregister()
        await second.pause()
        await engine.push_batch(STREAM, "")
        assert found == ["failing", "later"] and second.paused
        await second.resume()
        await engine.push(STREAM, HIGH, 2)
        assert found == ["failing", "later", "later"]
        await second.replace(spaseq.parse(two_steps(2), "other"))
        assert ([each.name for each in engine.registrations], second.matches) == (["other"], 2)
        await engine.close()
        with pytest.raises(spaseq.InputError, match="closed"):
            await engine.push(STREAM, HIGH, 3)

    ran(run())


def test_silent_streams_move_with_the_wall_clock() -> None:
    async def run() -> None:
        now = 1_000 * SECOND
        absent, two = list[Row](), list[Row]()
        engine = spaseq.AsyncEngine(idle_timeout={"S": 5, "http://ex.org/t": 3}, clock=lambda: now)
        await engine.register(spaseq.parse(ABSENT), absent.append)
        await engine.register(spaseq.parse(TWO), two.append)
        await engine.push("S", LOW, 500)
        found = []
        for _ in range(14):
            await engine.look_at_the_clock()
            found.append((len(two), len(absent)))
            now += SECOND
        assert found == [(0, 0)] * 5 + [(1, 0)] * 6 + [(1, 1)] * 3, "S moves after 5 s, and is at 511 after 11"
        await engine.push("S", HIGH, 505)
        assert engine.statistics.dead_letters["late"] == 1
        await engine.close()

    ran(run())


def test_the_clock_is_looked_at_without_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_engine, "TICK_S", 0.01)

    async def run() -> None:
        now = 0

        def clock() -> int:
            nonlocal now
            now += SECOND
            return now

        async with spaseq.AsyncEngine(idle_timeout=2, clock=clock) as engine:
            matches = engine.matches(spaseq.parse(ABSENT))
            await engine.push("S", LOW, 500)
            assert (await anext(matches))["h"].value == "http://ex.org/h1"  # type: ignore[union-attr]

    ran(run())


def test_an_iteration_over_a_query_that_is_stopped_ends_with_an_error() -> None:
    async def run() -> None:
        async with spaseq.AsyncEngine() as engine:
            matches = engine.matches(spaseq.parse(EVERY, "q"), max_runs=2)
            with pytest.raises(spaseq.RunError, match="query 'q' was stopped"):
                await engine.push_batch(STREAM, "".join(_low(number) for number in range(9)))
            with pytest.raises(spaseq.RunError, match="query 'q' was stopped"):
                await anext(matches)

    ran(run())


def _low(number: int) -> str:
    name, time = f"<urn:e{number}>", f'"2026-01-01T00:00:0{number}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    value = f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    stated = f"{name} <http://www.w3.org/ns/prov#generatedAtTime> {time} .\n"
    return f"{stated}<http://ex.org/h1> <http://ex.org/low> {value} {name} .\n"


def test_an_engine_goes_on_from_a_snapshot() -> None:
    async def run() -> None:
        found: list[Row] = []
        engine = spaseq.AsyncEngine()
        await engine.register(spaseq.parse(EVERY, "q"))
        await engine.push(STREAM, LOW, 0)
        saved = await engine.snapshot()
        for on_match in (found.append, {"q": found.append}):
            other = spaseq.AsyncEngine.restore(saved, on_match=on_match)
            await other.push(STREAM, HIGH, 1)
            await other.close(flush=False)
        assert len(found) == 2
        with pytest.raises(spaseq.InputError, match="is a function of a row, not int"):
            spaseq.AsyncEngine.restore(saved, on_match=3)  # type: ignore[arg-type]

    ran(run())


@pytest.mark.parametrize("wrong", [{"idle_timeout": 0}, {"idle_timeout": {"S": "5"}}, {"max_waiting": 0}, {"no": 1}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(spaseq.InputError):
        spaseq.AsyncEngine(**wrong)
