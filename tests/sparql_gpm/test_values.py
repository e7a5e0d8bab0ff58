from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.columns import UNBOUND
from sparql_gpm.datetimes import date_time_of
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import ExpressionError
from sparql_gpm.expressions.aggregates import fold
from sparql_gpm.expressions.values import compare, order_key
from sparql_gpm.numeric import Number, NumericType, number, numeric_literal
from sparql_gpm.pattern import Aggregate, Variable
from sparql_gpm.terms import IRI, RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD, BlankNode, Literal, Term, TripleTerm


def integer(value: int) -> Literal:
    return Literal(str(value), XSD + "integer")


def decimal(lexical: str) -> Literal:
    return Literal(lexical, XSD + "decimal")


def double(lexical: str) -> Literal:
    return Literal(lexical, XSD + "double")


def folded(name: str, *terms: Term | None, distinct: bool = False, separator: str = " ") -> Term | None:
    dictionary = Dictionary()
    ids = [UNBOUND if term is None else dictionary.intern(term) for term in terms]
    found = fold(Aggregate(name, Variable("x"), distinct, separator), ids, dictionary)
    return None if found == UNBOUND else dictionary.term(found)


@given(st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=6) | st.floats())
def test_the_literal_of_a_number_is_read_back_as_the_number(value: int | Decimal | float) -> None:
    kind = {int: NumericType.INTEGER, Decimal: NumericType.DECIMAL, float: NumericType.DOUBLE}[type(value)]
    found = number(numeric_literal(Number(kind, value)))
    assert found is not None and found.kind == kind
    assert found.value == value or value != value


@given(st.floats(width=32))
def test_single_precision_is_kept(value: float) -> None:
    found = number(numeric_literal(Number(NumericType.FLOAT, value)))
    assert found is not None and (found.value == value or value != value)


@pytest.mark.parametrize("lexical", ["", "1_0", "1e", "0x1", "١", "infinity", "nan", "+-1", "1 0", "--1"])
def test_malformed_numbers_have_no_value(lexical: str) -> None:
    for datatype in ("integer", "decimal", "double", "float"):
        assert number(Literal(lexical, XSD + datatype)) is None


def test_every_year_has_its_days() -> None:
    instants = []
    for year in (-400, -1, 0, 1, 1899, 1900, 1970, 2000, 2100, 12000):
        for day in ("01-01", "02-28", "03-01", "12-31"):
            sign = "-" if year < 0 else ""
            found = date_time_of(Literal(f"{sign}{abs(year):04}-{day}T00:00:00Z", XSD + "dateTime"))
            assert found is not None
            instants.append(found.instant())
    assert instants == sorted(instants)
    epoch = date_time_of(Literal("1970-01-02T00:00:00.5Z", XSD + "dateTime"))
    assert epoch is not None and epoch.instant() == Decimal("86400.5")
    assert date_time_of(Literal("1900-02-29T00:00:00Z", XSD + "dateTime")) is None


def test_aggregates_over_nothing() -> None:
    assert [folded(name) for name in ("COUNT", "SUM", "AVG")] == [integer(0)] * 3
    assert folded("GROUP_CONCAT") == Literal("")
    assert [folded(name) for name in ("MIN", "MAX", "SAMPLE")] == [None] * 3


def test_sums_and_averages_are_exact() -> None:
    assert folded("SUM", *[decimal("0.1")] * 10) == decimal("1")
    assert folded("AVG", integer(1), integer(5)) == decimal("3")
    assert folded("AVG", integer(1), integer(2)) == decimal("1.5")
    assert folded("SUM", integer(2**70), integer(1)) == integer(2**70 + 1)
    assert folded("SUM", integer(1), double("0.5")) == double("1.5E0")


def test_distinct_looks_at_terms() -> None:
    assert folded("SUM", integer(1), integer(1), decimal("1.0"), distinct=True) == decimal("2")
    assert folded("COUNT", integer(1), integer(1), decimal("1.0"), distinct=True) == integer(2)


def test_an_error_spoils_every_aggregate_but_a_count() -> None:
    assert folded("COUNT", None, integer(1)) == integer(1)
    for name in ("SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"):
        assert folded(name, integer(1), None) is None
    assert folded("SUM", Literal("a")) is None
    assert folded("GROUP_CONCAT", BlankNode("b")) is None


def test_group_concat_joins_texts_in_order() -> None:
    joined = folded("GROUP_CONCAT", Literal("b"), integer(1), IRI("http://e/a"), separator=", ")
    assert joined == Literal("b, 1, http://e/a")
    assert folded("SAMPLE", Literal("b"), Literal("a")) == Literal("b")


ORDERED: tuple[Term, ...] = (
    BlankNode("b"), IRI("http://e/a"), IRI("http://e/b"),
    Literal("false", XSD + "boolean"), Literal("true", XSD + "boolean"),
    double("NaN"), double("-INF"), integer(-1), decimal("0.5"), integer(3), double("1e9"),
    Literal("2000-01-01T00:00:00Z", XSD + "dateTime"), Literal("2000-01-01T00:00:01Z", XSD + "dateTime"),
    Literal("1999-01-01", XSD + "date"), Literal(""), Literal("B"), Literal("a"), Literal("a", "http://e/t"),
    Literal("a", RDF_DIR_LANG_STRING, "ar", "ltr"), Literal("a", RDF_DIR_LANG_STRING, "ar", "rtl"),
    Literal("a", RDF_LANG_STRING, "de"), Literal("a", RDF_LANG_STRING, "en"),
    TripleTerm(IRI("http://e/a"), IRI("http://e/p"), integer(2)),
    TripleTerm(IRI("http://e/a"), IRI("http://e/p"), integer(10)),
    TripleTerm(IRI("http://e/a"), IRI("http://e/p"), TripleTerm(BlankNode("b"), IRI("http://e/p"), integer(1))),
    TripleTerm(IRI("http://e/a"), IRI("http://e/q"), integer(1)),
    TripleTerm(IRI("http://e/b"), IRI("http://e/p"), integer(1)),
)  # fmt: skip


@given(st.permutations(ORDERED))
def test_all_terms_have_one_order(terms: list[Term]) -> None:
    assert tuple(sorted(terms, key=order_key)) == ORDERED
    assert folded("MIN", *terms) == ORDERED[0]
    assert folded("MAX", *terms) == ORDERED[-1]


@given(st.sampled_from(ORDERED), st.sampled_from(ORDERED))
def test_the_order_of_terms_extends_less_than(left: Term, right: Term) -> None:
    try:
        less = compare("<", left, right)
    except ExpressionError:
        return
    assert not less or order_key(left) < order_key(right)
