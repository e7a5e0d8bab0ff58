"""Reading N-Quads by kernels gives what reading them line by line gives: events, terms, numbers, reports."""

from __future__ import annotations

import io
import itertools
import os
import re
import string
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arrays.jit import COMPILED
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.numeric import float64
from sparql_gpm.rdf_io import PROV_TIME, EventReader, ReadOptions, read_events
from sparql_gpm.reading import blocks, lines, nquads_columns, trig
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.reading.predicate_filter import PredicateFilter
from sparql_gpm.terms import XSD, BlankNode, Literal
from tests.drawn import drawn
from tests.sparql_gpm.rdf_events import TIME, Event, events_of, stamp
from tests.sparql_gpm.test_rdf_io_lines import lines as odd_lines
from tests.sparql_gpm.test_rdf_io_round_trip import Cut, as_nquads, streams

ROOT = Path(__file__).parents[2]
EXAMPLES = drawn(300 if COMPILED else 20)
Found = tuple[list[Event], list[Malformed]]

iri_characters = st.sampled_from([*string.ascii_letters, *"0123456789-._~!$&'()*+,;=:@/?#%[]|^{} é\\\x7f"])
iris = st.one_of(
    st.text(iri_characters, max_size=12).map(lambda text: f"<urn:{text}>"),
    st.text(iri_characters, max_size=12).map(lambda text: f"<http://{text}>"),
    st.text(iri_characters, max_size=8).map(lambda text: f"<{text}>"),
)
numbers = st.from_regex(r"[ +-]{0,2}[0-9]{0,17}\.?[0-9]{0,9}([eE][+-]?[0-9]{1,3})?_?", fullmatch=True)
number_types = st.sampled_from(["integer", "decimal", "double", "float", "long", "boolean", "dateTime", "string"])
numeric_literals = st.builds(lambda lexical, name: f'"{lexical}"^^<{XSD}{name}>', numbers, number_types)
clocks = st.from_regex(
    r"(00|16|17|19|20|22|23|99)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{0,11})?"
    r"(Z|[+-][01][0-9]:[0-6][0-9])?",
    fullmatch=True,
)
time_literals = st.one_of(
    st.builds(lambda text, name: f'"{text}"^^<{XSD}{name}>', clocks, st.sampled_from(["dateTime", "date"])),
    st.sampled_from(['"5"^^<' + XSD + "integer>", '"soon"', "<urn:x>", '"\\q"', '"2026-01-01T00:00:00Z"']),
)


@contextmanager
def kernels(on: bool, block_bytes: int = 1 << 20) -> Iterator[None]:
    """Read everything, or nothing, by kernels."""
    with (
        mock.patch.object(lines, "KERNEL_BYTES_MIN", 0 if on else 1 << 60),
        mock.patch.object(lines, "KEPT_KERNEL_BYTES_MIN", 1 << 60),
        mock.patch.object(lines, "BLOCK_BYTES_MIN", 0),
        mock.patch.object(trig, "KERNEL_BYTES_MIN", 0 if on else 1 << 60),
        mock.patch.object(trig, "KEPT_KERNEL_BYTES_MIN", 1 << 60),
        mock.patch.object(blocks, "BLOCK_BYTES", block_bytes),
        mock.patch.object(nquads_columns, "BLOCK_BYTES", block_bytes),
    ):
        yield


def found_in(
    text: bytes, sizes: list[int], options: ReadOptions, releasing: bool, live: bool, rdf_format: str = "nquads"
) -> Found:
    """What a reader finds; every number of its dictionary is the literal's."""
    dictionary, reports = Dictionary(), list[Malformed]()

    def batches() -> Iterator[EventBatch]:
        for batch in read_events(Cut(text, sizes), rdf_format, dictionary, options, reports.append, live=live):
            yield batch
            for identifier in np.unique(batch.objects).tolist():
                term = dictionary.term(identifier)
                expected = float64(term)
                assert np.array_equal(dictionary.numbers[identifier], expected, equal_nan=True), term
                assert np.signbit(dictionary.numbers[identifier]) == np.signbit(expected), term
                assert dictionary.find(term) == dictionary.intern(term) == identifier
            if releasing:
                dictionary.retain([])

    return [_renamed(event) for event in events_of(batches(), dictionary)], reports


def _renamed(event: Event) -> Event:
    """The event with its blank nodes named in the order of their appearance."""
    names: dict[str, str] = {}
    triples = "\n".join(event.triples)
    nodes = re.sub(r"_:(?:e\d+_[\w.-]*|\d+)", lambda node: names.setdefault(node[0], f"_:{len(names)}"), triples)
    return Event(event.name, event.time, tuple(nodes.split("\n")))


def assert_same(text: str, block_bytes: int = 1 << 20, batch_events: int = 3, releasing: bool = False) -> None:
    """Reading by kernels and by line give the same."""
    options, data = ReadOptions(batch_events=batch_events), text.encode("utf-8", errors="surrogateescape")
    with kernels(on=False):
        expected = found_in(data, [], options, False, False)
    with kernels(on=True, block_bytes=block_bytes):
        assert found_in(data, [], options, releasing, False) == expected


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    events=streams,
    junk=st.lists(st.tuples(st.integers(0, 30), odd_lines), max_size=3),
    damage=st.lists(st.tuples(st.integers(0, 1500), st.sampled_from(' \t\r\n<>"\\._@^é}0')), max_size=3),
    block_bytes=st.sampled_from([1, 40, 200, 1 << 20]),
    sizes=st.lists(st.integers(1, 300), max_size=5),
    batch_events=st.integers(1, 4),
    releasing=st.booleans(),
    live=st.booleans(),
    arrival=st.booleans(),
    threads=st.sampled_from([1, 2, 3]),
    wanted=st.one_of(st.none(), st.frozensets(st.sampled_from(["urn:a", "urn:b", "urn:é", PROV_TIME]))),
)
def test_kernels_find_what_reading_by_line_finds(
    events: list[object],
    junk: list[tuple[int, str]],
    damage: list[tuple[int, str]],
    block_bytes: int,
    sizes: list[int],
    batch_events: int,
    releasing: bool,
    live: bool,
    arrival: bool,
    threads: int,
    wanted: frozenset[str] | None,
) -> None:
    lines = as_nquads(events).split("\n")  # type: ignore[arg-type]
    for place, line in junk:
        lines.insert(min(place, len(lines)), line)
    characters = list("\n".join(lines))
    for place, character in damage:
        if place < len(characters):
            characters[place] = character
    data = "".join(characters).encode()

    def options() -> ReadOptions:
        ticks = itertools.count()
        clock = (lambda: next(ticks)) if arrival else None
        read = None if wanted is None else PredicateFilter(wanted)
        return ReadOptions(batch_events=batch_events, arrival_time=clock, threads=threads, predicates=read)

    with kernels(on=False):
        expected = found_in(data, [], options(), False, False)
    with kernels(on=True, block_bytes=block_bytes):
        found = found_in(data, sizes, options(), releasing, live)
    assert found[1] == expected[1]
    assert with_predicates(found[0], wanted) == with_predicates(expected[0], wanted)


def with_predicates(events: list[Event], wanted: frozenset[str] | None) -> list[Event]:
    """The events with their triples of some predicates alone."""
    if wanted is None:
        return events
    kept = [tuple(each for each in event.triples if each and each.split(" ")[1][1:-1] in wanted) for event in events]
    return [_renamed(Event(event.name, event.time, some)) for event, some in zip(events, kept, strict=True)]


def test_triples_that_nobody_wants_get_no_ids_unless_they_may_be_malformed_and_their_events_stay() -> None:
    dictionary, reports, filter_ = Dictionary(), list[Malformed](), PredicateFilter(frozenset({"urn:p"}))
    quads = [f'<urn:s> <urn:{"q" if n % 3 else "p"}> "{n}" <urn:g{n}> .\n' for n in range(9)]
    quads[4] += '<urn:s> <urn:q> "\\q" <urn:g4> .\n'
    text = "".join(stamp(f"<urn:g{n}>", n) + quad for n, quad in enumerate(quads))
    with kernels(on=True):
        reader = EventReader(dictionary, ReadOptions(predicates=filter_), reports.append)
        (found,) = reader.read(io.BytesIO(text.encode()), "nquads")
    assert [(report.line, report.kind) for report in reports] == [(11, "syntax")]
    assert found.events.times.tolist() == [n * 10**9 for n in range(9)]
    assert list(filter_.left_out) == ["urn:q"]
    known = [bool(dictionary.find(Literal(str(n)))) for n in range(9)]
    assert known == [True, False, False, True, True, False, True, False, True]  # the fifth and the last go by line
    assert found.emptied == 4


def ids_in(data: bytes, threads: int, releasing: bool) -> list[list[int]]:
    """All columns of all batches, and the terms of their objects; blank nodes are known by their ids alone."""
    dictionary, found, options = Dictionary(), list[list[int]](), ReadOptions(batch_events=5, threads=threads)
    for batch in read_events(io.BytesIO(data), "nquads", dictionary, options, print):
        found += [column.tolist() for column in (batch.times, batch.offsets, *batch.terms)]
        terms = map(dictionary.term, np.unique(batch.objects).tolist())
        found.append([0 if isinstance(term, BlankNode) else hash(term) for term in terms])
        if releasing and len(dictionary) > 20:
            dictionary.retain([batch.objects[:3]])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_ids_do_not_depend_on_the_number_of_threads(seed: int) -> None:
    dice = Random(seed)
    text = ""
    for graph in range(40):
        nodes = [f"<urn:{dice.randrange(60)}>", f"_:b{dice.randrange(3)}", f'"{dice.randrange(20)}"^^<{XSD}integer>']
        nodes += ['"\\u0041"', f'"0{dice.randrange(9)}"^^<{XSD}byte>', '"x"@en-GB']
        quads = [f"<urn:{dice.randrange(60)}> <urn:p> {dice.choice(nodes)} <urn:g{graph}> .\n" for _ in range(4)]
        text += stamp(f"<urn:g{graph}>", graph) + "".join(quads[: dice.randrange(5)])
    with kernels(on=True, block_bytes=dice.choice([100, 300, 2000])):
        one, *others = (ids_in(text.encode(), threads, seed % 2 == 1) for threads in (1, 2, 3))
    assert others == [one, one] and len(one) > 30


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.one_of(iris, numeric_literals), min_size=1, max_size=6))
@example(
    ["<http://a:b>", "<urn:%zz>", "<urn:%41>", "<http://[::1]/>", "<http://a:80/?q=1#f?/>", "<http:///a>", "<urn:#a#b>"]
)
@example([f'"-0"^^<{XSD}integer>', f'"-0"^^<{XSD}decimal>', f'"+007.50"^^<{XSD}double>', f'"1."^^<{XSD}decimal>'])
def test_terms_and_their_numbers_are_those_of_the_strict_parser(terms: list[str]) -> None:
    lines = [f"<urn:s> <urn:p> {term} <urn:g> .\n{term} <urn:p> <urn:o> <urn:g> .\n" for term in terms]
    assert_same(stamp("<urn:g>", 1) + "".join(lines) * 2 + stamp("<urn:h>", 2))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.one_of(time_literals, clocks.map(lambda text: f'"{text}"')), min_size=1, max_size=5))
@example([f'"2024-02-29T23:59:59.123456789123+13:59"^^<{XSD}dateTime>'])
@example([f'"1677-01-01T00:00:00Z"^^<{XSD}dateTime>', f'"2262-12-31T00:00:00Z"^^<{XSD}dateTime>'])
@example([f'"2100-02-29T00:00:00Z"^^<{XSD}dateTime>', f'"2000-02-29T00:00:00."^^<{XSD}dateTime>'])
def test_timestamps_say_what_they_say_line_by_line(stamps: list[str]) -> None:
    lines = [
        f"<urn:{index}> {TIME} {written} .\n<urn:s> <urn:p> <urn:o> <urn:{index}> .\n"
        for index, written in enumerate(stamps)
    ]
    assert_same("".join(lines) + f"<urn:last> {TIME} {stamps[0]} .\n<urn:last> {TIME} {stamps[-1]} .\n")


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.integers(0, 7), max_size=40), st.sampled_from([60, 500]), st.integers(1, 5))
def test_reopened_graphs_are_reported_by_kernels_too(graphs: list[int], block_bytes: int, batch_events: int) -> None:
    text = "".join(stamp(f"<urn:{g}>", 1) + f"<urn:s> <urn:p> <urn:o{i}> <urn:{g}> .\n" for i, g in enumerate(graphs))
    assert_same(text, block_bytes, batch_events, releasing=True)
    with mock.patch("sparql_gpm.reading.event_builder.CLOSED_GRAPHS_MAX", 3):
        assert_same(text, block_bytes, batch_events)


def test_every_language_tag_of_two_or_three_letters_is_one() -> None:
    count = 3 if COMPILED else 2
    tags = ["".join(tag) for n in range(2, count + 1) for tag in itertools.product(string.ascii_lowercase, repeat=n)]
    lines = [f'<urn:s> <urn:p> "x"@{tag} <urn:g> .\n' for tag in tags]
    with kernels(on=True):
        events, reports = found_in((stamp("<urn:g>", 1) + "".join(lines)).encode(), [], ReadOptions(), False, False)
    assert reports == []
    assert [triple.rpartition("@")[2] for triple in events[0].triples] == tags


@pytest.mark.parametrize(
    "bad", [b"\x80", b"\xc0\xaf", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf5", b"\xe2\x82", b"\xff"]
)
def test_bytes_that_are_not_utf8_cost_their_line_in_a_block_too(bad: bytes) -> None:
    good = ["é", "€", "\U0001f600", "\ud7ff", "\ue000", "\U0010ffff", "\x00", "\x7f"]
    lines = [b'<urn:s> <urn:p> "%b" <urn:g> .\n' % text for text in [*map(str.encode, good), b"a" + bad, bad + b"b"]]
    data = b"".join(lines) + stamp("<urn:g>", 1).encode() + stamp("<urn:h>", 2).encode()
    with kernels(on=True):
        events, reports = found_in(data, [], ReadOptions(), False, False)
    assert [event.triples for event in events[:1]] == [tuple(f'<urn:s> <urn:p> "{text}"' for text in good)]
    assert [(report.line, report.kind) for report in reports] == [(9, "encoding"), (10, "encoding")]


def test_terms_that_the_engine_made_do_not_vouch_for_malformed_ones() -> None:
    with kernels(on=True):
        dictionary, reports = Dictionary(), list[Malformed]()
        dictionary.table()
        dictionary.intern(Literal("x", "no iri"))
        text = stamp("<urn:g>", 1) + '<urn:s> <urn:p> "x"^^<no iri> <urn:g> .\n' + stamp("<urn:h>", 1)
        list(read_events(io.BytesIO(text.encode()), "nquads", dictionary, ReadOptions(), reports.append))
    assert [report.line for report in reports] == [2]


@pytest.mark.parametrize(
    "line", ['<urn:s> <urn:p> "x"@ <urn:h> .', f'<urn:h> {TIME} "\\q" .', f"<urn:h> {TIME} <x> .", "junk"]
)
def test_a_malformed_line_about_another_graph_does_not_end_an_event(line: str) -> None:
    quads = [f"<urn:s> <urn:p> <urn:o{index}> <urn:g> .\n" for index in range(2)]
    assert_same(stamp("<urn:g>", 1) + quads[0] + line + "\n" + quads[1] + stamp("<urn:i>", 2) * 2)
    assert_same(stamp("<urn:g>", 1) + quads[0] + 2 * (line + "\n") + quads[1] + stamp("<urn:i>", 2), block_bytes=50)


def test_an_event_longer_than_a_block_is_one_event() -> None:
    lines = [f"<urn:s> <urn:p> <urn:o{index}> <urn:g> .\n" for index in range(400)]
    assert_same(stamp("<urn:f>", 1) + "".join(lines) + stamp("<urn:g>", 1) + stamp("<urn:h>", 2), block_bytes=2000)


@pytest.mark.parametrize(
    ("options", "imported"),
    [
        ("", False),
        ("bytes_expected=1 << 26", True),
        ("compiled=True", True),
        ("compiled=False, bytes_expected=1 << 26", False),
    ],
)
def test_only_an_input_that_is_known_to_be_long_waits_for_the_compiler(options: str, imported: bool) -> None:
    script = (
        "import io, sys\nfrom sparql_gpm.rdf_io import *\nfrom sparql_gpm.dictionary import Dictionary\n"
        "text = b'<urn:s> <urn:p> <urn:o> <urn:g> .\\n' * 20_000\n"
        f"list(read_events(io.BytesIO(text), 'nquads', Dictionary(), ReadOptions({options}), print))\n"
        "sys.exit('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == imported


if COMPILED:

    def test_all_of_this_holds_without_the_compiler() -> None:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
