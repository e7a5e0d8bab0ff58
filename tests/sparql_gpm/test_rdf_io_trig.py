"""A TriG document means the same read a unit at a time and parsed as a whole."""

from __future__ import annotations

import re

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.rdf_io import ReadOptions
from sparql_gpm.reading.blocks import Blocks
from sparql_gpm.reading.trig_units import LongUnit, Unit, Units
from tests.drawn import drawn
from tests.sparql_gpm.rdf_events import read

SPACE = re.compile(rb"\A(?:\s|#[^\r\n]*)*")
NOW = ReadOptions(arrival_time=lambda: 0)
HEAD = "@prefix : <http://ex.org/> .\n"

DOCUMENTS = [
    ":g { :s :p :o }",
    ":g{:s :p :o.}:h{:s :p 1.5.:s :p 2 .}",
    ":g { :s :p 1, 2.0, .5, 1e3, true . }",
    "GRAPH :g { :s :p :o } graph <h> { :s :p :o }".replace("<h>", "<urn:h>"),
    ':g { :s :p "}" , \'}\' , """a "} b""" , \'\'\'a \'} b\'\'\', "\\"}" , "\\\\" }',
    ":g { :s :p <urn:x#y>, <urn:\\u0041>, :a\\#b, :a.b.c, :a\\~b }  # } a comment {\n:h { :s :p :o }",
    ":g { :s :p [ :q [ :r 1 ] , () , (1 2) ] . _:a :p _:b , _:a }",
    ":g { :s :p 'a'@en , 'b'@EN-us, '1'^^:t ; a :T , :U ; }",
    "PREFIX x: <urn:x#>\nBASE <http://base.org/d/>\nx:g { <s> x:p <../o> }\n"
    "@base <http://other.org/> .\n<g2> { <s> <p> x:o }",
    ":g { :s :p :o } @prefix : <urn:other#> . :g { :s :p :o }",
    ":g { :s :p :o .\n\n} # comment without an end",
    "<urn:g>{<urn:s><urn:p><urn:o>}",
    ":g { :s :p :o }\r\n:h { :s :p :o }\r:i { :s :p :o }\n",
    ":g { :s :p 'é日本' . } :é日 { :s :p :o }",
    "_:g { _:s :p _:s } _:h { _:s :p _:s }",
    "[] { :s :p :o } [ ] { :s :p :o }",
]


def unnamed(text: str) -> str:
    """Blank nodes all alike, names of blank graphs too."""
    return re.sub(r"_:[A-Za-z0-9_]+|<?urn:spaseq:event:S:\d+>?", "_:x", text)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_units_mean_what_the_whole_document_means(document: str) -> None:
    text = HEAD + document
    expected: list[tuple[str, list[str]]] = []
    labels: list[str] = []
    for quad in ox.parse(text.encode(), ox.RdfFormat.TRIG):
        label = str(quad.graph_name)
        if not labels or labels[-1] != label:
            labels.append(label)
            expected.append((unnamed(label).strip("<>"), []))
        expected[-1][1].append(unnamed(str(quad.triple)))
    events, reports = read(text, "trig", NOW)
    assert reports == []
    assert [(unnamed(event.name), list(map(unnamed, event.triples))) for event in events] == [
        (name, list(dict.fromkeys(triples)) if "_:x" not in "".join(triples) else triples) for name, triples in expected
    ]


@pytest.mark.parametrize("statement", [":s :p :o .", ":s :p <urn:o> .", ":s :p 1 ."])
@pytest.mark.parametrize("directive", ["@prefix x: <urn:x#> .", "PREFIX x: <urn:x#>", "prefix x: <urn:x#>"])
@pytest.mark.parametrize("between", ["", " ", "\n", "#\n"])
def test_a_directive_right_after_a_dot_is_in_force_afterwards(statement: str, directive: str, between: str) -> None:
    events, _ = read(f"{HEAD}{statement}{between}{directive} x:g {{ :s :p x:o }}\nx:h {{ :s :p x:o }}", "trig", NOW)
    assert [event.name for event in events] == ["urn:x#g", "urn:x#h"]


class Text:
    """A stream over a text, a few bytes at a time."""

    def __init__(self, text: str, step: int) -> None:
        data = text.encode()
        self._pieces = iter([data[i : i + step] for i in range(0, len(data), step)])

    def read(self, size: int, /) -> bytes:
        return next(self._pieces, b"")


def units_of(text: str, step: int = 10**6, longest: int = 10**6) -> list[Unit | LongUnit]:
    return [unit for unit in Units(Blocks(Text(text, step), False, longest)) if unit is not None]


def test_units_know_where_they_begin() -> None:
    text = "# é\n  :é { :s :p 'é' } :h\n{ } \r\n :i { }"
    assert [(unit.text.decode(), unit.line, unit.column) for unit in units_of(text)] == [
        (":é { :s :p 'é' }", 2, 3),
        (":h\n{ }", 2, 20),
        (":i { }", 4, 2),
    ]


@settings(max_examples=drawn(300), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["{", "}", ".", " ", "\n", '"', '"""', "'", "'''", "\\", "<urn:x>", "<", "#", ":a", "{|", "é", "\r"]
        ),
        max_size=25,
    ).map("".join),
    st.integers(1, 5),
)
def test_units_leave_out_nothing_but_space_and_comments(text: str, step: int) -> None:
    whole, in_pieces = units_of(text), units_of(text, step)
    assert whole == in_pieces
    rest = SPACE.sub(b"", text.encode(), count=1)
    for unit in whole:
        assert rest.startswith(unit.text)
        rest = SPACE.sub(b"", rest.removeprefix(unit.text), count=1)
    assert rest == b""


def test_an_endless_string_does_not_wait_for_ever() -> None:
    (unit,) = units_of('"""' + "x\n" * 100, step=20, longest=50)
    assert isinstance(unit, LongUnit) and unit.raw.length == 203


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("end", ["", "\n", " \t\r\n", "\n:a :b :c .\n", " \n\n{ :a :b :c }"])
@pytest.mark.parametrize(
    "parts", [["<urn:g> {", " :a :b '", "x" * 400, "' }"], ["<urn:g> {\n:a :b :c\n", ":x\n" * 200, "}"]]
)
def test_a_unit_that_is_too_long_ends_with_its_last_character(parts: list[str], end: str, step: int) -> None:
    text = "".join(parts)
    unit, *others = units_of(text + end, step=step, longest=100)
    assert isinstance(unit, LongUnit) and unit.raw.length == len(text)
    assert [(other.text, other.line) for other in others] == [
        (one.text, one.line + text.count("\n")) for one in units_of(end) if isinstance(one, Unit)
    ]
