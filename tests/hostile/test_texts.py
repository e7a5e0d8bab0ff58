"""What a text costs grows no faster than the text, and what it may ask for has a bound with a name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arrays.wanted import NotWanted, while_wanted
from benchmarks.hostile_shapes import shapes, ways
from kb.results import ResultReader
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.json_contexts import CONTEXT_CHARACTERS_MAX, with_contexts
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.errors import InputError, Problem
from spaseq.inputs.tables.template import parse_template
from spaseq.lang import bounds
from spaseq.lang.parse import check, parse
from spaseq.lang.report import PROBLEMS_MAX
from spaseq.service.errors import Refused
from spaseq.service.http.requests import parsed_json
from spaseq.service.settings.toml import CONFIGURATION_BYTES_MAX, KEY_PARTS_MAX, read_configuration
from tests.drawn import drawn

LIMITS = (Path(__file__).parents[2] / "docs" / "reference" / "limits.md").read_text(encoding="utf-8")
GROWTH = 1.4
"""Calls may grow so many times as fast as the text."""
GROWING = {
    "validate": (
        "groups repeated in each other", "selected variables that are bound", "prefixes that are used",
        "streams of one definition", "definitions that are used", "bindings of each other", "variables",
        "strings never closed", "filters in a body", "columns of VALUES", "undeclared prefixes",
        "a sequence of undefined names", "problems in a body", "; in a body",
    ),
    "format": ("comments in a body", "definitions"),
    "query as JSON": ("sinks",), "configuration": ("a long dotted key", "many tables"),
    "template": ("values", "graphs"), "context": ("one context many times", "a context of itself"),
    "answer": ("rows", "variables"),
}  # fmt: skip
PIECES = (
    *"{}()<>.:;,|&+*?!@#'\"\\", "\n", " ", "a", "SEQ(", "DEFINE GPM A ON S {", "PREFIX a: <urn:a>", "SELECT", "FILTER(",
    "?v", "1", "BIND(?v AS ?w)", "FROM STREAM S <urn:s>", "WITHIN", "☃", '"""', "CONSTRUCT {", "(?v AS ?w)", "^^", "A+",
)  # fmt: skip

PLACES = ("", "sequence", "body", "beside")
CHARACTERS = ("a", "-", ".", "_", ":", "1", "é", "<", "@", "?", "e", "+", "'", '"', "\\", "%", "a-", "a.", "1.", "1e")


def text_of(sequence: str = "A", body: str = "?s :p ?v", select: str = "*", beside: str = "", define: str = "") -> str:
    return (
        f"PREFIX : <urn:e:> SELECT {select} WITHIN 9 SECONDS FROM STREAM S :s {{ SEQ({sequence}) "
        f"DEFINE GPM A ON S {{ {body} }} {define} {beside} }}"
    )


@settings(max_examples=drawn(12), deadline=None)
@given(
    st.lists(st.sampled_from(CHARACTERS), min_size=1, max_size=3), st.sampled_from(["", "sequence", "body", "beside"])
)
@example(["-", "-", "a"], "")
def test_the_time_for_repeated_characters_grows_as_the_text(characters: list[str], place: str) -> None:
    """Expressions make no calls: four times as long a text takes sixteen times as long where one looks far ahead."""

    def taken(count: int) -> float:
        piece = "".join(characters) * count
        text = text_of(**{place: piece}) if place else piece
        begun = process_time()
        check(text)
        return process_time() - begun

    assert min(taken(12_000) for _ in range(2)) <= 10 * max(min(taken(3_000) for _ in range(3)), 0.01)


def calls(work: Callable[[], object]) -> int:
    """The functions that some work calls."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def grows(read: Callable[[bytes], object], small: bytes, large: bytes) -> float:
    """How many times as fast as the text the calls grow."""
    for warm in (text_of(), text_of(body="?s ?s .")):
        read(warm.encode())
    return calls(lambda: read(large)) / calls(lambda: read(small)) / (len(large) / len(small))


@pytest.mark.parametrize(("way", "name"), [(way, name) for way, names in GROWING.items() for name in names])
def test_the_calls_for_a_text_grow_as_the_text(way: str, name: str) -> None:
    (shape,) = (each for each in shapes() if (each.way, each.name) == (way, name))
    assert grows(ways()[way].read, shape.make(1_000), shape.make(4_000)) <= GROWTH


@settings(max_examples=15)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4), st.sampled_from(PLACES))
def test_the_calls_for_a_repeated_piece_grow_as_the_text(pieces: list[str], place: str) -> None:
    def made(count: int) -> bytes:
        piece = " ".join(pieces) * count
        return (text_of(**{place: piece}) if place else piece).encode()

    assert grows(lambda data: check(data.decode()), made(30), made(120)) <= GROWTH


@pytest.mark.parametrize("step", ["A", "A{1,3}", "(A ; A)+"])
def test_the_calls_for_steps_that_wait_for_a_later_one_grow_as_their_pairs(step: str) -> None:
    text = """SELECT * WITHIN 9 SECONDS FROM STREAM S <urn:s> { SEQ(%s ; B+)
        DEFINE GPM A ON S { ?s <urn:p> ?v FILTER(?v < ?w) } DEFINE GPM B ON S { ?s <urn:q> ?w } }"""

    def planned(count: int) -> None:
        Setup({}, RunOptions(), Dictionary()).operator(build(parse(text % " ; ".join([step] * count), "q")))

    planned(2)
    assert calls(lambda: planned(100)) < 5 * calls(lambda: planned(50))


@pytest.mark.parametrize("pair", [("(", "A", ")+"), ("(", "A+", ")+"), ("(", "A", ")!"), ("(A ; ", "A", ")?")])
def test_nested_groups_cost_little_until_they_are_too_deep(pair: tuple[str, str, str]) -> None:
    opening, inner, closing = pair
    check(text_of())
    for depth in (96, 101, 300, 3_000):
        text = text_of(sequence=opening * depth + inner + closing * depth)
        assert calls(lambda text=text: check(text)) < 1_000_000  # type: ignore[misc]
        too_deep = any(each.message == "parentheses are nested more than 100 deep" for each in problems(text))
        assert too_deep == (depth > 100)


@pytest.mark.parametrize("sequence", ["(" * 90 + " ; ".join(["A"] * 900) + ")+" * 90, " ; ".join(["(A ; A+)+"] * 400)])
def test_steps_that_are_repeated_together_cost_little(sequence: str) -> None:
    body = " . ".join(f"?s :p ?v{n}" for n in range(100))
    assert calls(lambda: check(text_of(sequence=sequence, body=body))) < 6_000_000


def problems(text: str) -> tuple[Problem, ...]:
    return check(text)[1]


BEYOND: Mapping[str, str] = {
    "steps of a sequence": text_of(sequence=" ; ".join(["A"] * (bounds.STEPS_MAX + 1))),
    "variables of steps": text_of(
        sequence=" ; ".join(["A"] * 500),
        body=" . ".join(f"?s :p ?v{n}" for n in range(bounds.STEP_VARIABLES_MAX // 500)),
    ),
    "IRI of a prefix": text_of().replace("urn:e:", f"urn:{'e' * 4_096}:"),
    "levels of BIND": text_of(
        beside=" ".join(f"BIND(?v{n} + 1 AS ?v{n + 1})" for n in range(bounds.CONDITION_LEVELS_MAX + 1)),
        body="?s :p ?v0",
    ),
    "terms of a condition": text_of(
        beside=" ".join(f"BIND(?v{n} * ?v{n} AS ?v{n + 1})" for n in range(40)) + " FILTER(?v40 > 1)", body="?s :p ?v0"
    ),
}  # fmt: skip


@pytest.mark.parametrize("bound", BEYOND)
def test_a_query_beyond_a_bound_is_an_error_that_names_it(bound: str) -> None:
    query, found = check(BEYOND[bound])
    assert query is None
    assert [each.code for each in found if each.severity == "error"] == ["SQ065"]
    assert f"({bound})" in "".join(each.message for each in found)
    assert f"| {bound} |" in LIMITS


@given(st.integers(1, 12), st.integers(1, 3))
def test_binds_are_put_into_a_condition_as_often_as_it_names_them(levels: int, width: int) -> None:
    beside = " ".join(f"BIND({' + '.join([f'?v{n}'] * width)} AS ?v{n + 1})" for n in range(levels))
    query, found = check(text_of(body="?s :p ?v0", beside=f"{beside} FILTER(?v{levels} > 1)"))
    if query is None:
        assert 2 * width**levels > bounds.CONDITION_TERMS_MAX and [each.code for each in found] == ["SQ065"]
    else:
        (condition,) = build(query).filters
        assert str(condition.expression).count("name='v0'") == width**levels


def test_of_many_problems_the_first_are_kept_and_the_last_says_that_there_are_more() -> None:
    unused = " ".join(f"DEFINE GPM B{n} ON S {{ ?s :p ?v }}" for n in range(PROBLEMS_MAX + 1))
    query, found = check(text_of(define=unused))
    assert query is not None and len(found) == PROBLEMS_MAX
    assert found[-1].hint == f"there are more than {PROBLEMS_MAX:,} of them: the others are not shown"
    _, found = check(text_of(sequence="A ; Z", define=unused))
    assert [each.code for each in found if each.severity == "error"] == ["SQ018"]
    assert max(len(each.message) for each in problems(text_of(sequence="Z" * 5_000))) == 1_000


def test_the_parser_ends_where_its_work_is_not_wanted_and_reads_the_next_text() -> None:
    text = text_of(body=" ".join(f"?s :p{n} ?v ." for n in range(200)))
    limit, asked = sys.getrecursionlimit(), 0

    def ask() -> None:
        nonlocal asked
        asked += 1
        if asked > 50:
            raise NotWanted

    with pytest.raises(NotWanted), while_wanted(ask):
        check(text)
    assert sys.getrecursionlimit() == limit
    assert check(text)[0] is not None


@given(st.integers(1, 20), st.integers(1, 60))
def test_contexts_that_name_each_other_are_put_together_once(levels: int, width: int) -> None:
    contexts: dict[str, Any] = {f"u{n}": [f"u{n + 1}"] * width for n in range(levels)}
    contexts[f"u{levels}"] = {"t": "urn:t"}
    document = json.dumps({"@context": "u0", "t": 1}).encode()
    if levels > 15 or width**levels * 16 > CONTEXT_CHARACTERS_MAX:
        with pytest.raises(ValueError, match=r"contexts are nested too deeply|\(contexts of a document\)"):
            with_contexts(document, contexts)
    elif width**levels < 1_000:
        (text,) = with_contexts(document, contexts)
        assert json.loads(text)["@context"] in (
            {"t": "urn:t"},
            [{"t": "urn:t"}] * width**levels,
        )


@pytest.mark.parametrize("key", ["a", "'a'", '"a"'])
@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "[[{}]]", "x = {{ {} = 1 }}"])
def test_a_key_of_toml_with_many_parts_is_refused_by_name(key: str, form: str, tmp_path: Path) -> None:
    file = tmp_path / "spaseq.toml"
    file.write_text("# 'a.\n" + form.format(" . ".join([key] * (KEY_PARTS_MAX + 1))))
    with pytest.raises(InputError, match=r"at line 2.*\(parts of a key\)"):
        read_configuration(file)
    file.write_text(f"[limits]\nbody = '1MB' # {'a.' * 999}\n[streams.s]\niri = 'urn:{'a.' * 999}'\n")
    assert read_configuration(file).streams["s"].iri.endswith("a.a.")


@given(
    st.lists(
        st.sampled_from(["\n", " ", "<urn:g> { <urn:a> <urn:p> ?c } .\n", "<urn:b> <urn:p> '{d}' . "]), max_size=12
    )
)
def test_the_place_of_a_fault_behind_cells_is_that_in_the_text(pieces: list[str]) -> None:
    text = "".join(pieces) + "<urn:s> { } ("
    with pytest.raises(InputError) as caught:
        parse_template(text, "t.trig", ())
    first = text.find("} .")
    if first < 0:
        assert caught.value.line == text.count("\n") + 1
    else:
        assert caught.value.line == text.count("\n", 0, first) + 1


def test_an_answer_of_an_endpoint_that_is_too_deep_is_refused() -> None:
    with pytest.raises(ValueError, match="not SPARQL JSON results"):
        ResultReader(["a"]).decode(b'{"head": {}, "more": ' + b"[" * 100_000, "s")


def test_a_document_of_json_has_a_size() -> None:
    fits = '"' + "x" * (CONFIGURATION_BYTES_MAX - 2) + '"'
    assert len(parsed_json(fits)) == CONFIGURATION_BYTES_MAX - 2
    with pytest.raises(Refused, match=r"4,000,000 bytes \(size of a configuration\)"):
        parsed_json(f" {fits}")
