"""Every operator and function by example, and against rdflib's evaluator where that is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.expressions.functions_regex import category, compiled
from sparql_gpm.parse import parse_expression
from sparql_gpm.pattern import FALSE, TRUE, Constant
from sparql_gpm.terms import IRI, RDF, RDF_DIR_LANG_STRING, XSD, Literal, Term, TripleTerm
from tests.sparql_gpm.expression_tables import TABLE

PREFIXES = {"xsd": XSD, "rdf": RDF}


def value(text: str, base: str | None = None) -> Term | None:
    """The value of an expression where ?one is 1 and everything else is unbound."""
    dictionary = Dictionary()
    one = np.array([dictionary.intern(Literal("1", XSD + "integer"))], dtype=np.int64)
    expression = parse_expression(text, PREFIXES, base)
    (found,) = ExpressionEvaluator(dictionary).evaluate(expression, {"one": one}, 1).tolist()
    return None if found == UNBOUND else dictionary.term(found)


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[text for text, _ in TABLE])
def test_expressions_have_the_value_that_the_specification_gives(text: str, expected: str) -> None:
    found = value(text)
    if expected == "error":
        assert found is None
    else:
        wanted = parse_expression(expected, PREFIXES, None)
        assert isinstance(wanted, Constant)
        assert found == wanted.term


X, Y = Literal("x", RDF_DIR_LANG_STRING, "ar", "rtl"), Literal("X", RDF_DIR_LANG_STRING, "ar", "rtl")
TRIPLE = TripleTerm(IRI("urn:s"), IRI("urn:p"), X)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UCASE(?x)", Y), ("CONCAT(?x, ?x)", replace(X, lexical="xx")), ("LANG(?x)", Literal("ar")),
        ("STR(?x)", Literal("x")),
        ('CONCAT(?x, "x"@ar)', Literal("xx")), ('STRSTARTS(?x, "x")', TRUE), ('STRSTARTS(?x, "x"@ar)', None),
        ("?x = ?x", TRUE),
        ('?x = "x"@ar', FALSE), ('?x = "x"', FALSE), ("!?x", None), ("DATATYPE(?x)", IRI(RDF_DIR_LANG_STRING)),
        ("STRDT('x', rdf:dirLangString)", None), ("?x < ?x", None),
        ("?t = ?t", TRUE), ("sameTerm(?t, ?x)", FALSE), ("?t = ?x", FALSE),
        ("isIRI(?t) || isBlank(?t) || isLiteral(?t)", FALSE),
        ("STR(?t)", None), ("DATATYPE(?t)", None), ("?t < ?t", None), ("?t IN (?x, ?t)", TRUE), ("IF(?t, 1, 2)", None),
    ],
)  # fmt: skip
def test_terms_of_rdf_1_2_in_expressions(text: str, expected: Term | None) -> None:
    dictionary = Dictionary()
    columns = {name: np.array([dictionary.intern(term)]) for name, term in (("x", X), ("t", TRIPLE))}
    (found,) = ExpressionEvaluator(dictionary).evaluate(parse_expression(text, PREFIXES, None), columns, 1).tolist()
    assert (None if found == UNBOUND else dictionary.term(found)) == expected


def test_relative_iris_are_resolved_against_the_base_of_the_query() -> None:
    assert value('STR(IRI("../b"))', "http://e/x/y") == Literal("http://e/b")


_RDFLIB_IS_RIGHT = st.sampled_from((
    "STRLEN({a})", "UCASE({a})", "LCASE({a})", "CONTAINS({a}, {b})", "STRSTARTS({a}, {b})", "STRENDS({a}, {b})",
    "STRBEFORE({a}, {b})", "STRAFTER({a}, {b})", "CONCAT({a}, {b})", "MD5({a})", "SHA256({a})",
    "{a} < {b}", "{a} = {b}",
    "SUBSTR({a}, {i})", "SUBSTR({a}, {i}, {j})", "{i} + {j}", "{i} - {j}", "{i} < {j}", "{i} >= {j}", "ABS({i})",
    "{i} IN ({j}, 1, 2)", "IF({i} > {j}, {a}, {b})", "COALESCE(?unbound, {a})", "{i} > 0 && {a} = {b} || {j} < 0",
))  # fmt: skip


@given(
    _RDFLIB_IS_RIGHT,
    st.text(alphabet="aAbé ", min_size=1, max_size=4),
    st.text(alphabet="aAbé ", min_size=1, max_size=2),
    st.integers(1, 5),
    st.integers(0, 9),
)
def test_rdflib_agrees_where_it_is_right(form: str, a: str, b: str, i: int, j: int) -> None:
    import rdflib

    text = form.format(a=f'"{a}"', b=f'"{b}"', i=i, j=j)
    ((theirs,),) = rdflib.Graph().query(f"SELECT ({text} AS ?x) {{}}")  # type: ignore[misc]
    ours = value(text)
    assert isinstance(ours, Literal)
    datatype = None if ours.datatype == XSD + "string" else rdflib.URIRef(ours.datatype)
    assert theirs == rdflib.Literal(ours.lexical, datatype=datatype), text


def test_an_ordinary_regex_does_not_hang_on_long_text() -> None:
    dictionary = Dictionary()
    text = dictionary.intern(Literal("ab " * 100_000))
    expression = parse_expression('REGEX(?t, "(a|b)+c$") || REGEX(?t, "\\\\s+x")', PREFIXES, None)
    holds = ExpressionEvaluator(dictionary).holds(expression, {"t": np.array([text], dtype=np.int64)}, 1)
    assert not holds.any()


def test_regular_expressions_are_compiled_once() -> None:
    assert compiled("a+", "i") is compiled("a+", "i")
    assert compiled(r"\p{Nd}", "").search("٣")
    assert category("Nd", False) is category("Nd", False)
