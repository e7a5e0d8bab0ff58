from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import format_time, parse_duration, parse_time

NEW_YEAR_2026 = 1_767_225_600_000_000_000


def time_of(lexical: str, datatype: str = "dateTime") -> int:
    return parse_time(Literal(lexical, XSD + datatype))


@pytest.mark.parametrize(
    ("lexical", "datatype", "expected"),
    [
        ("2026-01-01T00:00:00Z", "dateTime", NEW_YEAR_2026),
        ("2026-01-01T00:00:00", "dateTime", NEW_YEAR_2026),
        (" 2026-01-01T00:00:00Z\n", "dateTime", NEW_YEAR_2026),
        ("2026-01-01T01:00:00+01:00", "dateTimeStamp", NEW_YEAR_2026),
        ("2025-12-31T18:30:00-05:30", "dateTime", NEW_YEAR_2026),
        ("2025-12-31T24:00:00Z", "dateTime", NEW_YEAR_2026),
        ("2025-12-31T24:00:00.000Z", "dateTime", NEW_YEAR_2026),
        ("2026-01-01T00:00:00.0000000019Z", "dateTime", NEW_YEAR_2026 + 1),
        ("2026-01-01T00:00:00.5Z", "dateTime", NEW_YEAR_2026 + 500_000_000),
        ("2026-01-01", "date", NEW_YEAR_2026),
        ("2026-01-01+14:00", "date", NEW_YEAR_2026 - 14 * 3600 * 10**9),
        ("1970-01-01T00:00:00Z", "dateTime", 0),
        ("1969-12-31T23:59:59.75Z", "dateTime", -250_000_000),
        ("1900-03-01T00:00:00Z", "dateTime", -2_203_891_200 * 10**9),
        ("2024-02-29T00:00:00Z", "dateTime", 1_709_164_800 * 10**9),
        ("1767225600", "integer", NEW_YEAR_2026),
        ("+1767225600", "long", NEW_YEAR_2026),
        ("-1.25", "decimal", -1_250_000_000),
        (".5", "decimal", 500_000_000),
        ("0.3", "double", 300_000_000),
        ("1.7672256E9", "double", NEW_YEAR_2026),
        ("1e-12", "double", 0),
        ("0e999999999", "double", 0),
        ("-0.0000000019", "decimal", -1),
        ("0" * 5000 + "1", "integer", 10**9),
        ("0." + "3" * 5000, "decimal", 333_333_333),
    ],
)
def test_a_time_literal_gives_its_nanoseconds(lexical: str, datatype: str, expected: int) -> None:
    assert time_of(lexical, datatype) == expected


@pytest.mark.parametrize(
    ("lexical", "datatype", "reason"),
    [
        ("yesterday", "dateTime", "not an xsd:dateTime"),
        ("2026-01-01", "dateTime", "not an xsd:dateTime"),
        ("2026-01-01T00:00:00Z", "date", "not an xsd:date"),
        ("2026-01-01T00:00:00", "dateTimeStamp", "no time zone"),
        ("2025-02-29T00:00:00Z", "dateTime", "no such day"),
        ("2026-13-01T00:00:00Z", "dateTime", "no such day"),
        ("2026-01-01T24:00:01Z", "dateTime", "no such time of day"),
        ("2026-01-01T23:60:00Z", "dateTime", "no such time of day"),
        ("2026-01-01T23:59:60Z", "dateTime", "no such time of day"),
        ("2026-01-01T00:00:00+14:01", "dateTime", "impossible time zone"),
        ("2026-01-01T00:00:00+01:60", "dateTime", "impossible time zone"),
        ("1600-01-01T00:00:00Z", "dateTime", "out of range"),
        ("2300-01-01T00:00:00Z", "dateTime", "out of range"),
        ("12026-01-01T00:00:00Z", "dateTime", "out of range"),
        ("-0044-03-15T00:00:00Z", "dateTime", "out of range"),
        ("0000-01-01T00:00:00Z", "dateTime", "out of range"),
        ("02026-01-01T00:00:00Z", "dateTime", "leading zeros"),
        ("٢٠٢٦-01-01T00:00:00Z", "dateTime", "not an xsd:dateTime"),
        ("1e300", "double", "out of range"),
        ("9" * 5000, "integer", "out of range"),
        ("INF", "double", "no finite number"),
        ("NaN", "double", "no finite number"),
        ("1_000", "integer", "no finite number"),
        ("1.5", "integer", "no finite number of type xsd:integer"),
        ("1e3", "decimal", "no finite number of type xsd:decimal"),
        ("2026-01-01T00:00:00Z", "string", "is not a time"),
        ("2026", "gYear", "is not a time"),
    ],
)
def test_what_is_no_time_says_why(lexical: str, datatype: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        time_of(lexical, datatype)


def test_a_language_tagged_string_is_no_time() -> None:
    with pytest.raises(ValueError, match="language-tagged"):
        parse_time(Literal("2026", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "en"))


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (NEW_YEAR_2026, "2026-01-01T00:00:00Z"),
        (NEW_YEAR_2026 + 2_500_000_000, "2026-01-01T00:00:02.5Z"),
        (NEW_YEAR_2026 + 1, "2026-01-01T00:00:00.000000001Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
    ],
)
def test_a_time_is_printed_in_utc_without_trailing_zeros(time_ns: int, text: str) -> None:
    assert format_time(time_ns) == text


@given(st.integers(TIME_NS_MIN, TIME_NS_MAX))
def test_a_printed_time_reads_back(time_ns: int) -> None:
    assert time_of(format_time(time_ns)) == time_ns


@given(
    st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
)
def test_times_agree_with_the_datetime_module(moment: datetime, offset: int) -> None:
    sign = "-" if offset < 0 else "+"
    zone = f"{sign}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
    since = moment.replace(tzinfo=UTC) - timedelta(minutes=offset) - datetime(1970, 1, 1, tzinfo=UTC)
    expected = since // timedelta(microseconds=1) * 1000
    assert time_of(moment.isoformat() + zone) == expected


@given(st.decimals(-(10**9), 10**9, places=12))
def test_a_decimal_number_of_seconds_is_cut_off_at_the_nanosecond(seconds: Decimal) -> None:
    assert time_of(f"{seconds:f}", "decimal") == int(seconds * 10**9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500ms", 500_000_000),
        ("10s", 10 * 10**9),
        ("5m", 300 * 10**9),
        ("1h", 3600 * 10**9),
        ("1.5h", 5400 * 10**9),
        ("2d", 172_800 * 10**9),
        ("7us", 7000),
        ("7 ns", 7),
        ("2.5", 2_500_000_000),
        ("0", 0),
        ("PT10S", 10 * 10**9),
        ("PT0.5S", 500_000_000),
        ("P1DT2H3M4.5S", (86_400 + 7200 + 180) * 10**9 + 4_500_000_000),
        ("P2D", 172_800 * 10**9),
    ],
)
def test_a_duration_gives_its_nanoseconds(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "-1s", "5x", "ms", "P", "PT", "P1DT", "P1Y", "P1M", "1h30m", "1e3", "٥s"])
def test_what_is_no_duration_names_examples(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: expected for example 500ms"):
        parse_duration(text)


def test_a_duration_beyond_int64_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        parse_duration("200000d")
