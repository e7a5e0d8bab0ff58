"""Random crashes, failing disks, pauses and replacements: rows and numbers are those of an undisturbed run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

import spaseq
from automata.plan.program import Skip
from spaseq.algebra.build import build
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row, to_json
from tests.random_pairs import Pair, drawn
from tests.service.core import simulated
from tests.service.core.simulated import FAR, Simulation, rows_of, without_number
from tests.strategies.stream import batches, to_trig

SIMULATIONS = int(os.environ.get("SPASEQ_SIMULATIONS", "2"))
ROWS_MIN = 5
OTHER = """PREFIX : <http://ex.org/> SELECT ?v WITHIN 1 MINUTE FROM STREAM S1 <{iri}>
WHERE {{ SEQ(A ; B) DEFINE GPM A ON S1 {{ ?s ?p ?v }} DEFINE GPM B ON S1 {{ ?s ?q ?w }} }}"""


def pairs(seed: int) -> Iterator[Pair]:
    """Random queries with their events."""
    return (pair for number in count() if (pair := drawn(seed, number)) is not None)


def begun(folder: Path, seed: int, pair: Pair, faults: float) -> Simulation:
    """A simulation with the streams and the queries of a pair."""
    simulation = Simulation(folder, Random(seed), faults)
    for stream in pair.query.streams:
        simulation.put_stream(stream.name, stream.iri)
    simulation.put("q", pair.query.text)
    if pair.reader is not None:
        simulation.put("reader", pair.reader.text)
    return simulation


def ended(simulation: Simulation, pair: Pair) -> None:
    """Let all time pass."""
    for stream in pair.query.streams:
        simulation.again(simulation.service.advance, stream.name, FAR)


def agree_with_the_log(simulation: Simulation, pair: Pair) -> int:
    """The rows are those that the log gives to a service that reads it at once; returns how many there are."""
    names = [each["name"] for each in simulation.service.queries()]
    found = {name: simulation.rows(name) for name in names}
    for name in names:
        numbers = [n for n, _ in simulation.service.rows(name, 0, 10_000_000)]
        assert numbers == list(range(1, len(numbers) + 1))
    scratch = simulation.from_scratch()
    try:
        for name in names:
            assert found[name] == rows_of(scratch, name), (name, pair.query.text)
    finally:
        simulated.killed(scratch, simulated.FaultyFiles())
    return sum(map(len, found.values()))


@pytest.mark.parametrize("seed", range(SIMULATIONS))
def test_crashes_and_failing_disks_do_not_show_in_the_rows(seed: int, tmp_path: Path) -> None:
    found = 0
    for number, pair in enumerate(pairs(1000 + seed)):
        simulation = begun(tmp_path / str(number), seed, pair, faults=(0.0, 0.1)[seed % 2])
        for piece in batches(pair.arrived, pair.sizes):
            for name in dict.fromkeys(event[0] for event in piece):
                simulation.push(name, [event for event in piece if event[0] == name])
                simulation.befall()
        ended(simulation, pair)
        if seed % 3 == 0:
            simulation.crash()
        found += agree_with_the_log(simulation, pair)
        agree_with_the_batch_run(simulation, pair)
        simulation.close()
        if found > ROWS_MIN:
            break


def agree_with_the_batch_run(simulation: Simulation, pair: Pair) -> None:
    """The rows are those of a run over files, if they do not wait for the end of the streams.

    The end decides what still waits later than the passing of time does (specification 3.5). Where this can show, as
    DISTINCT, LIMIT and AFTER MATCH choose by the order of rows, they are those of an engine in which time has passed.
    """
    queries = [query for query in (pair.query, pair.reader) if query is not None]
    if any(build(query).window.in_events for query in queries):
        return
    chosen = any(query.distinct or query.limit is not None or query.skip is not Skip.NO_SKIP for query in queries)
    expected = Counter(simulated.plain(to_json(row)) for row in (in_time if chosen else over_files)(pair, queries))
    found = Counter(without_number(line) for query in queries for line in simulation.rows(query.name))
    assert found == Counter({without_number('{"n": 0, ' + line[1:]): n for line, n in expected.items()}), (
        pair.query.text
    )


def over_files(pair: Pair, queries: list[Query]) -> Iterable[Row]:
    """The rows of a run over files, which end."""
    with TemporaryDirectory() as folder:
        streams = {stream.name: Path(folder) / f"{stream.name}.trig" for stream in pair.query.streams}
        for name, path in streams.items():
            path.write_text(to_trig(tuple(event[1:] for event in pair.arrived if event[0] == name)))
        yield from spaseq.run(queries, streams)


def in_time(pair: Pair, queries: list[Query]) -> list[Row]:
    """The rows of an engine whose streams go on after the last event."""
    rows: list[Row] = []
    engine = spaseq.Engine()
    for query in queries:
        engine.register(query, rows.append)
    iris = {stream.name: stream.iri for stream in pair.query.streams}
    for event in pair.arrived:
        engine.push_batch(iris[event[0]], to_trig((event[1:],)), "trig")
    for iri in iris.values():
        engine.advance(iri, FAR)
    engine.close(flush=False)
    return rows


@pytest.mark.parametrize("seed", range(SIMULATIONS))
def test_pauses_and_replacements_take_effect_where_they_stand_in_the_log(seed: int, tmp_path: Path) -> None:
    found = 0
    for number, pair in enumerate(pairs(2000 + seed)):
        simulation = begun(tmp_path / str(number), seed, pair, faults=(0.0, 0.1)[seed % 2])
        for piece in batches(pair.arrived, pair.sizes):
            for name in dict.fromkeys(event[0] for event in piece):
                simulation.push(name, [event for event in piece if event[0] == name])
                simulation.befall()
            change(simulation, pair)
        ended(simulation, pair)
        for name in ("q", "reader") if pair.reader is not None else ("q",):
            simulation.again(simulation.service.resume, name)
        found += agree_with_the_log(simulation, pair)
        simulation.close()
        if found > ROWS_MIN:
            break


def change(simulation: Simulation, pair: Pair) -> None:
    """Pause, resume or replace a query, or do nothing."""
    dice, service = simulation.dice, simulation.service
    names = ("q", "reader") if pair.reader is not None else ("q",)
    other = OTHER.format(iri=pair.query.streams[0].iri)
    match dice.randrange(6):
        case 0:
            simulation.again(service.pause, dice.choice(names))
        case 1:
            simulation.again(service.resume, dice.choice(names))
        case 2:
            simulation.put("other", other, dice.choice(("now", "window")))
        case 3 if pair.reader is None:
            simulation.put("q", dice.choice((other, pair.query.text)), dice.choice(("now", "window")))
        case 4 if pair.reader is not None:
            simulation.put("reader", pair.reader.text + "#" * dice.randrange(5), dice.choice(("now", "window")))
        case _:
            pass
