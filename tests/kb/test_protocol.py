"""What goes over the wire, and how it is read."""

from __future__ import annotations

from urllib.parse import parse_qs, quote_plus

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.protocol import form_of
from kb.results import ResultReader
from kb.sparql_text import SparqlWriter, key_text, select_text
from sparql_gpm.parse import parse_group
from sparql_gpm.terms import IRI, RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD, BlankNode, Literal, TripleTerm
from tests.drawn import drawn


@given(st.one_of(st.text(), st.text(st.characters(max_codepoint=127))))
@settings(max_examples=drawn(300))
def test_a_query_is_written_as_any_form_is(query: str) -> None:
    assert form_of(query) == f"query={quote_plus(query)}"
    assert parse_qs(form_of(query), keep_blank_values=True, errors="strict") == {"query": [query]}


def test_every_sort_of_term_is_read_and_what_is_missing_is_unbound() -> None:
    text = b"""{"head": {"vars": ["z", "v1", "a"]}, "results": {"bindings": [
        {"a": {"type": "uri", "value": "http://x/1"}, "z": {"type": "bnode", "value": "b"}},
        {"a": {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#int"}},
        {"z": {"type": "typed-literal", "value": "2", "datatype": "http://www.w3.org/2001/XMLSchema#int"}},
        {"a": {"type": "literal", "value": "e", "xml:lang": "EN"}, "z": {"type": "literal", "value": ""}},
        {"a": {"type": "literal", "value": "e", "xml:lang": "AR", "its:dir": "rtl"}},
        {"a": {"type": "triple", "value": {"subject": {"type": "bnode", "value": "b"},
            "predicate": {"type": "uri", "value": "http://x/p"},
            "object": {"type": "triple", "value": {"subject": {"type": "uri", "value": "http://x/1"},
                "predicate": {"type": "uri", "value": "http://x/p"},
                "object": {"type": "literal", "value": "1"}}}}}}, {}]}}"""
    inner = TripleTerm(IRI("http://x/1"), IRI("http://x/p"), Literal("1"))
    assert ResultReader(["a", "v1", "z"]).decode(text, "s") == [
        (IRI("http://x/1"), None, BlankNode("sxb")),
        (Literal("1", XSD + "int"), None, None),
        (None, None, Literal("2", XSD + "int")),
        (Literal("e", RDF_LANG_STRING, "en"), None, Literal("")),
        (Literal("e", RDF_DIR_LANG_STRING, "ar", "rtl"), None, None),
        (TripleTerm(BlankNode("sxb"), IRI("http://x/p"), inner), None, None),
        (None, None, None),
    ]
    assert ResultReader([]).decode(text, "s") == [()] * 7


def test_blank_nodes_and_invalid_iris_are_not_asked_for_and_other_terms_are() -> None:
    literal = Literal("e", RDF_DIR_LANG_STRING, "ar", "rtl")
    subjects = IRI("urn:s"), BlankNode("b"), IRI("urn:a b")
    assert [key_text(term) for term in (*subjects, *(TripleTerm(s, IRI("urn:p"), literal) for s in subjects))] == [
        "<urn:s>", None, None, '<<( <urn:s> <urn:p> "e"@ar--rtl )>>', None, None,
    ]  # fmt: skip
    assert key_text(Literal("e", RDF_LANG_STRING, "en")) == '"e"@en'


def test_solutions_that_bind_other_variables_are_refused() -> None:
    text = b'{"head": {"vars": ["a"]}, "results": {"bindings": [{"other": {"type": "uri", "value": "http://x/1"}}]}}'
    with pytest.raises(ValueError, match="unknown field `other`"):
        ResultReader(["a"]).decode(text, "s")


def test_an_answer_nested_too_deeply_is_a_failed_answer() -> None:
    text = b'{"head": {"vars": ["a"]}, "results": {"bindings": [' + b'{"x": ' * 100_000
    with pytest.raises(ValueError, match="not SPARQL JSON results"):
        ResultReader(["a"]).decode(text, "s")


@pytest.mark.parametrize(
    "text",
    [b"", b"{}", b"[]", b'{"head": {"vars": ["a"]}, "results": {"bindings": [{"a": {"type": "uri"}}]}}', b"<a/>"],
)
def test_what_is_no_document_of_results_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="not SPARQL JSON results"):
        ResultReader(["a"]).decode(text, "s")


NO_PARTS = '{"subject": {"type": "uri", "value": "urn:s"}}'
LITERAL = '{"type": "literal", "value": "l"}'
URI = '{"type": "uri", "value": "urn:s"}'


def triple(subject: str = URI, predicate: str = URI, target: str = URI, kind: str = "triple") -> str:
    value = f'{{"subject": {subject}, "predicate": {predicate}, "object": {target}}}'
    return f'{{"type": "{kind}", "value": {value}}}'


def deep(depth: int) -> str:
    term = URI
    for _ in range(depth):
        term = triple(target=term)
    return term


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ('{"type": "quad", "value": ""}', "unknown type 'quad'"),
        ('{"type": "triple", "value": ""}', "type 'triple', or with a value of another type"),
        (f'{{"type": "triple", "value": {NO_PARTS}}}', "missing required field `predicate`"),
        (triple(kind="uri"), "type 'uri', or with a value of another type"),
        (triple(subject=LITERAL), "a subject or predicate of a triple term is of another kind"),
        (triple(predicate=triple()), "a subject or predicate of a triple term is of another kind"),
        (triple(target='{"type": "uri", "value": "s"}'), "not an absolute IRI"),
        (deep(101), "triple terms more than 100 deep"),
        (deep(2_000), "more than 100 deep|not SPARQL JSON results"),
    ],
)
def test_what_is_no_term_is_refused(term: str, message: str) -> None:
    text = f'{{"head": {{"vars": ["a"]}}, "results": {{"bindings": [{{"a": {term}}}]}}}}'
    with pytest.raises(ValueError, match=message):
        ResultReader(["a"]).decode(text.encode(), "s")


def test_triple_terms_as_deep_as_terms_may_be_are_read() -> None:
    text = f'{{"head": {{"vars": ["a"]}}, "results": {{"bindings": [{{"a": {deep(99)}}}]}}}}'
    assert len(ResultReader(["a"]).decode(text.encode(), "s")) == 1


@given(st.lists(st.from_regex("[ab_é](?:[-ab._é5][ab5])?", fullmatch=True), min_size=1, max_size=4, unique=True))
def test_no_two_blank_nodes_become_one_variable(labels: list[str]) -> None:
    pattern = parse_group(" ".join(f"_:{label} <urn:p> {n} ." for n, label in enumerate(labels)), {}, None).pattern
    group = SparqlWriter().group(pattern)
    pyoxigraph.Store().query(select_text((), group))
    assert len({part for part in group.split() if part.startswith("?")}) == len(labels)
