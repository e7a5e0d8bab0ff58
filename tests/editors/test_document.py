from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types as lsp

from spaseq.editors.answers import TOKEN_TYPES, Answers
from spaseq.editors.completion import completions
from spaseq.editors.document import Document
from spaseq.editors.fixes import MENDED, applied, fixes
from spaseq.editors.hover import hover
from spaseq.editors.positions import Encoding, Place, Places
from spaseq.editors.renaming import declaration_of, renamed
from spaseq.errors import InputError
from spaseq.lang.parse import check
from tests.drawn import drawn
from tests.editors.queries import ROOT, queries
from tests.lang.test_mutations import mutated

QUERY = """PREFIX : <http://x/>
SELECT ?a ?b (COUNT(?b) AS ?n)
WITHIN 1 HOUR SLIDING
FROM STREAM S <http://x/s>
WHERE {
  SEQ(A ; WITHIN 5 MINUTES B+ , N! ; (C & D)? : ALL(E, F){2,3})
  DEFINE GPM A ON S AT ?t { ?s :p ?a }
  DEFINE GPM B ON S { ?s :p ?b FILTER (?b > ?a) }
  DEFINE GPM N ON S { ?s :n ?none }
  DEFINE GPM C ON S { ?s :c ?c }
  DEFINE GPM D ON S { ?s :d ?c }
  DEFINE GPM E ON S { ?s :e ?e }
  DEFINE GPM F ON S { ?s :f ?f }
  BIND (?a + 1 AS ?more)
}
"""


def mendable() -> Iterator[str]:
    """The wrong queries of the tests with a problem that has a quick fix."""
    for path in sorted((ROOT / "tests/golden/errors").glob("*.rq")):
        report = path.with_suffix(".txt").read_text(encoding="utf-8")
        if "did you mean" in report or any(f"[{code}]" in report for code in MENDED):
            yield path.read_bytes().decode()


def at(text: str, marked: str) -> int:
    """The offset of the `|` in a piece of the text."""
    return text.index(marked.replace("|", "")) + marked.index("|")


def test_every_quick_fix_mends_its_problem() -> None:
    seen = set()
    for text in mendable():
        document = Document(text)
        found = [(problem.code, problem.message) for problem in document.problems]
        for problem in document.problems:
            for fix in fixes(document, problem):
                left = [(each.code, each.message) for each in check(applied(text, fix.edits))[1]]
                kind = (problem.code, problem.message)
                assert left.count(kind) < found.count(kind), (fix, text)
                seen.add(problem.code)
    assert seen >= MENDED


@pytest.mark.parametrize(
    ("marked", "sentence"),
    [
        ("SEQ(|A", "A is an event of S: the match begins with it."),
        (
            "MINUTES |B",
            "B is an event of S, one or more times: the next event that goes on with the match after `A`, at most "
            "5 minutes later.",
        ),
        ("B|+", "one or more times. Between iterations `,` strict: nothing on any stream between two iterations; the "
         "default after another step."),
        (", |N", "No event of S that N matches lies between `B+` and `(C & D)?`."),
        ("N|!", "absence: no event that fits may lie here"),
        ("(|C & D", "C is an event of S, if there is one: at the same time as `D`."),
        ("ALL(|E", "E is an event of S, 2 to 3 times: in any order with `F`."),
        ("E|, F", "between the members of ALL( ), which come in any order"),
        ("A |; W", "`;` skip-till-next: the next event that goes on with this match; others between are skipped"),
        ("SELECT ?|a", "**?a** Bound by A."),
        ("?s :p ?|b", "**?b** Bound by B. Bound afresh at each iteration of B; outside ?b is the last value, PREV(?b) "
         "the one before, and aggregates take all."),
        ("?|s :f", "**?s** Bound by A, B, N, C, D, E, F: one and the same term in each."),
        ("AT ?|t", "**?t** The time of the event of A. Bound by A."),
        ("AS ?|more", "**?more** Computed by BIND when a match is complete."),
        ("?|none", "**?none** Bound only inside '!', by N: nothing outside of it sees a value."),
        ("ON |S AT", "**S** stream <http://x/s>"),
        (":|p ?a", "`<http://x/p>`"),
        ("COUN|T(", "**COUNT**(?v) the number of values over iterations or matches"),
    ],
)  # fmt: skip
def test_a_token_is_explained(marked: str, sentence: str) -> None:
    found = hover(Document(QUERY), at(QUERY, marked))
    assert found is not None
    assert found.text.partition("\n\n")[0] == sentence


@pytest.mark.parametrize(
    ("marked", "line"),
    [
        ("SEQ(|A", "DEFINE GPM A"), ("ON |S AT", "FROM STREAM S"), ("SELECT ?|a", "DEFINE GPM A"),
        (", ?|b", ""), (":|n ?none", "PREFIX"), ("> ?|a)", "DEFINE GPM A"), ("SELECT ?a ?|b", "DEFINE GPM B"),
    ],
)  # fmt: skip
def test_a_name_leads_to_its_declaration(marked: str, line: str) -> None:
    document = Document(QUERY)
    if not line:
        assert document.occurrence_at(QUERY.index("SEQ(")) is None
        return
    occurrence = document.occurrence_at(at(QUERY, marked))
    assert occurrence is not None
    found = declaration_of(document, occurrence)
    assert found is not None
    assert QUERY[: found.start].rpartition("\n")[2].strip().startswith(line) or QUERY[
        found.start - 12 :
    ].strip().startswith(line)


def test_a_renamed_query_is_the_same_but_for_the_name() -> None:
    for text in (QUERY, *queries()[::90]):
        document = Document(text)
        for occurrence in {(found.kind, found.name): found for found in document.occurrences}.values():
            new = f"{occurrence.name or 'p'}_renamed"
            changed = Document(applied(text, tuple(renamed(document, occurrence, new))))
            back = [found for found in changed.occurrences if (found.kind, found.name) == (occurrence.kind, new)]
            assert len(back) == len(document.same(occurrence))
            assert [each.code for each in changed.problems] == [each.code for each in document.problems]
            assert applied(changed.text, tuple((each.start, each.end, occurrence.name) for each in back)) == text


@pytest.mark.parametrize(
    ("marked", "name", "reason"),
    [("SEQ(|A", "B", "has a GPM 'B' already"), ("SEQ(|A", "within", "cannot be the name of a GPM"),
     ("SELECT ?|a", "?s", "has a variable 's' already"), ("ON |S AT", "1", "cannot be the name of a stream"),
     (":|p ?a", "a b:", "cannot be the name of a prefix")],
)  # fmt: skip
def test_a_name_that_is_taken_or_none_is_refused(marked: str, name: str, reason: str) -> None:
    document = Document(QUERY)
    occurrence = document.occurrence_at(at(QUERY, marked))
    assert occurrence is not None
    with pytest.raises(InputError, match=reason):
        renamed(document, occurrence, name)


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("|", ["PREFIX", "SELECT", "CONSTRUCT"], ["STRLEN"]),
        ("PREFIX : <urn:x>\nSELECT |", ["ALL", "OVER", "DISTINCT"], ["GPM"]),
        ("SELECT * WITHIN 10 |", ["MINUTES", "EVENTS"], ["SELECT"]),
        ("SELECT * WITHIN 10 MINUTES FROM |", ["STREAM", "NAMED"], ["SELECT"]),
        ("SELECT * FROM STREAM S <urn:s> { SEQ(A ; |) DEFINE GPM A ON S { } DEFINE GPM B ON S { } }",
         ["A", "B", "ALL", "WITHIN"], ["SELECT", "S"]),
        ("SELECT * FROM STREAM S <urn:s> { SEQ(A ; WITHIN 5 |", ["MINUTES"], ["A", "EVENTS"]),
        ("SELECT * FROM STREAM S <urn:s> { SEQ(A) DEFINE GPM A ON |", ["S"], ["A", "SELECT"]),
        ("SELECT * FROM STREAM S <urn:s> { SEQ(A) DEFINE GPM A ON S { ?s ?|", ["?s"], ["STRLEN"]),
        ("PREFIX ex: <urn:x> SELECT * FROM STREAM S <urn:s> { SEQ(A) DEFINE GPM A ON S { ?s ex:price ?p ; e|",
         ["ex:price", "ex:", "sosa:", "OPTIONAL", "STRLEN", "?p"], ["SEQ"]),
        ("SELECT * { SEQ(A) DEFINE GPM A ON S { } } AFTER MATCH SKIP TO |", ["FIRST", "LAST", "NEXT"], ["SELECT"]),
        ("SELECT * { SEQ(A) DEFINE GPM A ON S { } } AFTER MATCH SKIP TO FIRST |", ["A"], ["NEXT"]),
        ("SELECT * # no |", [], ["SELECT"]),
        ("SELECT * { SEQ(A) DEFINE GPM A ON S { ?s ?p \"no |\" } }", [], ["OPTIONAL"]),
    ],
)  # fmt: skip
def test_what_may_stand_at_a_place_is_offered(text: str, some: list[str], none: list[str]) -> None:
    labels = [found.label for found in completions(Document(text.replace("|", "")), text.index("|"))]
    assert [label for label in some if label not in labels] == []
    assert [label for label in none if label in labels] == []
    assert len(labels) == len(set(labels))


@given(st.text("aé😀\n\r\t\u2028", max_size=30), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
@settings(max_examples=drawn(60))
def test_an_offset_has_one_place(text: str, encoding: Encoding) -> None:
    places = Places(text, encoding)
    for offset in range(len(text) + 1):
        place = places.place(offset)
        inside = text[offset - 1 : offset + 1] == "\r\n"
        assert places.offset(place) == (offset - 1 if inside else offset)
    assert places.offset(Place(99, 0)) == len(text)


def test_semantic_tokens_are_the_tokens_of_the_text() -> None:
    text = QUERY.replace("?s :p ?a", "?s :p '''é😀\n two''', \"😀\" , ?a # 😀\n")
    answers = Answers("file:///q", text, "utf-16")
    data = answers.semantic_tokens().data
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    line = character = 0
    words = []
    for delta, start, length, kind, modifiers in zip(*(iter(data),) * 5, strict=True):
        line, character = line + delta, start + (0 if delta else character)
        words.append(
            (lines[line][2 * character : 2 * (character + length)].decode("utf-16-le"), TOKEN_TYPES[kind], modifiers)
        )
    assert ("'''é😀", "string", 0) in words and (" two'''", "string", 0) in words and ("# 😀", "comment", 0) in words
    assert ("A", "class", 1) in words and ("A", "class", 0) in words and ("PREFIX", "keyword", 0) in words
    assert re.sub(r"[\s(){}.,]", "", "".join(word for word, _, _ in words)) == re.sub(r"[\s(){}.,]", "", text)


def test_a_prefix_of_a_well_known_vocabulary_is_declared_where_it_is_completed() -> None:
    answers = Answers("file:///q", QUERY.replace("?s :d", "?s sos"), "utf-16")
    line = QUERY[: QUERY.index("?s :d")].count("\n")
    position = lsp.Position(line, len("  DEFINE GPM D ON S { ?s sos"))
    found = {item.label: item.additional_text_edits for item in answers.completions(position).items}
    declaration = lsp.Range(lsp.Position(0, 20), lsp.Position(0, 20))
    assert found["sosa:"] == [lsp.TextEdit(declaration, "\nPREFIX sosa: <http://www.w3.org/ns/sosa/>")]
    assert found[":"] is None and found["STRLEN"] is None


def test_a_sequence_without_a_normal_form_has_no_contiguity_to_show() -> None:
    text = QUERY.replace("(C & D)?", "((C ; E) & D){2}")
    assert hover(Document(text), at(text, "D)|{2}")) is None
    answers = Answers("file:///q", text, "utf-16")
    assert answers.inlay_hints(lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))) == []


@given(mutated())
@settings(max_examples=drawn(25))
def test_any_text_has_an_answer_to_every_question(text: str) -> None:
    answers = Answers("file:///q", text, "utf-16")
    everything = lsp.Range(lsp.Position(0, 0), lsp.Position(999, 0))
    answers.diagnostics(), answers.actions(everything), answers.folds(), answers.outline(), answers.semantic_tokens()
    answers.formatting(), answers.inlay_hints(everything)
    for token in Document(text).tokens[::5]:
        hover(answers.document, token.token.start)
    for line in range(0, text.count("\n") + 1, 3):
        position = lsp.Position(line, 7)
        answers.hover(position), answers.definition(position), answers.references(position, True)
        answers.renaming(position), answers.completions(position)
