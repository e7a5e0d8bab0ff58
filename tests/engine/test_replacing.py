"""Queries that pause, and queries that take the place of others: `Registration.pause`, `resume` and `replace`."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from itertools import count
from random import Random

import pytest

import spaseq
from benchmarks.growth_queries import STREAM, event, push_all, two_steps
from spaseq.engine import history
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded import pausing
from tests.conformance.times import to_iso
from tests.driving import comparable
from tests.engine.test_registration import DERIVED, READING
from tests.random_pairs import Pair, drawn, expected_rows, shown
from tests.waiting import PATIENCE_S

Change = Callable[[spaseq.Engine, spaseq.Registration, Random], None]
PAIR = [event(1, "low", 1), event(1, "high", 2)]


def pushed_with(pair: Pair, change: Change) -> list[Row]:
    """The rows of a pair whose events are pushed one by one, with changes between them."""
    rows, read, dice = list[Row](), list[Row](), Random(len(pair.arrived))
    engine = spaseq.Engine(history=True)
    handle = engine.register(pair.query, rows.append)
    if pair.reader is not None:
        engine.register(pair.reader, read.append)
    iris = {stream.name: stream.iri for stream in pair.query.streams}
    for name, time, graph_name, triples in pair.arrived:
        if name in iris:
            engine.push(iris[name], triples, to_iso(time), graph_name)
            change(engine, handle, dice)
    handle.resume()
    engine.close()
    return rows + read


def check_pairs(
    change: Callable[[spaseq.Engine, spaseq.Registration, Random], None], seed: int, fits: str = ""
) -> None:
    """Random pairs have the rows of the reference, whatever the changes."""
    found = 0
    for number in count():
        pair = drawn(seed, number)
        if pair is None or (fits == "window" and not told_by_windows(pair.query)):
            continue
        expected = expected_rows(pair)
        rows = Counter(map(comparable, pushed_with(pair, change)))
        assert rows == Counter(expected), shown(pair)
        found += len(expected)
        if found > 20:
            break


def told_by_windows(query: Query) -> bool:
    """Whether the latest events tell the state: no window that counts from the first event, no earlier match."""
    return "EVENTS" not in query.text and "AFTER MATCH" not in query.text and "CONSUME" not in query.text


def test_a_query_that_pauses_and_goes_on_has_the_rows_that_it_would_have_had() -> None:
    def change(engine: spaseq.Engine, handle: spaseq.Registration, dice: Random) -> None:
        if dice.random() < 0.5:
            (handle.resume if handle.paused else handle.pause)()

    check_pairs(change, 31)


@pytest.mark.parametrize(("keep", "seed"), [("state", 32), ("window", 33)])
def test_a_query_in_its_own_place_has_the_rows_that_it_would_have_had(keep: str, seed: int) -> None:
    def change(engine: spaseq.Engine, handle: spaseq.Registration, dice: Random) -> None:
        if dice.random() < 0.3:
            handle.replace(spaseq.parse(handle.meaning.parsed.text, handle.name), keep=keep)

    check_pairs(change, seed, keep)


TWO = """PREFIX : <http://ex.org/> SELECT {select} WITHIN {window} FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ(A {then} B) DEFINE GPM A ON S {{ ?h :low ?v FILTER(?v > {low}) }} DEFINE GPM B ON S {{ ?h :high ?w }} }}"""


def two(select: str = "?h", window: str = "1 HOURS SLIDING", then: str = ":", low: int = 3, name: str = "q") -> Query:
    return spaseq.parse(TWO.format(select=select, window=window, then=then, low=low), name)


def values(rows: list[Row]) -> list[dict[str, str]]:
    return [
        {name: getattr(term, "lexical", "") or getattr(term, "value", "") for name, term in r.bindings} for r in rows
    ]


def test_a_query_with_another_select_and_other_constants_goes_on_with_its_partial_matches() -> None:
    rows, engine = list[Row](), spaseq.Engine()
    handle = engine.register(two(), rows.append)
    push_all(engine, [event(1, "low", 4), event(2, "low", 9)], 0)
    handle.replace(two("?v", low=8, name="other"), keep="state")
    push_all(engine, [event(3, "low", 5), event(1, "high", 1), event(2, "high", 1), event(3, "high", 1)], 10)
    assert values(rows) == [{"v": "4"}, {"v": "9"}], "what was taken stays; what comes is judged by the new constant"
    assert (handle.name, handle.matches, {row.query for row in rows}) == ("other", 2, {"other"})


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (two(then=";"), "SEQ"),
        (two(window="2 HOURS SLIDING"), "WITHIN"),
        (two("DISTINCT ?h"), "DISTINCT"),
        (spaseq.parse(TWO.format(select="?h", window="1 HOURS", then=":", low=3).replace(":low", ":lower")), "WITHIN"),
        (spaseq.parse(two().text.replace(":low", ":lower")), "its DEFINEs"),
        (spaseq.parse(two().text.replace("/s>", "/t>")), "FROM"),
        (spaseq.parse(two().text.replace("SELECT ?h", "CONSTRUCT { ?h :is :low }")), "SELECT or CONSTRUCT"),
    ],
)
def test_a_query_of_another_shape_does_not_go_on_with_the_state(other: Query, part: str) -> None:
    rows, engine = list[Row](), spaseq.Engine()
    handle = engine.register(two(), rows.append)
    engine.push(STREAM, event(1, "low", 4), 0)
    with pytest.raises(spaseq.InputError, match=f"with the state of 'q': it has changed in {part}\n"):
        handle.replace(other, keep="state")
    engine.push(STREAM, event(1, "high", 4), 1)
    assert (handle.name, len(rows)) == ("q", 1), "nothing has changed"


def test_a_query_begins_anew_or_as_if_it_had_been_there() -> None:
    found: dict[str, list[Row]] = {"nothing": [], "window": []}
    engine = spaseq.Engine(history=True)
    handles = {keep: engine.register(two(low=1), rows.append) for keep, rows in found.items()}
    push_all(engine, [event(1, "low", 4), event(1, "high", 1), event(2, "low", 9)], 0)
    for keep, handle in handles.items():
        handle.replace(two("?v ?w", window="2 HOURS SLIDING", low=5), keep=keep)
    push_all(engine, [event(1, "high", 7), event(2, "high", 8), event(3, "low", 6), event(3, "high", 9)], 10)
    both = [{"v": "6", "w": "9"}]
    assert values(found["nothing"])[1:] == both
    assert values(found["window"])[1:] == [{"v": "9", "w": "8"}, *both], "that of house 2 was under way"


def test_windows_that_events_do_not_tell_and_engines_without_history_are_refused() -> None:
    engine = spaseq.Engine(history=True)
    handle = engine.register(two())
    for window in ("3 EVENTS", "3 EVENTS SLIDING PARTITION BY ?h"):
        with pytest.raises(spaseq.InputError, match="is not told by the latest events"):
            handle.replace(two(window=window), keep="window")
    with pytest.raises(spaseq.InputError, match="keeps no history"):
        spaseq.Engine().register(two()).replace(two(), keep="window")
    with pytest.raises(spaseq.InputError, match="keeps nothing, state or window, not 'all'"):
        handle.replace(two(), keep="all")
    handle.unregister()
    for call in (handle.pause, handle.resume, lambda: handle.replace(two())):
        with pytest.raises(spaseq.InputError, match="is not registered any more"):
            call()


@pytest.mark.parametrize("window", ["40 SECONDS SLIDING", "30 EVENTS SLIDING"])
def test_a_history_holds_what_windows_reach_back_to_and_goes_with_snapshots(
    monkeypatch: pytest.MonkeyPatch, window: str
) -> None:
    monkeypatch.setattr(history, "_PRUNE_MIN", 10)
    monkeypatch.setattr(history, "_SINGLE_MAX", 7)
    rows, engine = list[Row](), spaseq.Engine(history=True)
    engine.register(two(window=window), rows.append)
    for second in range(400):
        engine.push(STREAM, event(second % 50, "low", 9), second)
        if second % 90 == 0:
            engine = spaseq.Engine.restore(engine.snapshot(), on_match=rows.append)
    (stream,) = engine._history._streams.values()  # type: ignore[union-attr]
    assert sum(len(item.times) for item in stream._items if not isinstance(item, int)) < 200
    (handle,) = engine.registrations
    handle.replace(two(window=window), keep="window")
    undisturbed, control = list[Row](), spaseq.Engine()
    control.register(two(window=window), undisturbed.append)
    push_all(control, [event(second % 50, "low", 9) for second in range(400)], 0)
    for each in (engine, control):
        push_all(each, [event(number, "high", 1) for number in reversed(range(50))], 400)
    assert list(map(comparable, rows)) == list(map(comparable, undisturbed)) and rows


def test_a_history_that_is_too_long_is_cut_and_no_state_is_made_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_PRUNE_MIN", 10)
    monkeypatch.setattr(history, "HISTORY_EVENTS_MAX", 20)
    engine = spaseq.Engine(history=True)
    handle = engine.register(two())
    push_all(engine, [event(1, "low", 9)] * 50, 0)
    with pytest.raises(spaseq.InputError, match=r"more than 20 events of stream .* lie in the windows"):
        handle.replace(two(), keep="window")


def test_readers_of_a_stream_wait_while_its_query_pauses_and_go_on_when_it_is_replaced() -> None:
    rows, engine = list[Row](), spaseq.Engine()
    making = engine.register(spaseq.parse(DERIVED, "making"))
    engine.register(spaseq.parse(READING, "reading"), rows.append)
    making.pause()
    push_all(engine, [*PAIR, event(2, "low", 1)], 0)
    assert not rows and making.paused
    engine = spaseq.Engine.restore(engine.snapshot(), on_match={"reading": rows.append})
    making = engine.registrations[0]
    assert making.paused
    making.resume()
    assert len(rows) == 1
    with pytest.raises(spaseq.InputError, match=r"makes the stream <.*/alarms>, which is read by 'reading'"):
        making.replace(two())
    assert making.name == "making"
    making.replace(spaseq.parse(DERIVED.replace("?w }\nWITHIN", "2 }\nWITHIN"), "making2"))
    push_all(engine, [*PAIR, event(2, "low", 1)], 10)
    assert values(rows)[-1]["w"] == "2"


def test_a_replacement_that_cannot_be_registered_leaves_the_query_as_it_was() -> None:
    rows, engine = list[Row](), spaseq.Engine()
    engine.register(spaseq.parse(DERIVED, "making"))
    handle = engine.register(two(low=0), rows.append)
    engine.push(STREAM, PAIR[0], 0)
    handle.pause()
    engine.push(STREAM, PAIR[1], 1)
    for other in (
        spaseq.parse(DERIVED, "second"),
        spaseq.parse(two().text.replace("?w }", "?w GRAPH :no { ?w ?w ?w } }")),
    ):
        with pytest.raises(spaseq.InputError):
            handle.replace(other)
    assert (handle.name, handle.paused, len(rows)) == ("q", True, 0)
    handle.resume()
    assert len(rows) == 1


def test_a_paused_query_for_which_too_many_events_wait_is_stopped_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pausing, "PAUSED_EVENTS_MAX", 5)
    rows, engine = list[Row](), spaseq.Engine()
    paused, goes_on = engine.register(two(name="p")), engine.register(two(low=0), rows.append)
    paused.pause()
    push_all(engine, [event(1, "low", 9)] * 5, 0)
    with pytest.raises(spaseq.RunError, match="query 'p' was stopped: more than 5 events wait for it") as caught:
        engine.push(STREAM, event(1, "low", 9), 6)
    assert "resume it sooner" in str(caught.value.hint)
    assert (paused.stopped, paused.paused, goes_on.stopped) == (True, False, False)
    engine.push(STREAM, event(1, "high", 9), 7)
    assert len(rows) == 6


def test_queries_that_pause_are_not_joined_by_new_ones_and_close_does_not_report_them() -> None:
    rows, later, engine = list[Row](), list[Row](), spaseq.Engine()
    handle = engine.register(two(low=0), rows.append)
    handle.pause()
    engine.register(two(low=0), later.append)
    push_all(engine, PAIR, 0)
    assert (len(rows), len(later)) == (0, 1)
    engine.close()
    assert not rows


def test_a_second_thread_gets_an_error_and_changes_nothing() -> None:
    engine, errors, inside = spaseq.Engine(), list[str](), threading.Event()
    calls: list[Callable[[], object]] = [
        lambda: engine.push(STREAM, PAIR[0], 9),
        lambda: engine.push_batch(STREAM, ""),
        lambda: engine.advance(STREAM, 9),
        lambda: engine.register(two()),
        lambda: handle.pause(),
        lambda: handle.replace(two()),
        lambda: handle.unregister(),
        engine.snapshot,
        engine.close,
    ]

    def other() -> None:
        for call in calls:
            try:
                call()
            except spaseq.InputError as error:
                errors.append(error.message)
        inside.set()

    def on_match(row: Row) -> None:
        engine.push(STREAM, event(5, "low", 1), 1)
        threading.Thread(target=other).start()
        assert inside.wait(PATIENCE_S)

    handle = engine.register(spaseq.parse(two_steps(1)), on_match)
    push_all(engine, PAIR, 0)
    assert errors == ["another thread is using the engine"] * len(calls)
    assert (engine.statistics.events, len(engine.registrations), handle.matches) == (3, 1, 1)
    engine.close()
    with pytest.raises(spaseq.InputError, match="closed"):
        engine.snapshot()
