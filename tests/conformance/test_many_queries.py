"""Many queries over one network: each gives the rows that it gives alone, whatever they share."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparql_gpm.columns import EventBatch, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.labels import PatternLabel, SetAside
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from tests.drawn import drawn
from tests.driving import as_batch, comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies.query import queries, rewindowed
from tests.strategies.stream import Arrived, batches, cuts, interleaved, late, streams

SECOND = 1_000_000_000
# In the `ci` profile 100 sets of queries; else fewer.
SETS = drawn(100)


_KEYED = """PREFIX : <http://ex.org/>
SELECT * WITHIN {window} FROM STREAM S1 <http://ex.org/s1> FROM STREAM S2 <http://ex.org/s2>
WHERE {{ SEQ({sequence})
  DEFINE GPM A ON S1 {{ [] :k ?k ; :v ?v OPTIONAL {{ [] :n ?n }} }}
  DEFINE GPM B ON S1, S2 {{ [] :k ?{key} OPTIONAL {{ [] :n ?n }} }}
  DEFINE GPM C ON S2 {{ [] :v ?w FILTER (?w >= ?v) }}
}}"""
_WINDOWS = (
    "2 SECONDS",
    "3 SECONDS",
    "9 SECONDS",
    "2 SECONDS SLIDING",
    "5 SECONDS SLIDING",
    "4 EVENTS",
    "3 EVENTS SLIDING",
)
_SEQUENCES = (
    ("A ; B", "A ; B+ ; C", "A ; B ; A", "(A | B) ; B", "A : C ; B", "A ; B! ; C", "A ; (B | C)", "A+ ; B"),
    ("A ; B, C", "A ; B, A", "A ; B, B", "A ; B+, C"),
)


def run_together(
    entries: Sequence[tuple[int, Query]],
    pieces: Sequence[Sequence[Arrived]],
    delay_ns: int = 0,
    set_aside: SetAside | None = None,
) -> list[list[Row]]:
    """The rows of each query, registered before the piece with its number, over events that arrive in pieces."""
    dictionary = Dictionary()
    network = Network(dictionary, delay_ns)
    setup = Setup({}, RunOptions(), dictionary)
    setup.pool.supervision.set_aside = set_aside
    rows: list[list[Row]] = [[] for _ in entries]
    iris = {stream.name: stream.iri for _, query in entries for stream in query.streams}
    for number, piece in enumerate([*pieces, ()]):
        for (begin, query), found in zip(entries, rows, strict=True):
            if begin == number:
                network.add(setup.operator(build(query)), found.extend)
        for name in dict.fromkeys(event[0] for event in piece):
            if iris.get(name) in network.streams:
                network.push(iris[name], as_batch([e for e in piece if e[0] == name], dictionary))
        network.release_terms(always=True)
    network.finish()
    return rows


def shorter(text: str) -> str:
    """The query with another window."""
    return rewindowed(text, "7 SECONDS SLIDING")


def renamed(text: str) -> str:
    """The query with every variable under another name."""
    return re.sub(r"\?([A-Za-z_]\w*)", r"?\1_too", text)


@st.composite
def query_sets(draw: st.DrawFn) -> list[str]:
    """Some queries, most of them alike in their patterns."""
    texts = draw(st.lists(queries(), min_size=1, max_size=3))
    changes = st.sampled_from([renamed, shorter, lambda text: renamed(shorter(text)), lambda text: text])
    texts += [change(draw(st.sampled_from(texts))) for change in draw(st.lists(changes, min_size=1, max_size=3))]
    return draw(st.permutations(texts))


def parsed_sets(data: st.DataObject) -> tuple[list[Query], list[list[Arrived]]]:
    """Some queries, named by their numbers, and events that arrive in pieces."""
    texts = data.draw(query_sets())
    arrived = interleaved(data.draw(streams()))
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    for text in texts:
        note(text)
    return [parse(text, f"q{number}") for number, text in enumerate(texts)], pieces


@given(st.data())
@settings(max_examples=SETS)
def test_many_queries_give_each_the_rows_that_it_gives_alone(data: st.DataObject) -> None:
    parsed, pieces = parsed_sets(data)
    together = run_together([(0, query) for query in parsed], pieces)
    for query, rows in zip(parsed, together, strict=True):
        alone = run_engine(query, pieces)
        assert [comparable(row) for row in rows] == [comparable(row) for row in alone], query.name


@given(st.data())
@settings(max_examples=SETS // 2)
def test_what_is_set_aside_for_one_query_is_seen_by_the_others_with_its_patterns(data: st.DataObject) -> None:
    parsed, pieces = parsed_sets(data)
    times = sorted({time for piece in pieces for _, time, *_ in piece})
    some = st.sets(st.sampled_from(times)) if times else st.just(set())
    aside = {query.name: sorted(data.draw(some)) for query in parsed}

    def set_aside(label: PatternLabel, batch: EventBatch) -> Mask | None:
        mask = np.isin(batch.times, aside[label.query])
        return mask if mask.any() else None

    together = run_together([(0, query) for query in parsed], pieces, set_aside=set_aside)
    for query, rows in zip(parsed, together, strict=True):
        [alone] = run_together([(0, query)], pieces, set_aside=set_aside)
        assert [comparable(row) for row in rows] == [comparable(row) for row in alone], query.name


@given(st.data())
@settings(max_examples=SETS // 4)
def test_a_query_sees_what_comes_after_it_was_registered_whoever_was_there_before(data: st.DataObject) -> None:
    texts = data.draw(query_sets())
    delay = data.draw(st.sampled_from((0, 1, 3))) * SECOND
    arrivals = {name: data.draw(late(events, delay)) for name, events in data.draw(streams()).items()}
    arrived = [(name, *event) for name, events in arrivals.items() for event in events]
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    begins = [data.draw(st.integers(0, len(pieces) - 1)) if pieces else 0 for _ in texts]
    parsed = [parse(text, f"q{number}") for number, text in enumerate(texts)]
    together = run_together(list(zip(begins, parsed, strict=True)), pieces, delay)
    for begin, query, rows in zip(begins, parsed, together, strict=True):
        alone = run_engine(query, pieces[begin:], delay)
        assert [comparable(row) for row in rows] == [comparable(row) for row in alone], query.name


@given(st.data())
@settings(max_examples=2 * SETS)
def test_queries_that_differ_in_windows_sequences_and_keys_alone_give_the_rows_of_the_language(
    data: st.DataObject,
) -> None:
    """They share whatever is known of the solutions that follow one another, whenever they were registered."""

    def draw(choices: Sequence[str]) -> str:
        return data.draw(st.sampled_from(choices))

    arrivals = data.draw(streams(6, 16))
    count = sum(map(len, arrivals.values()))
    pieces = batches(interleaved(arrivals), data.draw(st.just([count]) | cuts(count)))
    sequences = data.draw(st.sampled_from(_SEQUENCES))
    texts = [
        _KEYED.format(window=draw(_WINDOWS), sequence=draw(sequences), key=draw(("k", "k", "j")))
        for _ in range(data.draw(st.integers(2, 5)))
    ]
    for text in texts:
        note(text)
    parsed = [parse(text, f"q{number}") for number, text in enumerate(texts)]
    for query, rows in zip(parsed, run_together([(0, query) for query in parsed], pieces), strict=True):
        assert sorted(map(repr, map(comparable, rows))) == sorted(map(repr, map(comparable, evaluate(query, arrivals))))
