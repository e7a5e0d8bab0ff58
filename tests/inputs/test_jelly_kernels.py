"""Reading Jelly by kernels gives what reading it in Python gives: events, terms, numbers, reports."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pyoxigraph as ox
import pytest

from arrays.jit import COMPILED
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, EventReader, Malformed, ReadOptions, read_events
from sparql_gpm.reading import jelly, jelly_columns, jelly_frames, jelly_lookups
from sparql_gpm.reading.event_times import TimeRule
from sparql_gpm.reading.jelly_rows import Rows
from sparql_gpm.reading.predicate_filter import PredicateFilter
from sparql_gpm.terms import IRI, RDF, XSD, Literal, to_ntriples
from tests.drawn import drawn
from tests.inputs import jelly_splits
from tests.inputs.jelly_files import written
from tests.inputs.test_jelly import OPTIONS, frame, row
from tests.inputs.test_units import plain
from tests.sparql_gpm.rdf_events import read, stamp
from tests.sparql_gpm.test_nquads_columns import Found, found_in, with_predicates
from tests.sparql_gpm.test_rdf_io_round_trip import Cut

ROOT = Path(__file__).parents[2]
SEEDS = range(drawn(60 if COMPILED else 25))
TIME = ox.NamedNode(PROV_TIME)
OBJECTS = [
    ox.Literal("21", datatype=ox.NamedNode(XSD + "integer")), ox.Literal("", datatype=ox.NamedNode("urn:t%20é")),
    ox.Literal("-0.5", datatype=ox.NamedNode(XSD + "decimal")), ox.Literal("e", datatype=ox.NamedNode(XSD + "double")),
    ox.Literal("a\"b\\c\nd\re\té"), ox.Literal("hi", language="en"), ox.Literal("ja", language="de-AT"),
    ox.Literal("x", datatype=ox.NamedNode(RDF + "langString")), ox.Literal("plain"),
    ox.NamedNode("http://ex.org/é"), ox.NamedNode("http://ex.org/a%20b"), ox.NamedNode("urn:e1"),
    ox.BlankNode("b0"), ox.BlankNode("b.1"),
]  # fmt: skip


def time_of(draw: random.Random, second: int) -> ox.Literal:
    written = {
        "dateTime": f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z", "integer": str(second), "string": "soon",
    }  # fmt: skip
    kind = draw.choices(list(written), [20, 5, 1])[0]
    return ox.Literal(written[kind], datatype=ox.NamedNode(XSD + kind))


def graph_name(draw: random.Random, number: int) -> ox.NamedNode | ox.BlankNode:
    odd = [ox.NamedNode(f"http://ex.org/é{number}"), ox.BlankNode(f"g{number}"), ox.NamedNode("urn:e0")]
    return draw.choice(odd) if draw.random() < 0.1 else ox.NamedNode(f"urn:e{number}")


def unit(draw: random.Random, first: int, named: bool) -> list[ox.Quad]:
    """The quads of a few events; what the convention asks for is left out now and then."""
    quads: list[ox.Quad] = []
    for number in range(first, first + (draw.choice([1, 1, 2, 3]) if named else 1)):
        graph = graph_name(draw, number) if named else ox.DefaultGraph()
        about = graph if named else ox.BlankNode("b0")
        for _ in range(draw.choice([1, 1, 1, 1, 1, 0, 2])):
            inside = draw.random() < 0.3 or not named
            place = graph if inside else ox.DefaultGraph()
            quads.append(ox.Quad(about, TIME, time_of(draw, number), place))
        for _ in range(draw.randrange(4)):
            subject = draw.choice(
                [ox.NamedNode("http://ex.org/s1"), ox.NamedNode(f"urn:s{number}"), ox.BlankNode("b0")]
            )
            predicate = ox.NamedNode(draw.choice(["http://ex.org/p", "http://other.org/p#q", "urn:p"]))
            outside = named and draw.random() < 0.03
            quads.append(ox.Quad(subject, predicate, draw.choice(OBJECTS), ox.DefaultGraph() if outside else graph))
    if draw.random() < 0.1:
        draw.shuffle(quads)
    return quads


def document(draw: random.Random) -> bytes:
    physical, logical = draw.choice(
        [("quads", "flat quads"), ("graphs", "flat quads"), ("quads", "datasets"), ("graphs", "datasets"),
         ("triples", "graphs")]
    )  # fmt: skip
    units = [unit(draw, 3 * number, physical != "triples") for number in range(draw.randrange(1, 12))]
    sizes = draw.choice([8, 50]), draw.choice([3, 20, 250])
    return written(units, physical, logical, *sizes, namespaces=draw.random() < 0.3)


def options(draw: random.Random) -> ReadOptions:
    rule = draw.choice([TimeRule(), TimeRule(choice="latest"), TimeRule(paths=(("http://ex.org/p", PROV_TIME),))])
    ticks = iter(range(10_000))
    clock = None if draw.random() < 0.8 else ticks.__next__
    return ReadOptions(batch_events=draw.choice([1, 2, 5]), time_rule=rule, arrival_time=clock)


def damaged(draw: random.Random, data: bytes) -> bytes:
    """A few bytes changed, put in or left out."""
    for _ in range(draw.choice([0, 0, 1, 1, 3])):
        at = draw.randrange(len(data))
        byte = bytes([draw.choice([draw.randrange(256), data[at] ^ 1 << draw.randrange(8)])])
        data = data[:at] + draw.choice([byte, byte + data[at : at + 1], b""]) + data[at + 1 :]
    return data


def both(data: bytes, seed: int) -> tuple[Found, Found]:
    """What the reader in Python and the kernels find; where not all predicates are wanted, of triples with these."""
    draw = random.Random(seed)
    wanted = draw.choice([None, frozenset(["urn:p"]), frozenset(["http://ex.org/p", PROV_TIME]), frozenset[str]()])
    sizes, live, releasing = (
        [draw.randrange(1, 300) for _ in range(draw.randrange(4))],
        draw.random() < 0.3,
        draw.random() < 0.5,
    )
    block, room = draw.choice([1, 64, 1000, 1 << 20]), draw.choice([1, 8, 1 << 14])
    with (
        mock.patch.object(jelly_frames, "BLOCK_BYTES", block),
        mock.patch.object(jelly_columns, "ROOM_MIN", room),
        mock.patch.object(jelly_columns, "FRAMES_MAX", draw.choice([2, 1 << 16])),
    ):
        found = []
        for compiled in (False, True):
            longest = 400 if seed % 5 == 0 else 1 << 20
            kept = replace(options(random.Random(seed)), compiled=compiled, line_bytes_max=longest)
            if compiled and wanted is not None:
                kept = replace(kept, predicates=PredicateFilter(wanted))
            events, reports = found_in(data, sizes, kept, releasing, live, "jelly")
            found.append((with_predicates(events, wanted), reports))
    return found[0], found[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_kernels_find_what_reading_in_python_finds(seed: int) -> None:
    draw = random.Random(seed)
    data = document(draw)
    for _ in range(4):
        in_python, by_kernels = both(data, seed)
        assert by_kernels == in_python
        data = damaged(draw, data)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_term_is_one_however_it_is_cut_into_prefix_and_name(seed: int) -> None:
    data = jelly_splits.document(random.Random(seed))
    for damage in range(3):
        in_python, by_kernels = both(data, seed)
        assert by_kernels == in_python
        data = damaged(random.Random(seed + damage), data)


@pytest.mark.parametrize(("physical", "logical"), [("quads", "flat quads"), ("graphs", "datasets")])
def test_usual_events_are_read_by_kernels_alone(physical: str, logical: str) -> None:
    text = "".join(
        stamp(f"<http://ex.org/e{n}>", n)
        + f'<http://ex.org/s{n % 7}> <http://ex.org/p> "{n}.5"^^<{XSD}decimal> <http://ex.org/e{n}> .\n'
        + f'_:b <http://ex.org/q%20> "\\"{n % 3}\\""@en-GB <http://ex.org/e{n}> .\n'
        for n in range(200)
    )
    units = [
        [*ox.parse("\n".join(lines), ox.RdfFormat.N_QUADS)]
        for lines in (text.splitlines()[n : n + 3] for n in range(0, 600, 3))
    ]
    data = written(units, physical, logical, 50, 250)
    with mock.patch.object(jelly.JellyReader, "take_quads", return_value=iter(())) as one_by_one:
        events, reports = read(data, "jelly", ReadOptions(compiled=True))
    last = logical == "flat quads"
    assert (len(events), reports, one_by_one.call_count) == (200 - last, [], last)
    assert plain(events) == plain(read(text)[0][: len(events)])


@pytest.mark.parametrize(("physical", "logical"), [("quads", "flat quads"), ("graphs", "datasets")])
def test_literals_of_triples_that_nobody_wants_get_no_ids_and_may_be_repeated(physical: str, logical: str) -> None:
    dictionary, filter_ = Dictionary(), PredicateFilter(frozenset({"urn:p"}))
    events = [
        [
            *ox.parse(stamp(f"<urn:e{n}>", n), ox.RdfFormat.N_QUADS),
            *(
                ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode(f"urn:{name}"), ox.Literal(text), ox.NamedNode(f"urn:e{n}"))
                for name, text in (("noise", f"{n} a"), ("noise", f"{n} b"), *([("p", f"{n} b")] if n % 2 else []))
            ),
        ]
        for n in range(60)
    ]
    data, reports = written(events, physical, logical, 50, 250), list[Malformed]()
    options = ReadOptions(compiled=True, predicates=filter_)
    found = list(EventReader(dictionary, options, reports.append).read(Cut(data, []), "jelly"))
    batch = found[0]
    shown = [to_ntriples(dictionary.term(each)) for each in batch.events.objects.tolist()][:29]
    assert (len(found), len(batch.events), reports) == (1, 60, [])
    assert shown == [f'"{n} b"' for n in range(1, 59, 2)]
    assert filter_.left_out == {"urn:noise": None}
    assert batch.emptied == 30
    assert dictionary.find(Literal("4 a", XSD + "string")) == 0, "a literal that nobody wants"
    assert dictionary.find(Literal("3 b", XSD + "string")) > 0


@pytest.mark.parametrize(("least", "expected", "pays"), [(4, 8, True), (4, 0, False), (16, 100, False), (1, 0, True)])
def test_kernels_wait_for_a_part_of_what_repays_them(least: int, expected: int, pays: bool) -> None:
    data = document(random.Random(3))
    limits = {"KERNEL_BYTES_MIN": least * len(data), "KEPT_KERNEL_BYTES_MIN": 1 << 60}
    reader = jelly_columns.JellyColumns
    with mock.patch.multiple(jelly, **limits), mock.patch.object(jelly_columns, "JellyColumns", wraps=reader) as used:
        read(data, "jelly", ReadOptions(bytes_expected=expected * len(data)))
    assert used.called == pays


def test_a_large_table_is_as_long_as_what_is_entered() -> None:
    size = bytes([9 << 3, 0x80, 0x80, 0x40])  # names: 2^20
    claims = row(1, bytes([2 << 3, 2]) + size + bytes([10 << 3, 8, 11 << 3, 8, 14 << 3, 2, 15 << 3, 1]))
    rows = Rows()
    rows.first_options(claims)
    state = jelly_lookups.SharedState(rows)
    assert (rows.names.size, len(state.lookups.names) <= 1 << 13) == (1 << 20, True)
    far = bytes([8, 0xFF, 0xFF, 0x3F])  # the last identifier
    entries = row(9, far + bytes([18, 5]) + b"urn:e"), row(9, bytes([18, 1, 97]))  # the next one is beyond
    rows.take(entries[0], 2, len(entries[0]))
    assert rows.names.text((1 << 20) - 1) == "urn:e"
    found = [
        read(frame(claims) + frame(entry) * 2, "jelly", ReadOptions(compiled=compiled))[1]
        for entry in (*entries, row(9, bytes([8, 0x81, 0x80, 0x40, 18, 1, 97])))
        for compiled in (False, True)
    ]
    assert found[0::2] == found[1::2] and [len(reports) for reports in found[0::2]] == [0, 0, 2]


def test_the_arrays_of_a_document_leave_with_it() -> None:
    reader = EventReader(Dictionary(), ReadOptions(compiled=True), lambda report: None)
    gc.collect()
    gc.disable()
    try:
        assert list(reader.read(Cut(document(random.Random(3)), []), "jelly"))
        assert not [kept for kept in gc.get_objects() if isinstance(kept, jelly_lookups.SharedState)]
    finally:
        gc.enable()


def test_terms_that_the_engine_made_do_not_vouch_for_malformed_ones() -> None:
    dictionary, reports = Dictionary(), list[Malformed]()
    dictionary.table()
    dictionary.intern(IRI("no iri"))
    name = row(9, bytes([18, 6]) + b"no iri")
    statement = row(3, b"\x0a\x02\x10\x01\x2a\x02\x10\x01\x4a\x02\x10\x01\x7a\x00")
    data = frame(OPTIONS, name) + frame(statement)
    list(read_events(Cut(data, []), "jelly", dictionary, ReadOptions(compiled=True), reports.append))
    assert [report.line for report in reports] == [2]


if COMPILED:

    def test_all_of_this_holds_without_the_compiler() -> None:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
