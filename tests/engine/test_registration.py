"""Queries that come and go while events are pushed: `Engine.register` and `Registration.unregister`."""

from __future__ import annotations

import gc

import pytest

import spaseq
from benchmarks.growth_queries import STREAM, event, push_all, two_steps
from spaseq.outputs.rows import Row

DERIVED = """PREFIX : <http://ex.org/>
REGISTER STREAM <http://ex.org/alarms> AS CONSTRUCT { :h1 :alarm ?w }
WITHIN 1 HOURS FROM STREAM S <http://ex.org/s>
WHERE { SEQ(A ; B) DEFINE GPM A ON S { :h1 :low ?v } DEFINE GPM B ON S { :h1 :high ?w } }"""
READING = """PREFIX : <http://ex.org/>
SELECT * WITHIN 1 HOURS FROM STREAM T <http://ex.org/alarms>
WHERE { SEQ(A) DEFINE GPM A ON T { ?h :alarm ?w } }"""
BOUNDED = """PREFIX : <http://ex.org/>
SELECT * WITHIN 1 HOURS SLIDING FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ(A ; B)
  DEFINE GPM A ON S {{ ?h :low ?v FILTER (?v > {0} && ?v < {1}) }}
  DEFINE GPM B ON S {{ ?h :high ?w FILTER (?w > {0} || ?w * 2 < {1}) }}
}}"""
PAIR = [event(1, "low", 1), event(1, "high", 2)]


def test_a_query_that_was_unregistered_has_no_more_rows_and_the_others_go_on() -> None:
    found: dict[str, list[Row]] = {"gone": [], "stays": []}
    engine = spaseq.Engine()
    gone, stays = (engine.register(spaseq.parse(two_steps(1), name), found[name].append) for name in found)
    push_all(engine, PAIR, 0)
    assert (gone.name, gone.matches, gone.registered, gone.stopped, gone.replanned) == ("gone", 1, True, False, ())
    engine.push(STREAM, PAIR[0], 2)
    gone.unregister()
    engine.push(STREAM, PAIR[1], 3)
    assert (gone.matches, gone.registered, gone.stopped) == (1, False, True)
    assert (len(found["gone"]), stays.matches, engine.statistics.matches) == (1, len(found["stays"]), 3)
    gone.unregister()
    engine.close()
    with pytest.raises(spaseq.InputError, match="closed"):
        stays.unregister()


def test_a_stream_that_no_query_reads_any_more_is_unknown_and_its_names_begin_again() -> None:
    engine = spaseq.Engine()
    for _ in range(2):
        found: list[Row] = []
        only = engine.register(spaseq.parse(two_steps(1)), found.append)
        push_all(engine, PAIR, 0)
        assert found[0].events == (("A", ("urn:spaseq:event:S:0",)), ("B", ("urn:spaseq:event:S:1",)))
        only.unregister()
        for name in ("S", STREAM):
            with pytest.raises(spaseq.InputError, match="no query reads a stream"):
                engine.push(name, PAIR[0], 9)


def test_rows_that_wait_for_their_function_go_with_the_query() -> None:
    engine = spaseq.Engine()
    found: list[Row] = []

    def first_only(row: Row) -> None:
        found.append(row)
        registered.unregister()

    registered = engine.register(spaseq.parse(two_steps(1)), first_only)
    engine.push(STREAM, [*PAIR[0], *event(1, "low", 0)], 0)
    engine.push(STREAM, PAIR[1], 1)
    assert (len(found), registered.matches) == (1, 2)


def test_a_query_whose_stream_others_read_stays_and_the_error_names_them() -> None:
    found: list[Row] = []
    engine = spaseq.Engine()
    making = engine.register(spaseq.parse(DERIVED, "making"))
    reading = engine.register(spaseq.parse(READING, "reading"), found.append)
    with pytest.raises(spaseq.InputError, match=r"makes the stream <.*/alarms>, which is read by 'reading'"):
        making.unregister()
    push_all(engine, [*PAIR, event(2, "low", 1)], 0)
    assert (making.matches, len(found)) == (1, 1)
    reading.unregister()
    making.unregister()
    engine.register(spaseq.parse(DERIVED, "again"))


def test_a_query_that_cannot_be_registered_leaves_nothing_behind() -> None:
    engine = spaseq.Engine()
    engine.register(spaseq.parse(DERIVED, "making"))
    patterns = len(engine._setup.pool)
    with pytest.raises(spaseq.InputError, match="two queries REGISTER"):
        engine.register(spaseq.parse(DERIVED.replace(":h1 :low", ":h7 :low"), "same"))
    assert len(engine._setup.pool) == patterns


def test_queries_that_come_and_go_leave_nothing_behind() -> None:
    """Touched and untouched, of two shapes, with constants of their own in patterns, ranges and filters."""
    engine = spaseq.Engine()

    def come_and_go(begin: int) -> None:
        registered = []
        for number in range(begin, begin + 16):
            text = two_steps(number) if number % 2 else BOUNDED.format(number, number + 2)
            registered.append(engine.register(spaseq.parse(text, f"q{number}")))
            engine.push(STREAM, event(number, "low", number + 1), number)
            engine.push(STREAM, event(number, "high", number + 1), number)
        for each in registered[1::2] + registered[::2]:
            each.unregister()
        engine._network.release_terms(always=True)
        gc.collect()

    come_and_go(10)
    come_and_go(30)
    held = len(gc.get_objects())
    come_and_go(50)
    come_and_go(70)
    assert len(gc.get_objects()) < held + 32, "a query that came and went left less than an object"
    network, pool = engine._network, engine._setup.pool
    assert not network._readers and not network._by_iri and not len(pool) and not len(pool.summary)
    assert len(engine._dictionary) == 2, "true and false"


def test_a_registered_query_is_found_by_events_however_many_came_and_went_before() -> None:
    engine = spaseq.Engine()
    kept = engine.register(spaseq.parse(two_steps(1), "kept"))
    for number in range(2, 12):
        other = engine.register(spaseq.parse(two_steps(number % 3), f"q{number}"))
        push_all(engine, [event(number % 3, "low", 1)], number)
        other.unregister()
    push_all(engine, PAIR, 20)
    assert kept.matches == 3 + 1, "it has seen three events of its house before"
