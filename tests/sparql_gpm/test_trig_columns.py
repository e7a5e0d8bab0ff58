"""Reading TriG by kernels gives what reading it unit by unit gives: events, terms, numbers, reports."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from unittest import mock

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrays.jit import COMPILED
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.reading import blocks, nquads_columns, trig_columns
from sparql_gpm.reading.trig import TriGReader
from sparql_gpm.terms import XSD
from tests.drawn import drawn
from tests.sparql_gpm.test_nquads_columns import Found, found_in
from tests.sparql_gpm.test_rdf_io_round_trip import Written, as_nquads, as_trig, streams
from tests.sparql_gpm.test_rdf_io_trig import DOCUMENTS, HEAD

EXAMPLES = drawn(200 if COMPILED else 20)
PREFIXES = {"": "http://ex.org/", "ex": "http://ex.org/", "prov": PROV_TIME.removesuffix("generatedAtTime"), "xsd": XSD}

DAMAGED = (
    ":a } .b <urn:p> :c .\n:g { :s :p 1 }",
    ".prefix x: <urn:x#> .\n:g { :s :p 1 }",
    ':g prov:generatedAtTime "1"^^<http://{w#t> . :g { :s :p 1 }',
    "PREFIX ex: <urn:x>\n1 2 3 .\nex:g { :s :p 1 }",
    ":g {\n :a :b 1 .\n:h prov:generatedAtTime 5. {\n[ :q 1 ] }",
    ':g { :a :p ( 1 """l\nt""" ) . h { :a :p 1 . } :h { :s :p 1 }',
    'prefix :<p:>.\v: :""@en.\f:g { :s :p 1 }',
)
"""Documents of which kernels once made other units."""
NAMES = (
    "<urn:a>",
    ":a",
    "ex:b-c_1",
    "ex:",
    ":a.b",
    "ex:1",
    "_:x",
    "_:x-1",
    "<a>",
    "ex:é",
    ":%41",
    ":a\\~b",
    "no:x",
    "a",
)
VALUES = (
    *("1", "-1.50", "+2e3", "1.", "1.e5", ".5", "true", "false", "truely", "<urn:x#.>", "<urn:/../x>"),
    *("[]", "[ :q 1 ]", "()", "(1 2)", "<<( :s :p 1 )>>", "1 {| :a 1 |}"),
    *(
        '"x"',
        '""',
        '"\\n\\u00e9"',
        '"é"',
        '"{"',
        '"}"',
        '"a\\"b"',
        '"open',
        '"\\q"',
        '"""long"""',
        "'x'",
        '"""l\n"t"""',
        "( '''l\n''' )",
    ),
    *('"x"@en', '"x"@EN-us', '"x"@en--ltr', '"1"^^xsd:integer', f'"1"^^<{XSD}string>', '"x"^^_:x'),
)
TOKENS = (".", ";", ",", ";;", "{", "}", "{|", "\\", "GRAPH", "graph", "a")
DIRECTIVES = ("@prefix ex: <urn:other#> .", "PREFIX ex: <urn:x>", "@base <http://b.org/c/> .", "@prefix : <d/> .")
TIMES = ('"2026-01-01T00:00:00Z"^^xsd:dateTime', f'"2026-01-01T00:00:01Z"^^<{XSD}dateTime>', '"soon"', "5")
SPACES = ("", " ", " ", " ", "\n", "\t", "\r\n", " # a {\n", "\r", "\v\f")


class Drawn:
    """Texts of TriG that are right more often than not."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice

    def unit(self) -> str:
        """A directive, a statement of the default graph, a graph block, or anything."""
        name = self.dice.choice(("<urn:g>", "<urn:h>", ":g", ":h", "_:g", "ex:g"))
        match self.dice.randrange(10):
            case 0:
                return self.dice.choice(DIRECTIVES)
            case 1 | 2 | 3:
                end = self.dice.choice((" .", ".", " ; ex:x 1 .", ""))
                return f"{name} prov:generatedAtTime {self.dice.choice(TIMES)}{end}"
            case 4:
                some = self.dice.choices((*NAMES, *VALUES, *TOKENS), k=self.dice.randrange(8))
                return self.space().join(some)
            case _:
                inside = self.space().join(f"{self.statement()} ." for _ in range(self.dice.randrange(3)))
                keyword, end = self.dice.choice(("", "", "GRAPH ", "graph\n")), self.dice.choice(("}", "}", " . }", ""))
                return f"{keyword}{name}{self.space()}{{{inside}{end}"

    def statement(self) -> str:
        """A subject with its predicates and objects."""
        verbs = [f"{self.dice.choice(NAMES)} {self.objects()}{self.space()}" for _ in range(self.dice.randint(1, 3))]
        return f"{self.dice.choice(NAMES)} {';'.join(verbs)}"

    def objects(self) -> str:
        """One or two, with a comma between them."""
        return f"{self.space()},{self.space()}".join(self.dice.choices((*NAMES, *VALUES), k=self.dice.randint(1, 2)))

    def space(self) -> str:
        """Space, a comment, or nothing."""
        return self.dice.choice(SPACES)


@contextmanager
def in_blocks(of_bytes: int) -> Iterator[None]:
    """Read blocks of so many bytes."""
    with (
        mock.patch.object(blocks, "BLOCK_BYTES", of_bytes),
        mock.patch.object(nquads_columns, "BLOCK_BYTES", max(of_bytes, 200)),
        mock.patch.object(trig_columns, "BLOCK_BYTES", max(of_bytes, 200)),
    ):
        yield


def both(text: str, options: ReadOptions, of_bytes: int = 1 << 20, releasing: bool = False) -> tuple[Found, Found]:
    """What kernels find, and what is found without them."""
    data, found = text.encode(errors="surrogateescape"), []
    for compiled in (True, False):
        clock = itertools.count()
        stamped = replace(options, compiled=compiled)
        if options.arrival_time is not None:
            stamped = replace(stamped, arrival_time=clock.__next__)
        with in_blocks(of_bytes if compiled else 1 << 20):
            found.append(found_in(data, [], stamped, releasing and compiled, False, "trig"))
    return found[0], found[1]


def zero() -> int:
    """A clock that stands still."""
    return 0


def head() -> str:
    """Declarations of all prefixes."""
    return "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_kernels_find_what_reading_by_unit_finds(seed: int) -> None:
    dice = Random(seed)
    units = Drawn(dice)
    characters = list(head() + units.space().join(units.unit() for _ in range(dice.randrange(9))))
    for _ in range(dice.choice((0, 0, 1, 2))):
        characters[dice.randrange(len(characters))] = dice.choice(' \t\r\n<>"\\._@^é}{0;,')
    clock = None if dice.random() < 0.7 else zero
    options = ReadOptions(batch_events=dice.randint(1, 4), arrival_time=clock)
    found, expected = both("".join(characters), options, dice.choice((1, 40, 200, 1 << 20)), dice.random() < 0.3)
    assert found == expected


@pytest.mark.parametrize("of_bytes", [10, 1 << 20])
@pytest.mark.parametrize("document", DAMAGED)
def test_faults_end_units_where_they_end_without_kernels(document: str, of_bytes: int) -> None:
    found, expected = both(head() + document, ReadOptions(arrival_time=zero), of_bytes)
    assert found == expected


def by_pyoxigraph(events: list[Written]) -> str:
    """The events as that serializer writes them."""
    quads = ox.parse(as_nquads(events).encode(), ox.RdfFormat.N_QUADS)
    prefixes = {name: iri for name, iri in PREFIXES.items() if name}
    text = ox.serialize(quads, format=ox.RdfFormat.TRIG, prefixes=prefixes)
    assert text is not None
    return text.decode()


@pytest.mark.parametrize("written", [as_trig, by_pyoxigraph])
@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(events=streams, of_bytes=st.sampled_from([100, 1 << 20]), batch_events=st.integers(1, 4))
def test_what_serializers_write_is_read_by_kernels(
    written: object, events: list[Written], of_bytes: int, batch_events: int
) -> None:
    assert callable(written)
    found, expected = both(written(events), ReadOptions(batch_events=batch_events), of_bytes)
    assert found == expected


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_mean_the_same_by_kernels(document: str) -> None:
    found, expected = both(HEAD + document, ReadOptions(arrival_time=zero))
    assert found == expected


def flat(count: int, odd: bool = False) -> str:
    """Events of two triples, one statement a line."""
    dice, text = Random(1), head()
    for number in range(count):
        value = f"[ ex:is {dice.randrange(9)} ]" if odd else f"{dice.randrange(90) / 10}"
        text += (
            f'ex:e{number} prov:generatedAtTime "2026-01-01T00:{number // 60:02}:{number % 60:02}Z"^^xsd:dateTime .\n'
        )
        text += f"ex:e{number} {{\n  ex:s a ex:T ;\n    ex:v {value} .\n}}\n"
    return text


def units_read_apart(text: str) -> int:
    """The number of units that kernels leave to the unit reader."""
    with mock.patch.object(TriGReader, "take", autospec=True, side_effect=TriGReader.take) as take:
        found, expected = both(text, ReadOptions(), 2000)
    events = text.count("\nex:e") // 2
    assert found == expected and len(found[0]) == events
    return take.call_count - 2 * events - len(PREFIXES)


def test_usual_units_are_read_by_kernels() -> None:
    assert units_read_apart(flat(300)) == len(PREFIXES) + 2


def test_no_unit_of_an_odd_document_is_read_twice() -> None:
    assert units_read_apart(flat(300, odd=True)) == len(PREFIXES) + 600
