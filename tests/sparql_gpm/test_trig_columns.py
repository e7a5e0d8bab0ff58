"""Reading TriG by kernels gives what reading it unit by unit gives: events, their lines, terms, reports."""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import pytest

from arrays.jit import COMPILED
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, EventReader, ReadOptions
from sparql_gpm.reading import blocks, nquads_columns, trig, trig_columns
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.reading.event_times import TimeRule
from sparql_gpm.reading.predicate_filter import PredicateFilter
from tests.drawn import drawn
from tests.sparql_gpm.rdf_events import PREFIXES, Event, events_of
from tests.sparql_gpm.test_nquads_columns import _renamed, with_predicates

DOCUMENTS = drawn(150 if COMPILED else 30)
BLOCKS = (
    "{g} {{ :s :p :o ; :q 1 , 2.0 , true , 'a'@EN , \"x\\ny\" , 'é' . :s a :T }}",
    "{g} {{ :s :p [ :q ( 1 2 ) ] . _:b :r _:b }}",
    "GRAPH {g}\n{{ :s :p 5\n  . # }} no end\n}}",
    "{g} {{ :s :noise \"}}\" ; :p '''x\n}} y''' }}",
    "{g} {{ :s :noise 1 }}",
    '{g} {{ :s :at "2026-01-01T00:00:0{n}Z"^^xsd:dateTime }}',
    "{g} {{ {g} prov:generatedAtTime {t} ; :p 1 }}",
    "{g} {{ }}",
    "{g} {{ :s :p <<( :a :b :c )>> }}",
    "{{ :s :p :o }}",
    "_:g {{ :s :p :o }}",
    "{{ {g} prov:generatedAtTime {t} . <urn:other> prov:generatedAtTime {t} }}",
    ":s :p :o .",
    "{g} prov:generatedAtTime {t} ; :label 'x' .",
    "<urn:spaseq:unit> <urn:spaseq:unit> <urn:spaseq:unit> .",
    "@prefix : <http://other.org/{n}#> .",
    "BASE <http://base.org/{n}/>",
    "<relative{n}> {{ <s> :p <o> }}",
    "{g} {{ :s :p 'unfinished }}",
    "{g} {{ :s :p undeclared:x }}",
    "{g} {{ :s :p :o\n",
    "{g} {{ :s :p <a b> }}",
    "}}",
    "\t# a comment {{\n",
)
"""Units that are written now and then beside events of the usual form."""
TIMES = ('"2026-01-01T00:00:0{}Z"^^xsd:dateTime', '"soon"', "4", '"2026-01-01T00:00:00.5+01:00"^^xsd:dateTime')


def document(draw: random.Random, events: int, odd: float) -> str:
    """Events of the usual form, with other units between."""
    text, number = PREFIXES, 0
    for _ in range(events):
        number += draw.random() < 0.95
        graph = f":g{number}" if draw.random() < 0.5 else f"<http://ex.org/g{number}>"
        time = (draw.choice(TIMES) if draw.random() < odd else TIMES[0]).format(number % 10)
        stamp = f"{graph} prov:generatedAtTime {time} ."
        usual = f"{graph} {{ :s{number} :p :o ; :noise {number} }}"
        units = [stamp, usual] if draw.random() < 0.8 else [usual, stamp]
        while draw.random() < odd:
            other = draw.choice(BLOCKS).format(g=graph, n=number % 10, t=time)
            units.insert(draw.randrange(3), other)
        text += "".join(unit + draw.choice(("\n", "\n", " ", "\n\n", "")) for unit in units)
    return text


@contextmanager
def sizes(block_bytes: int, units: int) -> Iterator[None]:
    """Small blocks, and few units together."""
    with (
        mock.patch.object(blocks, "BLOCK_BYTES", block_bytes),
        mock.patch.object(nquads_columns, "BLOCK_BYTES", block_bytes),
        mock.patch.object(trig_columns, "UNITS_MIN", units),
    ):
        yield


def found_in(
    text: str, options: ReadOptions, releasing: bool = False
) -> tuple[list[Event], list[int], list[Malformed]]:
    """The events, the line of each, and the reports."""
    dictionary, reports, lines = Dictionary(), list[Malformed](), list[int]()

    def batches() -> Iterator[EventBatch]:
        for batch in EventReader(dictionary, options, reports.append).read(io.BytesIO(text.encode()), "trig"):
            lines.extend(batch.lines.tolist())
            yield batch.events
            if releasing:
                dictionary.retain([])

    return [_renamed(event) for event in events_of(batches(), dictionary)], lines, reports


@pytest.mark.parametrize("seed", range(DOCUMENTS))
def test_kernels_find_what_reading_unit_by_unit_finds(seed: int) -> None:
    draw = random.Random(seed)
    text = document(draw, draw.choice((5, 40)), draw.choice((0.0, 0.1, 0.4)))
    if draw.random() < 0.1:
        text = text.replace("\n", "\r\n")
    if draw.random() < 0.3:
        place = draw.randrange(len(PREFIXES), len(text))
        text = text[:place] + draw.choice("{}.'\"<> @#é\\") + text[place + 1 :]
    wanted = draw.choice((None, None, frozenset({"http://ex.org/p"}), frozenset({PROV_TIME}), frozenset[str]()))
    rule = TimeRule(paths=(("http://ex.org/at",),)) if draw.random() < 0.2 else TimeRule()
    options = ReadOptions(batch_events=draw.choice((1, 3, 100)), time_rule=rule)
    arrives = draw.random() < 0.2

    def given(compiled: bool) -> ReadOptions:
        ticks = itertools.count()
        read = PredicateFilter(wanted) if compiled and wanted is not None else None
        clock = (lambda: next(ticks)) if arrives else None
        return replace(options, compiled=compiled, predicates=read, arrival_time=clock)

    expected = found_in(text, given(False))
    with sizes(draw.choice((100, 1000, 1 << 20)), draw.choice((1, 4))):
        found = found_in(text, given(True), releasing=draw.random() < 0.3)
    assert found[1:] == expected[1:]
    assert with_predicates(found[0], wanted) == with_predicates(expected[0], wanted)


def test_usual_units_are_not_read_one_by_one() -> None:
    text = document(random.Random(1), 100, 0.0)
    with mock.patch.object(trig.TriGReader, "_unit", autospec=True, side_effect=trig.TriGReader._unit) as alone:
        found = found_in(text, ReadOptions(compiled=True))
    assert len(found[0]) == len({event.name for event in found[0]}) >= 90
    assert alone.call_count <= 3 + 4, "directives, and the last event"


def test_triples_that_nobody_wants_get_no_ids() -> None:
    dictionary, filter_ = Dictionary(), PredicateFilter(frozenset({"http://ex.org/p"}))
    options = ReadOptions(compiled=True, predicates=filter_)
    text = document(random.Random(1), 100, 0.0).encode()
    emptied = sum(batch.emptied for batch in EventReader(dictionary, options, print).read(io.BytesIO(text), "trig"))
    assert emptied == 0
    assert filter_.left_out == {"http://ex.org/noise": None}
    assert len(dictionary) < 300, "subjects, and the terms that are always the same"
