"""A state belongs to its query: it is found by its name, and what is wrong with it concerns no other query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import msgspec
import pytest

import spaseq
from sparql_gpm.dictionary import Dictionary
from spaseq.outputs.rows import Row
from spaseq.runtime.state import snapshot
from spaseq.runtime.state.saved_states import QueryState
from tests.states.release import EVENTS, HALF, QUERIES, pushed

NAMES = ("made", "reads", "both", "chain", "negated", "parts", "two")
ORDINARY = ("chain", "parts")
CHAINS = (("made", "reads", *ORDINARY), ("made", "both", *ORDINARY), ("reads", "made", "chain"))
Found = dict[str, list[Row]]


def started(names: tuple[str, ...], found: Found, again: bool = False) -> spaseq.Engine:
    """An engine with queries; if `again`, it goes on elsewhere after each."""
    engine = spaseq.Engine(max_delay_ns=3 * 10**9, history=True)
    for name in names:
        engine.register(spaseq.parse(QUERIES[name], name), taken(found, name))
        if again:
            engine = restored(engine.snapshot(), found)
    return engine


def taken(found: Found, name: str) -> Callable[[Row], object]:
    return found.setdefault(name, []).append


def restored(blob: bytes, found: Found) -> spaseq.Engine:
    return spaseq.Engine.restore(blob, on_match={name: rows.append for name, rows in found.items()})


def undisturbed(names: tuple[str, ...]) -> Found:
    """All rows of an engine that never stops."""
    found: Found = {}
    with started(names, found) as engine:
        pushed(engine, EVENTS)
    return found


@pytest.mark.parametrize("names", CHAINS)
def test_an_engine_that_goes_on_elsewhere_gives_every_query_its_own_state(names: tuple[str, ...]) -> None:
    """On 8b7edbed two of the four queries of the first row had each other's states, and the second went on no more."""
    found: Found = {}
    engine = started(names, found, again=True)
    for begin in range(0, len(EVENTS), 10):
        pushed(engine, EVENTS[begin : begin + 10])
        engine = restored(engine.snapshot(), found)
    engine.close()
    assert found == undisturbed(names) and all(found.values())


def test_queries_of_one_name_have_states_of_their_own() -> None:
    rows: list[Row] = []
    engine = spaseq.Engine()
    for name in ORDINARY:
        engine.register(spaseq.parse(QUERIES[name], "query"), rows.append)
    for begin in range(0, len(EVENTS), 10):
        pushed(engine, EVENTS[begin : begin + 10])
        engine = spaseq.Engine.restore(engine.snapshot(), on_match=rows.append)
    engine.close()
    apart: Found = {}
    with spaseq.Engine() as engine:
        for name in ORDINARY:
            engine.register(spaseq.parse(QUERIES[name], "query"), taken(apart, name))
        pushed(engine, EVENTS)
    assert Counter(map(str, rows)) == Counter(str(row) for some in apart.values() for row in some)


def half(found: Found) -> tuple[spaseq.Engine, bytes]:
    """An engine that has read half of the events, and its snapshot."""
    engine = started(NAMES, found)
    pushed(engine, EVENTS[:HALF])
    return engine, engine.snapshot()


def goes_on(blob: bytes, before: Found) -> tuple[dict[str, str], Found]:
    """The errors of the queries of an engine that goes on from a snapshot, by name, and all rows."""
    found = {name: list(rows) for name, rows in before.items()}
    engine = restored(blob, found)
    errors = {each.name: each.error for each in engine.registrations if each.error}
    assert {each.name for each in engine.registrations if each.stopped} == errors.keys()
    if errors:
        with pytest.raises(spaseq.RunError, match="the saved state of query"):
            engine.advance("S", 0)
    pushed(engine, EVENTS[HALF:])
    engine.close()
    return errors, found


def dependent(errors: dict[str, str]) -> set[str]:
    """The queries that have lost something: those that failed, and those that read what one of them makes."""
    return {*errors, *(("reads", "both") if "made" in errors else ())}


def test_a_snapshot_that_is_damaged_or_cut_anywhere_fails_the_queries_whose_states_are_and_no_other() -> None:
    before: Found = {}
    _, whole = half(before)
    expected, dice, failed, refused = undisturbed(NAMES), Random(5), Counter[str](), 0
    for number in range(60):
        place = dice.randrange(len(whole))
        flipped = whole[:place] + bytes([whole[place] ^ 1 << dice.randrange(8)]) + whole[place + 1 :]
        try:
            errors, found = goes_on(flipped if number % 3 else whole[:place], before)
        except spaseq.InputError as error:
            assert any(word in error.message for word in ("damaged", "no snapshot", "version")), error
            refused += 1
            continue
        assert errors, "damage is noticed"
        assert all("keep='window'" not in told for told in errors.values())
        assert {name for name in NAMES if found[name] != expected[name]} <= dependent(errors)
        failed.update(errors.keys())
    assert refused and failed.keys() == set(NAMES)
    with pytest.raises(spaseq.InputError, match="damaged: something follows it"):
        spaseq.Engine.restore(whole + b"x")


def other_name(state: QueryState) -> QueryState:
    return msgspec.structs.replace(state, name="somebody")


def other_text(state: QueryState) -> QueryState:
    return msgspec.structs.replace(state, text=b"0" * len(state.text))


def other_version(state: QueryState) -> QueryState:
    later = (snapshot.VERSION + 1).to_bytes(2, "big")
    return msgspec.structs.replace(state, blob=snapshot.MAGIC + later + state.blob[len(snapshot.MAGIC) + 2 :])


def random_bytes(state: QueryState) -> QueryState:
    return msgspec.structs.replace(state, blob=Random(3).randbytes(len(state.blob)))


def other_part(state: QueryState) -> QueryState:
    return msgspec.structs.replace(state, blob=snapshot.dumps([{"version": 9}, None], Dictionary()))


def no_part(state: QueryState) -> QueryState:
    return msgspec.structs.replace(state, blob=snapshot.dumps([None, None], Dictionary()))


def other_input(state: QueryState) -> QueryState:
    return msgspec.structs.replace(state, input=1 - min(state.input, 1))


BAD = {
    other_name: "it is the state of a query 'somebody'",
    other_text: "it is the state of another text",
    other_version: "version 14; this SPAseq reads versions 12 and 13",
    random_bytes: "no SPAseq state at all",
    other_part: "'query' is of version 9, and this SPAseq reads up to 2",
    no_part: "'query' is no part of version 1",
    other_input: "it is the state of a query over ",
}


@pytest.mark.parametrize("wrong", BAD)
@pytest.mark.parametrize("name", ["chain", "made"])
def test_a_state_that_is_none_of_the_query_fails_it_by_name_and_its_window_brings_it_back(
    wrong: Callable[[QueryState], QueryState], name: str
) -> None:
    before: Found = {}
    engine, _ = half(before)
    saved = engine._saved()
    saved.queries[:] = [replace(q, state=wrong(q.state)) if q.name == name else q for q in saved.queries]
    blob = saved.snapshot(engine._options, engine._dictionary)
    errors, found = goes_on(blob, before)
    assert list(errors) == [name] and BAD[wrong] in errors[name]
    expected = undisturbed(NAMES)
    assert {each for each in NAMES if found[each] != expected[each]} <= dependent(errors)
    found = {each: list(rows) for each, rows in before.items()}
    again = restored(blob, found)
    (failed,) = (each for each in again.registrations if each.error)
    with pytest.raises(spaseq.RunError, match="cannot be read") as caught:
        again.advance("S", 0)
    assert "keep='window'" in caught.value.hint
    failed.replace(spaseq.parse(QUERIES[name], name), keep="window")
    assert not failed.error
    pushed(again, EVENTS[HALF:])
    again.close()
    assert {each for each in NAMES if found[each] != expected[each]} <= dependent(errors) - {name}


def test_a_stopped_query_says_why_after_a_restore_too() -> None:
    engine = spaseq.Engine(max_runs=1)
    engine.register(spaseq.parse(QUERIES["conditions"], "conditions"))
    with pytest.raises(spaseq.RunError, match="stopped"):
        pushed(engine, EVENTS)
    again = spaseq.Engine.restore(spaseq.Engine.restore(engine.snapshot()).snapshot())
    for each in (*engine.registrations, *again.registrations):
        assert each.stopped and "partial matches" in each.error
