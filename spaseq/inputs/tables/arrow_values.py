"""The lexical forms of values of Arrow, and the datatypes of its types."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from sparql_gpm.terms import XSD, XSD_STRING
from sparql_gpm.times import format_time
from spaseq.inputs.tables.marks import NO_TEXT

UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = date(1970, 1, 1)


def lexicals(values: Any, untyped: bool) -> tuple[list[str | None], str | None]:
    """The lexical forms of the distinct values of a column, and the datatype of its type; None: `untyped` has none."""
    if untyped:
        return _decoded_all(values), None
    kind, types = values.type, pa.types
    if types.is_timestamp(kind):
        unit, zone = UNIT_NS[kind.unit], "Z" if kind.tz else ""
        return [_date_time(number * unit, zone) for number in values.cast(pa.int64()).to_pylist()], XSD + "dateTime"
    if types.is_date(kind):
        return [_day(number) for number in values.cast(pa.date32()).cast(pa.int32()).to_pylist()], XSD + "date"
    if types.is_duration(kind):
        unit = UNIT_NS[kind.unit]
        return [_duration(number * unit) for number in values.cast(pa.int64()).to_pylist()], XSD + "dayTimeDuration"
    for test, text, name in _TYPES:
        if test(kind):
            return [text(value) for value in values.to_pylist()], XSD + name
    if types.is_string(kind) or types.is_large_string(kind):
        return _texts(values), XSD_STRING
    return [str(value) for value in values.to_pylist()], XSD_STRING


def _decoded_all(values: Any) -> list[str | None]:
    """The distinct cells of CSV, None for one that is no UTF-8."""
    texts: list[str | None] = values.cast(pa.string()).to_pylist()
    if any(NO_TEXT in text for text in texts if text is not None):
        return [_decoded(value) for value in values.to_pylist()]
    return texts


def _decoded(value: bytes | None) -> str | None:
    text = None if value is None else value.decode()
    return None if text is None or NO_TEXT in text else text


def _texts(values: Any) -> list[str | None]:
    """Strings, None for one that is no UTF-8, as damaged files have them."""
    try:
        texts: list[str | None] = values.to_pylist()
    except UnicodeDecodeError:
        texts = [_text(value) for value in values.cast(pa.large_binary()).to_pylist()]
    return texts


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _date_time(time_ns: int, zone: str) -> str | None:
    try:
        return format_time(time_ns).removesuffix("Z") + zone
    except (ValueError, OverflowError):
        return None


def _day(number: int) -> str | None:
    try:
        return (_EPOCH + timedelta(days=number)).isoformat()
    except OverflowError:
        return None


def _duration(length_ns: int) -> str:
    seconds, rest = divmod(abs(length_ns), 10**9)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{'-' * (length_ns < 0)}PT{seconds}{fraction}S"


def _double(number: float) -> str:
    text = repr(number)
    return {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(text, text)


def _float(number: float) -> str:
    return _double(float(str(np.float32(number))))


_TYPES: tuple[tuple[Callable[[Any], bool], Callable[[Any], str], str], ...] = (
    (pa.types.is_boolean, lambda value: "true" if value else "false", "boolean"),
    (pa.types.is_integer, str, "integer"),
    (pa.types.is_float32, _float, "float"),
    (pa.types.is_floating, _double, "double"),
    (pa.types.is_decimal, lambda value: format(value, "f"), "decimal"),
    (pa.types.is_time, lambda value: value.isoformat(), "time"),
    (pa.types.is_binary, lambda value: value.hex().upper(), "hexBinary"),
    (pa.types.is_large_binary, lambda value: value.hex().upper(), "hexBinary"),
    (pa.types.is_fixed_size_binary, lambda value: value.hex().upper(), "hexBinary"),
)
"""A test of an Arrow type, the lexical form of its values, and the name of the XSD type."""
