from __future__ import annotations

from itertools import permutations

import pytest

from automata.plan.program import Selector, Skip
from sparql_gpm.pattern import Aggregate, Call, Iteration, Triple, Variable
from sparql_gpm.terms import IRI
from spaseq.errors import QueryError
from spaseq.lang.ast import Unit
from spaseq.lang.parse import check, parse
from tests.lang.texts import define_of, query_of, text_of

HEADER = (
    "WITHIN 30 MINUTES",
    "PARTITION BY ?s",
    "FROM STREAM S1 <http://example.org/s1>",
    "FROM NAMED KB <http://example.org/kb>",
)


@pytest.mark.parametrize("clauses", list(permutations(HEADER)))
def test_clauses_before_the_brace_come_in_any_order(clauses: tuple[str, ...]) -> None:
    query = parse("SELECT *\n" + "\n".join(clauses) + "\n{ SEQ(A) DEFINE GPM A ON S1 { ?s ?p ?o } }")
    assert query.window.size == 30 * Unit.MINUTE.value
    assert query.partition == ("s",)
    assert query.knowledge == ("http://example.org/kb",)
    assert [(stream.name, stream.iri) for stream in query.streams] == [("S1", "http://example.org/s1")]


def test_keywords_are_case_insensitive_and_names_are_not() -> None:
    query = parse(
        "prefix : <http://x/> select next distinct ?o within 2 hours sliding from stream s <http://x/s> "
        "where { seq(a ; A) define gpm a on s { ?x :p ?o } define GPM A ON s { ?x :q ?o } } "
        "after match skip past last event limit 3"
    )
    assert (query.selector, query.distinct, query.limit, query.skip) == (Selector.NEXT, True, 3, Skip.PAST_LAST)
    assert query.window.sliding and [define.name for define in query.defines] == ["a", "A"]


@pytest.mark.parametrize("selector", list(Selector))
def test_every_selector_is_read(selector: Selector) -> None:
    assert query_of("A", form=f"SELECT {selector.value} *").selector is selector
    assert query_of("A", form=f"CONSTRUCT {selector.value} {{ ?s :q ?a }}").selector is selector


@pytest.mark.parametrize("skip", list(Skip))
def test_every_skip_is_read(skip: Skip) -> None:
    to = "A" if skip in (Skip.TO_FIRST, Skip.TO_LAST) else None
    query = parse(text_of("A") + f"AFTER MATCH {skip.value} {to or ''} LIMIT 9")
    assert (query.skip, query.skip_to) == (skip, to)


def test_without_modifiers_nothing_is_skipped_or_capped() -> None:
    query = query_of("A")
    assert (query.skip, query.limit, query.distinct, query.selector) == (Skip.NO_SKIP, None, False, Selector.ALL)


WINDOWS = {
    "500 MILLISECONDS": (500_000_000, False, False, None),
    "1 SECOND TUMBLING": (1_000_000_000, False, False, None),
    "2 days sliding": (172_800_000_000_000, False, True, None),
    '1 HOUR STARTING AT "1970-01-01T00:00:02.5Z"': (3_600_000_000_000, False, False, 2_500_000_000),
    "1 HOUR STARTING AT '1970-01-01T01:00:00+01:00'^^xsd:dateTime": (3_600_000_000_000, False, False, 0),
    '1 HOUR STARTING AT "1970-01-02"^^<http://www.w3.org/2001/XMLSchema#date>': (
        3_600_000_000_000,
        False,
        False,
        86_400_000_000_000,
    ),
    "1 HOUR STARTING AT 1.5": (3_600_000_000_000, False, False, 1_500_000_000),
    "1 MINUTE TUMBLING STARTING AT -1": (60_000_000_000, False, False, -1_000_000_000),
    "10 EVENTS": (10, True, False, None),
    "1 EVENT SLIDING": (1, True, True, None),
    "10 EVENTS STARTING AT 3": (10, True, False, 3),
}


@pytest.mark.parametrize(("written", "expected"), WINDOWS.items())
def test_windows_are_read_in_nanoseconds_or_events(written: str, expected: tuple[int, bool, bool, int | None]) -> None:
    prefix = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
    window = parse(prefix + text_of("A", header=f"WITHIN {written}")).window
    start = window.start if window.anchored else None
    assert (window.size, window.in_events, window.sliding, start) == expected


def test_iris_resolve_against_base_and_prefixes() -> None:
    query = parse(
        "BASE <http://x.org/a/b?q#f> PREFIX ex: <../c/> PREFIX : <#>\n"
        "CONSTRUCT { ?s :p ?o } WITHIN 1 DAY\n"
        "FROM STREAM S1 <s1> FROM STREAM S2 ex:s2 FROM STREAM S3 <//y.org/./z> FROM STREAM S4 :s4\n"
        "FROM NAMED <?kb> FROM NAMED ex:kb FROM NAMED <http://x.org/c/kb>\n"
        "{ SEQ(A) DEFINE GPM A ON S1, S2, S1 { ?s <p> ?o } }"
    )
    assert [stream.iri for stream in query.streams] == [
        "http://x.org/a/s1",
        "http://x.org/c/s2",
        "http://y.org/z",
        "http://x.org/a/b?q#s4",
    ]
    assert query.knowledge == ("http://x.org/a/b?kb", "http://x.org/c/kb")
    assert dict(query.prefixes)["ex"] == "http://x.org/c/"
    assert query.defines[0].streams == ("S1", "S2")


def test_a_registered_construct_names_its_stream() -> None:
    form = "REGISTER STREAM :out AS\nCONSTRUCT { ?s :q ?a . [] :of ?s }"
    query = query_of("A", form=form)
    assert query.register == "http://example.org/out" and query.columns == ()
    assert query.template is not None
    assert query.template[0].pattern == Triple(Variable("s"), IRI("http://example.org/q"), Variable("a"))
    blank = query.template[1].pattern.subject
    assert isinstance(blank, Variable) and blank.name.startswith("_:")


def test_a_template_object_may_fold_the_iterations() -> None:
    template = query_of("A+", form="CONSTRUCT { ?s :mean AVG(?a) ; :first FIRST(?a) }").template
    assert template is not None
    assert [triple.object for triple in template] == [Aggregate("AVG", Variable("a")), Iteration("FIRST", "a")]


def test_columns_are_variables_and_named_expressions() -> None:
    query = query_of("A+", form="SELECT ?s $a (?a + 1 AS ?b) (MAX(?a) AS ?m) (PREV(?a) AS ?p) (?b AS ?c)")
    assert query.columns is not None
    assert [column.variable for column in query.columns] == ["s", "a", "b", "m", "p", "c"]
    expressions = [column.expression for column in query.columns]
    assert expressions[:2] == [None, None]
    assert isinstance(expressions[2], Call) and expressions[3] == Aggregate("MAX", Variable("a"))
    assert expressions[4:] == [Iteration("PREV", "a"), Variable("b")]
    assert query.warnings == ()


def test_brackets_in_strings_and_comments_end_nothing() -> None:
    body = "?s :p ?a # } DEFINE GPM (\n FILTER(?a != \"}\" && STR(<http://x/#a>) != ''')}''')"
    query = query_of("A ; B", form='SELECT (CONCAT(?a, ") AS ?x", "#") AS ?y)', bodies={"A": body})
    define = define_of(query, "A")
    assert len(define.filters) == 1
    assert query.text[define.filters[0].span.start :].startswith("FILTER(?a")
    assert query.text[define.body.start : define.body.end].strip() == body


def test_a_definition_knows_its_place() -> None:
    query = query_of("A")
    define = query.defines[0]
    assert query.text[define.body.start : define.body.end] == " ?s :p ?a "


def test_words_that_are_keywords_elsewhere_may_be_names() -> None:
    query = parse(
        "SELECT * WITHIN 1 DAY FROM STREAM From <http://x/s> FROM STREAM limit <http://x/t>\n"
        "{ SEQ(Where ; Seq2 ; Select) DEFINE GPM Where ON From, limit { ?s ?p ?o }\n"
        "DEFINE GPM Seq2 ON limit { ?s ?p ?o } DEFINE GPM Select ON From { ?s ?p ?o } }"
    )
    assert [define.name for define in query.defines] == ["Where", "Seq2", "Select"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_do_not_change_what_is_read(newline: str) -> None:
    text = text_of("A ; B+", form="SELECT ?a (COUNT(?b) AS ?n)").replace("\n", newline)
    query = parse(text)
    assert [define.name for define in query.defines] == ["A", "B"]
    with pytest.raises(QueryError) as caught:
        parse(text.replace(":p ?b", "ex:p ?b"))
    assert (caught.value.line, caught.value.column) == (9, 27)


def test_positions_count_code_points() -> None:
    text = text_of("A ; B", bodies={"A": '?s :p "αβγ 😀" . ?größe :é ?a', "B": "?s ex:p ?b"})
    text = text.replace("\n  DEFINE GPM B", "\tDEFINE GPM B")
    _, problems = check(text)
    line = text.splitlines()[7]
    assert [(problem.line, problem.column, problem.length) for problem in problems] == [(8, line.index("ex:p") + 1, 4)]


def test_a_byte_order_mark_is_no_character_of_the_query() -> None:
    assert parse("\ufeff" + text_of("A")).defines[0].name == "A"


def test_the_same_text_gives_the_same_query() -> None:
    text = text_of("A ; B? ; C+", form="SELECT ?a (AVG(?c) AS ?m)")
    assert parse(text, "name") == parse(text, "name")
    assert parse(text, "name").name == "name" and parse(text).name == "query"
